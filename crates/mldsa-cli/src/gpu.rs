//! The device of `mldsa batch-verify --gpu`.

use std::io::{self, Write};

use batch_verify::Threads;
use clap::ValueEnum;
use mldsa_core::ParameterSet;
use mldsa_gpu::{Choice, GpuError, GpuOptions, LazyGpu};

/// The device to use.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    /// The first device of CUDA, or else of OpenCL
    Any,
    /// The first device of CUDA
    Cuda,
    /// The first GPU of OpenCL
    Opencl,
    /// The first CPU of OpenCL, for every chunk: a test of the kernels
    OpenclCpu,
}

/// Without `eprintln!`, which panics when standard error is closed.
fn say(set: &str, error: &GpuError) {
    let _ = writeln!(io::stderr(), "mldsa: {set} on the CPU: {error}");
}

pub(crate) fn lazy<P: ParameterSet>(device: Device, threads: usize) -> LazyGpu<P> {
    LazyGpu::new(GpuOptions {
        device: match device {
            Device::Any => Choice::Any,
            Device::Cuda => Choice::Cuda(0),
            Device::Opencl => Choice::OpenCl(0),
            Device::OpenclCpu => Choice::OpenClCpu(0),
        },
        // Nothing is registered.
        prepared_keys: 0,
        encoded_keys: 0,
        // The workers' pool may consist of the thread that waits.
        threads: Threads::Dedicated(threads),
        threshold: (device == Device::OpenclCpu).then_some(1),
        on_fault: Some(|error| say(P::NAME, error)),
        ..GpuOptions::default()
    })
}
