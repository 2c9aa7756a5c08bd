//! The device of `mldsa batch-verify --gpu`.

use core::error::Error;
use std::io::{self, Write};
use std::sync::OnceLock;

use batch_verify::{Accelerator, AcceleratorJob, Threads};
use clap::ValueEnum;
use mldsa_core::ParameterSet;
use mldsa_gpu::{Choice, Gpu, GpuError, GpuOptions};

/// Lines that make it worthwhile to open a device.
const WORTHWHILE: usize = 256;

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

/// A device that is opened for the first chunk that is worthwhile.
pub(crate) struct Lazy<P: ParameterSet> {
    device: Device,
    threads: usize,
    gpu: OnceLock<Option<Gpu<P>>>,
}

/// Without `eprintln!`, which panics when standard error is closed.
fn say(set: &str, error: &GpuError) {
    let _ = writeln!(io::stderr(), "mldsa: {set} on the CPU: {error}");
}

impl<P: ParameterSet> Lazy<P> {
    pub(crate) fn new(device: Device, threads: usize) -> Self {
        let gpu = OnceLock::new();
        Self {
            device,
            threads,
            gpu,
        }
    }

    fn open(&self) -> Option<Gpu<P>> {
        let opened = Gpu::open(GpuOptions {
            device: match self.device {
                Device::Any => Choice::Any,
                Device::Cuda => Choice::Cuda(0),
                Device::Opencl => Choice::OpenCl(0),
                Device::OpenclCpu => Choice::OpenClCpu(0),
            },
            // Nothing is registered.
            prepared_keys: 0,
            encoded_keys: 0,
            // The workers' pool may consist of the thread that waits.
            threads: Threads::Dedicated(self.threads),
            threshold: (self.device == Device::OpenclCpu).then_some(1),
            on_fault: Some(|error| say(P::NAME, error)),
            ..GpuOptions::default()
        });
        opened.inspect_err(|error| say(P::NAME, error)).ok()
    }
}

impl<P: ParameterSet> Accelerator<P> for Lazy<P> {
    fn min_batch(&self) -> usize {
        match (self.gpu.get(), self.device) {
            (Some(Some(gpu)), _) => gpu.threshold(),
            (Some(None), _) => usize::MAX,
            (None, Device::OpenclCpu) => 1,
            (None, _) => WORTHWHILE,
        }
    }

    fn verify(
        &self,
        jobs: &[AcceleratorJob<'_>],
        valid: &mut [bool],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        match self.gpu.get_or_init(|| self.open()) {
            Some(gpu) if jobs.len() >= gpu.threshold() => gpu.verify(jobs, valid),
            _ => Err("too few signatures, or no device".into()),
        }
    }
}
