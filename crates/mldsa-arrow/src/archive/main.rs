//! `mldsa-archive`: verdicts on the signatures of columnar files.

#![forbid(unsafe_code)]

mod reading;
mod lines;
mod files;
mod patterns;
mod footer;
mod pages;
mod source;
mod columns;
mod output;
mod state;
mod summary;
mod classes;
mod make;
mod workers;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// ML-DSA (FIPS 204) signatures in Parquet, CSV and JSON lines
#[derive(Parser)]
#[command(name = "mldsa-archive", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
enum Command {
    Verify(verify::Args),
    Make(make::Args),
}

/// Outcome of a command, as of `mldsa batch-verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Exit code 0: there is a row, and every row is valid.
    Good = 0,
    /// Exit code 1: a row is invalid.
    Invalid = 1,
    /// Exit code 2: a row or a file is unusable, there is no row, or the run could not finish.
    Unusable = 2,
}

/// Text of an error.
type Failure = Box<dyn core::error::Error + Send + Sync>;

/// Adds the name of what failed.
fn named(name: impl core::fmt::Display, error: impl core::fmt::Display) -> Failure {
    format!("{name}: {error}").into()
}

/// Writes a line on standard error, which may be closed. Names of files and values in it cannot
/// control a terminal.
fn say(line: impl core::fmt::Display) {
    let mut text = String::new();
    for letter in line.to_string().chars() {
        match letter {
            '"' | '\'' | '\\' => text.push(letter),
            _ => text.extend(letter.escape_debug()),
        }
    }
    let _ = writeln!(std::io::stderr(), "mldsa-archive: {text}");
}

fn main() -> ExitCode {
    let status = match Cli::parse().command {
        Command::Verify(args) => verify::run(&args),
        Command::Make(args) => make::run(&args),
    };
    let status = status.unwrap_or_else(|error| {
        say(error);
        Status::Unusable
    });
    ExitCode::from(status as u8)
}
