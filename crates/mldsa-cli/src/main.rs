//! The `mldsa` command: ML-DSA (FIPS 204) for scripts and people.
//!
//! One module per command; `batch` is what the commands over JSON lines share,
//! `ahead` and `jsonl` read the lines, `request` is what a line asks for, `engine` is
//! who does it. `input`, `keyfile` (with `certificate`, `encrypted` and `suspect`),
//! `message` and `output` are what the commands over files share.

#![forbid(unsafe_code)]

mod aggregate;
mod ahead;
mod backends;
mod batch;
mod batch_sign;
mod batch_verify;
mod certificate;
mod commit;
#[cfg_attr(not(feature = "encrypted-keys"), path = "encrypted/absent.rs")]
mod encrypted;
mod engine;
mod input;
mod inspect;
mod jsonl;
mod keyfile;
mod keygen;
mod manual;
mod message;
mod mu;
mod output;
mod pubkey;
mod random;
mod request;
mod sign;
mod structure;
mod suspect;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

use clap::{Parser, Subcommand};
use mldsa_core::{Backend, zeroize_stack};
use output::{Files, complain, complain_of_arguments, standard_failed};

/// ML-DSA (FIPS 204) signatures
#[derive(Parser)]
#[command(name = "mldsa", version, propagate_version = true)]
struct Cli {
    /// Instructions to compute with; results do not depend on it
    #[arg(long, global = true, value_name = "NAME", default_value = "auto", value_parser = backends::choice)]
    backend: Backend,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
enum Command {
    Keygen(keygen::Args),
    Pubkey(pubkey::Args),
    Inspect(inspect::Args),
    Sign(sign::Args),
    Verify(verify::Args),
    Mu(mu::Args),
    BatchVerify(batch_verify::Args),
    BatchSign(batch_sign::Args),
    Aggregate(aggregate::Args),
    /// List the instruction sets this program can use here
    Backends,
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

impl Command {
    /// What it reads and writes: no command runs before these were told apart.
    fn files(&self) -> Files<'_> {
        match self {
            Self::Keygen(args) => args.files(),
            Self::Pubkey(args) => args.files(),
            Self::Inspect(args) => args.files(),
            Self::Sign(args) => args.files(),
            Self::Verify(args) => args.files(),
            Self::Mu(args) => args.files(),
            Self::BatchVerify(args) => args.files(),
            Self::BatchSign(args) => args.files(),
            Self::Aggregate(args) => args.files(),
            Self::Backends | Self::Completions(_) | Self::Man(_) => Files::default(),
        }
    }
}

/// How a command ended, as the exit code tells it.
enum Status {
    /// Everything asked for was done, everything checked is valid.
    Good,
    /// Something is invalid.
    Invalid,
    /// Something could not be used: a line, an argument, a file.
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

fn main() -> ExitCode {
    // A file that may not grow further is an error to answer, not the end.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let result = match Cli::try_parse() {
        // Private keys are values on the stack, of which moves leave copies.
        Ok(cli) => zeroize_stack::<COMMAND_STACK, _>(|| run(cli)),
        // Help that was asked for is a result: clap would not say that it went nowhere.
        Err(help) if !help.use_stderr() => help
            .print()
            .and_then(|()| io::stdout().flush())
            .map(|()| Status::Good)
            .map_err(|error| standard_failed(&error)),
        Err(error) => {
            complain_of_arguments(&error);
            Ok(Status::Unusable)
        }
    };
    result
        .unwrap_or_else(|error| {
            // Who closed our output does not want to hear about it.
            if error.kind() != io::ErrorKind::BrokenPipe {
                complain(error);
            }
            Status::Unusable
        })
        .into()
}

fn run(cli: Cli) -> io::Result<Status> {
    cli.backend.set_default();
    cli.command.files().keep_apart()?;
    match cli.command {
        Command::Keygen(args) => keygen::run(&args),
        Command::Pubkey(args) => pubkey::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Mu(args) => mu::run(&args),
        Command::BatchVerify(args) => batch_verify::run(&args),
        Command::BatchSign(args) => batch_sign::run(&args),
        Command::Aggregate(args) => aggregate::run(&args),
        Command::Backends => backends::run(),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}
