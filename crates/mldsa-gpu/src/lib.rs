//! Verification of ML-DSA (FIPS 204) signatures on GPUs, for bulk work: archives, audits, initial
//! synchronisation, many different keys.
//!
//! `BatchVerifier::builder().accelerator(gpu)` of `batch-verify`, and the builder of a committee's
//! verifier, take a [`Gpu`], or a [`LazyGpu`] that is opened when it is worthwhile: reports are
//! those of the CPU.
//!
//! Nothing has to be installed to build. When the program runs, the library of the CUDA driver
//! (`libcuda.so.1`) or of OpenCL (`libOpenCL.so.1`) is opened, by its bare name, if it is there.
//!
//! # What a wrong answer of the device can do
//!
//! Verdicts and reasons are those of `mldsa_core`. A rejection never comes from the device: the
//! CPU verifies each of them again, once. An acceptance does, and so every launch has planted items,
//! valid and invalid, at random places, and the CPU verifies a share of all items as well
//! ([`GpuOptions::cross_check`]). One wrong answer switches the device off for the process. An error of the
//! driver or an answer that comes too late switches it off for this handle. In both cases the CPU
//! verifies the whole batch: no verdict is lost, and none is made up. A device that accepts one
//! certain invalid signature, and is right about all planted and repeated ones, is not detected.
//!
//! # Secrets
//!
//! Only verification is here. Secret keys never go to a device: its memory is not wiped and may be
//! shared, and nothing shows that its instructions take constant time.

#![deny(missing_docs)]

mod error;
mod layout;
mod options;
mod lock;
mod library;
mod driver;
mod cuda;
mod opencl;
mod probe;
mod registry;
mod block;
mod worker;
mod watch;
mod state;
mod job;
mod batch;
mod gpu;
mod accelerator;
mod lazy;
#[cfg(test)]
mod tests;

pub use error::GpuError;
pub use gpu::Gpu;
pub use lazy::LazyGpu;
pub use options::{Choice, GpuOptions};
