//! Command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Aggregates of ML-DSA-87 signatures as checkpoints of commonware's simplex. Every validator is a
/// process of its own; the first process is the light client.
#[derive(Debug, Parser)]
#[command(name = "bft-checkpoints", version, about)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) network: Network,
    /// Epochs that the light client follows
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) epochs: u64,
    /// Seconds after which the run has failed
    #[arg(long, default_value_t = 600)]
    pub(crate) seconds: u64,
    #[command(subcommand)]
    pub(crate) validator: Option<Command>,
}

/// What all processes share.
#[derive(Clone, Debug, Args)]
pub(crate) struct Network {
    /// First port on localhost
    #[arg(long, global = true, default_value_t = 42_000)]
    pub(crate) port: u16,
    /// Milliseconds of one attempt at an aggregate
    #[arg(long, global = true, default_value_t = 4000)]
    pub(crate) timeout_ms: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one validator; the light client starts these processes
    #[command(hide = true)]
    Validator(Validator),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Validator {
    /// Number
    pub(crate) n: usize,
    /// Directory of its own
    pub(crate) directory: PathBuf,
    /// Conduct in sessions
    #[arg(value_enum)]
    pub(crate) role: Role,
    /// Creates the journals; without it, validators with none do not start
    #[arg(long)]
    pub(crate) first: bool,
}

/// Conduct of a validator in sessions. In the engine all are honest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Follows the protocol
    Honest,
    /// Sends no message of a session
    Silent,
    /// Runs two copies of its store, which sign different payloads for different members
    Copied,
}
