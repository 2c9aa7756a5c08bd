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
pub mod signed;
pub mod valgrind;

use mldsa_core::Backend;
use std::env;
use std::process::Command;

/// Runs this program again for every backend of this CPU, with `MLDSA_BACKEND` and `variables`
/// set. Returns whether it did: false in a program that was started so.
///
/// # Panics
/// If a run fails.
pub fn ran_on_every_backend(variables: &[(&str, &str)]) -> bool {
    let chosen = env::var("MLDSA_BACKEND").ok();
    if chosen.is_some()
        && variables
            .iter()
            .all(|(name, _)| env::var_os(name).is_some())
    {
        return false;
    }
    for name in Backend::available().map(Backend::name) {
        if chosen.as_ref().is_none_or(|chosen| chosen == name) {
            let run = Command::new(env::current_exe().expect("a path"))
                .args(env::args_os().skip(1))
                .envs(variables.iter().copied())
                .env("MLDSA_BACKEND", name)
                .status();
            assert!(run.is_ok_and(|status| status.success()), "failed on {name}");
        }
    }
    true
}
