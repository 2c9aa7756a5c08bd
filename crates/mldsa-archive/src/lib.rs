//! The library of the program `mldsa-archive`, for the program and for its tests.

#![forbid(unsafe_code)]

mod codec;
mod input;
mod files;
mod names;
mod output;
mod summary;
mod columns;
mod lines;
mod delta;
mod pages;
mod source;
mod state;
mod child;
mod verify;
mod classes;
mod make;

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

/// Runs the program.
#[doc(hidden)]
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == child::COMMAND)
    {
        return match child::main(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(2),
        };
    }
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

/// Reads columns of bytes, for tests of what is read.
///
/// # Errors
/// What is wrong with the bytes.
#[doc(hidden)]
pub fn read(
    bytes: Vec<u8>,
    names: &[&str],
    rows: usize,
    each: &mut dyn FnMut(&arrow_array::RecordBatch),
) -> Result<(), String> {
    let wanted = columns::Wanted {
        bytes: names.iter().map(|name| (*name).to_owned()).collect(),
        texts: Vec::new(),
        required: None,
    };
    let read = || {
        let input = input::Input::Memory(bytes.into());
        let source = source::Source::open(input, "".as_ref(), wanted, false)?;
        for n in 0..source.units().len() {
            for read in source.read(source.group(n)?.as_ref(), rows)? {
                each(&read?.batch);
            }
        }
        Ok::<_, Failure>(())
    };
    read().map_err(|error| error.to_string())
}
