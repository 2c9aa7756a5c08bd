//! The device of `mldsa-archive verify --gpu`.

use clap::ValueEnum;
use mldsa_arrow::batch_verify::Threads;
use mldsa_arrow::mldsa_gpu::{Choice, GpuOptions};

use crate::say;

/// The device to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    /// The first device of CUDA, or else of OpenCL
    Any,
    /// The first device of CUDA
    Cuda,
    /// The first GPU of OpenCL
    Opencl,
    /// The first CPU of OpenCL, for every batch: a test of the kernels
    OpenclCpu,
}

impl Device {
    pub(crate) fn options(self) -> GpuOptions {
        GpuOptions {
            device: match self {
                Self::Any => Choice::Any,
                Self::Cuda => Choice::Cuda(0),
                Self::Opencl => Choice::OpenCl(0),
                Self::OpenclCpu => Choice::OpenClCpu(0),
            },
            // Nothing is registered.
            prepared_keys: 0,
            encoded_keys: 0,
            // The thread that waits for the device has a batch of its own.
            threads: Threads::Dedicated(1),
            threshold: (self == Self::OpenclCpu).then_some(1),
            on_fault: Some(|error| say(format_args!("on the CPU: {error}"))),
            ..GpuOptions::default()
        }
    }
}
