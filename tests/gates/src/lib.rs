//! Shared code of the gates: Valgrind's client requests, threads on a stack that can
//! be read afterwards, and the inputs that every gate runs.
//!
//! `unsafe` is in [`heap_scan`], [`stack_watermark`] and [`valgrind`] only.

pub mod cases;
pub mod heap_scan;
pub mod lowmem;
pub mod stack_watermark;
#[cfg(target_os = "linux")]
pub mod ptrace_step;
pub mod valgrind;
