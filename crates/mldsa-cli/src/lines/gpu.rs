//! The device of `mldsa batch-verify --gpu`.

use std::io::{self, Write};

use batch_verify::Threads;
use mldsa_core::ParameterSet;
use mldsa_gpu::{Choice, GpuError, GpuOptions, LazyGpu};

/// Without `eprintln!`, which panics when standard error is closed.
fn say(set: &str, error: &GpuError) {
    let _ = writeln!(io::stderr(), "mldsa: {set} on the CPU: {error}");
}

pub(crate) fn lazy<P: ParameterSet>(device: Choice, threads: usize) -> LazyGpu<P> {
    LazyGpu::new(GpuOptions {
        // The workers' pool may consist of the thread that waits.
        threads: Threads::Dedicated(threads),
        on_fault: Some(|error| say(P::NAME, error)),
        ..GpuOptions::without_tables(device)
    })
}
