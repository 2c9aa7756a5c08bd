//! Verification of ML-DSA (FIPS 204) signatures on GPUs, for bulk work: archives, audits, initial
//! synchronisation, many different keys.
//!
//! | task | call |
//! |---|---|
//! | open a device, or learn why there is none | [`Gpu::open`] |
//! | bring keys to it, and remove them | [`Gpu::register`], [`Gpu::evict`] |
//! | fill page-locked memory with signatures | [`Gpu::batch`], [`Batch::push`], [`Batch::slot`] |
//! | verify | [`Batch::submit`], then [`Pending::wait`] or `.await` |
//!
//! `BatchVerifier::builder().accelerator(gpu)` of `batch-verify` takes a device too, or a [`LazyGpu`]: its
//! reports are those of the CPU.
//!
//! Nothing has to be installed to build. When the program runs, the library of the CUDA driver
//! (`libcuda.so.1`) or of OpenCL (`libOpenCL.so.1`) is opened, by its bare name, if it is there.
//!
//! # What a wrong answer of the device can do
//!
//! Verdicts and reasons are those of `mldsa_core`. A rejection never comes from the device: the
//! CPU verifies each of them again. An acceptance does, and so every launch has planted items,
//! valid and invalid, at random places, and a share of the acceptances is verified again
//! ([`CrossCheck`]). One wrong answer switches the device off for the process. An error of the
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

pub use batch::{Batch, Key, Signed};
pub use driver::Device;
pub use error::{GpuError, PushError};
pub use gpu::Gpu;
pub use job::Pending;
pub use lazy::LazyGpu;
pub use options::{Choice, CrossCheck, GpuOptions};
pub use registry::{KeyId, KeyMemory, Table};
pub use state::Counts;
