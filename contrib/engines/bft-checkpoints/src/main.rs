//! `bft-checkpoints`: 16 validators run commonware's simplex, each in a process. Blocks carry the
//! registrations for the next epoch, and after the finality of each checkpoint the committee makes one
//! aggregate. The first process is a light client that begins with the identity of one committee.

mod block;
mod client;
mod engine;
mod ledger;
mod node;
mod options;
mod run;
mod signing;
mod tcp;

use std::process::ExitCode;

use clap::Parser as _;

use options::{Command, Options};

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match &options.validator {
        None => run::run(&options),
        Some(Command::Validator(validator)) => node::run(&options.network, validator),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
