//! C interface: keys, signing, verification, committees and batches. `include/mldsa.h` is
//! made from this crate, and a test compares the two; `docs/c.md` is the manual.
//!
//! Every function returns a status and writes results through pointers. A panic ends at the
//! boundary as [`Status::Internal`].
//!
//! # Safety
//!
//! The caller's contract, for all functions:
//! - A pointer with a length is valid for that many bytes or items, or the length is 0.
//!   Null with another length is rejected.
//! - A handle is null, which is rejected, or comes from this library and was not freed.
//! - An output pointer is null, which is rejected, or valid for writes of its type.
//! - Inputs do not change, and outputs are not read, while a call runs. Outputs do not overlap
//!   inputs.
//! - A handle that is passed as `const` may be used by any number of threads at once. Any other
//!   use, freeing included, excludes all others.
//!
//! No pointer is kept after a call.

#![allow(
    unsafe_code,
    clippy::missing_safety_doc,
    reason = "foreign pointers; the contract is the crate's"
)]

mod boundary;
mod batch;
mod committee;
mod key_file;
mod messages;
mod private_key;
mod public_key;
mod status;

pub use batch::*;
pub use committee::*;
pub use key_file::PemPlace;
pub use messages::*;
pub use private_key::*;
pub use public_key::*;
pub use status::*;
