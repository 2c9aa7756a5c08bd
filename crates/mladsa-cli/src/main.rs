//! The `mladsa` command: ML-ADSA-87 aggregates of a committee (experimental).
//!
//! One module per command. `store` is the directory of a member, `mailbox` the directory that members
//! share while they sign.

#![forbid(unsafe_code)]

mod committee;
mod files;
mod keygen;
mod mailbox;
mod sign;
mod store;
mod verify;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// ML-ADSA-87 aggregates of a committee (experimental, for demonstrations)
#[derive(Parser)]
#[command(name = "mladsa", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Keygen(keygen::Args),
    Committee(committee::Args),
    Sign(sign::Args),
    Verify(verify::Args),
}

/// Runs a command. Exit codes: 0 for done or valid, 1 for an invalid certificate, 2 for unusable
/// input.
fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Keygen(args) => keygen::run(&args).map(|()| true),
        Command::Committee(args) => committee::run(&args).map(|()| true),
        Command::Sign(args) => sign::run(&args).map(|()| true),
        Command::Verify(args) => verify::run(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            // Silent on a closed pipe.
            if error.kind() != io::ErrorKind::BrokenPipe {
                eprintln!("mladsa: {error}");
            }
            ExitCode::from(2)
        }
    }
}

fn failed(error: impl Into<mladsa_aggregate::Error>) -> io::Error {
    io::Error::other(error.into())
}
