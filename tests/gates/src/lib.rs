//! Shared code of the gates: Valgrind's client requests, threads on a stack that can
//! be read afterwards, and the inputs that every gate runs.
//!
//! `unsafe` is in [`freed`], [`painted`] and [`valgrind`] only.

pub mod cases;
pub mod freed;
pub mod lowmem;
pub mod painted;
#[cfg(target_os = "linux")]
pub mod stepping;
pub mod valgrind;
