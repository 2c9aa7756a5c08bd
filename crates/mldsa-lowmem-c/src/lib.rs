//! C interface of `mldsa-lowmem` for firmware: no allocator, no state, buffers of the caller.
//! `include/mldsa_lowmem.h` has the prototypes and the contract of each function, `build.sh` makes
//! archives.
//!
//! # Safety
//!
//! The caller's contract, for all functions:
//! - A pointer is null, which is rejected, or valid for the number of bytes in its documentation.
//!   A pointer with a length may be null if the length is 0.
//! - Inputs do not change, and outputs are not used by others, while a call runs. Outputs do not
//!   overlap inputs.
//! - A `mldsa_lowmem_mu` or `mldsa_lowmem_signer` was started before any other use, and is not
//!   copied or moved. Keys and signature of a signer stay in place until its end.

#![no_std]
#![allow(unexpected_cfgs, reason = "build.sh sets one")]
#![allow(
    unsafe_code,
    clippy::missing_safety_doc,
    reason = "foreign pointers; the contract is the crate's"
)]

mod boundary;
mod header;
mod message;
mod set;
mod signer;
mod status;

pub use message::*;
pub use set::{set_44, set_65, set_87};
pub use signer::SignerMemory;
pub use status::{Status, mldsa_lowmem_status_name};

/// Nothing in this library panics for any input; a fault of the machine ends here.
#[cfg(mldsa_lowmem_archive)]
#[panic_handler]
fn halt(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// The name that the compiled `core` of systems with unwinding refers to; never called.
#[cfg(all(mldsa_lowmem_archive, not(target_os = "none")))]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
