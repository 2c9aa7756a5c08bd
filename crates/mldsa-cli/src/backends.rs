//! `mldsa backends`, and the choice of `--backend`.

use core::fmt::Write as _;
use std::io;
use std::sync::OnceLock;

use mldsa_core::Backend;

use crate::terminal::print;
use crate::{Status, Task};

/// The value of `--backend`, set once at the start.
pub(crate) static CHOSEN: OnceLock<Backend> = OnceLock::new();

/// Returns the backend for keys, verifiers and signers.
pub(crate) fn chosen() -> Backend {
    CHOSEN.get().copied().unwrap_or_default()
}

/// List the SIMD backends of this program on this CPU
#[derive(clap::Args)]
pub(crate) struct Args {}

impl Task for Args {
    fn run(&self) -> io::Result<Status> {
        let mut text = String::new();
        for backend in Backend::available() {
            let mark = if backend == chosen() { " (chosen)" } else { "" };
            let _ = writeln!(text, "{}{mark}", backend.name());
        }
        print(&text)?;
        Ok(Status::Good)
    }
}

/// Parses `--backend`: a name, or `auto`.
pub(crate) fn choice(name: &str) -> Result<Backend, String> {
    if name == "auto" {
        return Ok(Backend::detect());
    }
    Backend::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Backend::available().map(Backend::name).collect();
        format!("this CPU has: auto, {}", names.join(", "))
    })
}
