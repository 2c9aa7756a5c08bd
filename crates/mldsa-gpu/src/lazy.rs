//! A device that is opened when it is worthwhile.

use core::error::Error;
use core::fmt;
use std::sync::OnceLock;

use batch_verify::{Accelerator, AcceleratorJob};
use mldsa_core::ParameterSet;

use crate::gpu::Gpu;
use crate::options::GpuOptions;

/// Signatures that make it worthwhile to open a device.
const WORTHWHILE: usize = 256;

/// A device for [`batch-verify`](batch_verify) that is opened for the first run of at least 256 signatures, or of
/// [`GpuOptions::threshold`]. The CPU verifies where it cannot be opened: `on_fault` learns why.
pub struct LazyGpu<P: ParameterSet> {
    options: GpuOptions,
    gpu: OnceLock<Option<Gpu<P>>>,
}

impl<P: ParameterSet> LazyGpu<P> {
    /// Keeps the options for later.
    #[must_use]
    pub fn new(options: GpuOptions) -> Self {
        let gpu = OnceLock::new();
        Self { options, gpu }
    }

    fn open(&self) -> Option<Gpu<P>> {
        let opened = Gpu::open(self.options.clone());
        let report = self.options.on_fault.unwrap_or(|_| {});
        opened.inspect_err(report).ok()
    }
}

impl<P: ParameterSet> Accelerator<P> for LazyGpu<P> {
    fn min_batch(&self) -> usize {
        match self.gpu.get() {
            Some(Some(gpu)) => gpu.threshold(),
            Some(None) => usize::MAX,
            None => self.options.threshold.unwrap_or(WORTHWHILE),
        }
    }

    fn verify(
        &self,
        jobs: &[AcceleratorJob<'_>],
        answers: &mut [Option<bool>],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        match self.gpu.get_or_init(|| self.open()) {
            Some(gpu) if jobs.len() >= gpu.threshold() => gpu.verify(jobs, answers),
            _ => Err("too few signatures, or no device".into()),
        }
    }

    fn on_wrong_rejection(&self) {
        if let Some(Some(gpu)) = self.gpu.get() {
            gpu.on_wrong_rejection();
        }
    }
}

impl<P: ParameterSet> fmt::Debug for LazyGpu<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyGpu").finish_non_exhaustive()
    }
}
