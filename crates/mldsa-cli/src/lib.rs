//! The `mldsa` command: ML-DSA (FIPS 204) signatures on the command line. This library is the body of the
//! program and no interface for others.
//!
//! `lines` has the commands over JSON lines. With the feature `files`, `key` has those over key files,
//! `message` those that hash, sign and verify a message, and `note` those over checkpoints of logs. `file` reads
//! and writes files.

#![forbid(unsafe_code)]

mod backends;
#[cfg(feature = "calibrate")]
mod calibrate;
#[cfg(feature = "files")]
mod commands;
#[cfg_attr(
    not(feature = "files"),
    allow(dead_code, reason = "for the commands over files")
)]
mod file;
#[cfg(feature = "files")]
mod key;
mod lines;
#[cfg(feature = "files")]
mod man;
#[cfg(feature = "files")]
mod message;
#[cfg(feature = "files")]
mod note;
mod random;
mod terminal;

use std::io::{self, Write};
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::OnceLock;

#[doc(hidden)]
pub use lines::check_lines;

use clap::{Parser, Subcommand};
use mldsa_core::{Backend, zeroize_stack};

use crate::file::paths::Files;
use crate::terminal::{complain, complain_of_arguments, output_error, print};

/// ML-DSA (FIPS 204) signatures
#[derive(Parser)]
#[command(name = "mldsa", version, long_version = long_version(), propagate_version = true)]
struct Cli {
    /// SIMD backend of keys, verifiers and signers; results do not depend on it
    #[arg(long, global = true, value_name = "NAME", default_value = "auto", value_parser = backends::choice)]
    backend: Backend,

    #[command(subcommand)]
    command: Command,
}

/// Describes the version, and what this program uses on this CPU.
fn long_version() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let names: Vec<_> = Backend::available().map(Backend::name).collect();
        format!(
            "{}\ntarget:   {}-{}\nbackend:  {} (of {})\nfeatures: {}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::ARCH,
            std::env::consts::OS,
            Backend::detect().name(),
            names.join(", "),
            if cfg!(feature = "files") {
                "files, encrypted keys, certificates, JWK, COSE"
            } else {
                "JSON lines only"
            }
        )
    })
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
enum Command {
    #[cfg(feature = "files")]
    #[command(flatten)]
    File(commands::FileCommand),
    BatchVerify(lines::verify::Args),
    BatchSign(lines::sign::Args),
    Backends(backends::Args),
    #[cfg(feature = "calibrate")]
    Calibrate(calibrate::Args),
}

impl Command {
    fn task(&self) -> &dyn Task {
        match self {
            #[cfg(feature = "files")]
            Self::File(command) => command.task(),
            Self::BatchVerify(args) => args,
            Self::BatchSign(args) => args,
            Self::Backends(args) => args,
            #[cfg(feature = "calibrate")]
            Self::Calibrate(args) => args,
        }
    }
}

/// A command with its arguments.
trait Task {
    /// Returns whether errors are answers in JSON on standard output.
    fn has_json_errors(&self) -> bool {
        false
    }

    /// Lists the files that it reads and writes, checked before it runs.
    fn files(&self) -> Files<'_> {
        Files::default()
    }

    fn run(&self) -> io::Result<Status>;
}

enum Status {
    /// Exit code 0: all is done, or valid.
    Good,
    /// Exit code 1: a signature or key is invalid.
    Invalid,
    /// Exit code 2: a line, an argument or a file is unusable.
    Unusable,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Good => 0,
            Status::Invalid => 1,
            Status::Unusable => 2,
        })
    }
}

/// Bytes of stack that are overwritten after a command: above the deepest use of unoptimised
/// signing.
const COMMAND_STACK: usize = 256 << 10;

/// Runs the command of the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    // A file above the size limit is an error of the write and does not end the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let result = match Cli::try_parse() {
        // Private keys are values on the stack, of which moves leave copies.
        Ok(cli) => zeroize_stack::<COMMAND_STACK, _>(|| run(&cli)),
        // Help on request is a result: clap would ignore that it could not be written.
        Err(help) if !help.use_stderr() => help
            .print()
            .and_then(|()| io::stdout().flush())
            .map(|()| Status::Good)
            .map_err(|error| output_error(&error)),
        Err(error) => {
            complain_of_arguments(&error);
            Ok(Status::Unusable)
        }
    };
    result
        .unwrap_or_else(|error| {
            // Silent on EPIPE.
            if error.kind() != io::ErrorKind::BrokenPipe {
                complain(error);
            }
            Status::Unusable
        })
        .into()
}

fn run(cli: &Cli) -> io::Result<Status> {
    let _ = backends::CHOSEN.set(cli.backend);
    let task = cli.command.task();
    task.files()
        .check()
        .and_then(|()| task.run())
        .or_else(|error| {
            if !task.has_json_errors() || error.kind() == io::ErrorKind::BrokenPipe {
                return Err(error);
            }
            let error = serde_json::Value::from(error.to_string());
            print(format!("{{\"error\":{error}}}\n"))?;
            Ok(Status::Unusable)
        })
}
