//! Tests on a CPU device of OpenCL (PoCL), which runs the kernels that GPUs run.

mod accelerated;
mod agreement;
mod callers;
mod faults;
mod mutations;
mod published;
mod rates;

use std::sync::OnceLock;

use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use mldsa_kat::tally::say;

use crate::{Choice, Gpu, GpuError, GpuOptions};

/// A device for each set, opened once.
pub(crate) trait Opened: ParameterSet {
    /// `None`, with a line that says so, where there is no device. That is a failure if the
    /// variable `MLDSA_GPU` is set: to `cuda`, or to anything else for a CPU device of OpenCL.
    fn gpu() -> Option<&'static Gpu<Self>>;
}

macro_rules! opened {
    ($($set:ident)+) => {$(
        impl Opened for $set {
            fn gpu() -> Option<&'static Gpu<Self>> {
                static GPU: OnceLock<Option<Gpu<$set>>> = OnceLock::new();
                GPU.get_or_init(|| usable(Gpu::open(options()))).as_ref()
            }
        }
    )+};
}
opened!(MlDsa44 MlDsa65 MlDsa87);

/// Small batches, so that a test has several in flight.
pub(crate) fn options() -> GpuOptions {
    GpuOptions {
        // `device.sh` runs the same tests on a GPU.
        device: match std::env::var("MLDSA_GPU").as_deref() {
            Ok("cuda") => Choice::Cuda(0),
            _ => Choice::OpenClCpu(0),
        },
        batch_items: 512,
        prepared_keys: 300,
        encoded_keys: 300,
        // Another test may compile kernels on the same cores.
        deadline: core::time::Duration::from_secs(600),
        open_deadline: core::time::Duration::from_secs(600),
        threads: batch_verify::Threads::Inline,
        threshold: Some(1),
        ..GpuOptions::default()
    }
}

/// The device, or `None` if there is none and none is required.
pub(crate) fn usable<P: ParameterSet>(opened: Result<Gpu<P>, GpuError>) -> Option<Gpu<P>> {
    match opened {
        Ok(gpu) => Some(gpu),
        Err(error @ (GpuError::NoDriver(_) | GpuError::NoDevice)) => {
            let required = std::env::var_os("MLDSA_GPU").is_some();
            assert!(!required, "a device is required: {error}");
            say(&format!("mldsa-gpu, {}: not run: {error}", P::NAME));
            None
        }
        Err(error) => panic!("{}: {error}", P::NAME),
    }
}
