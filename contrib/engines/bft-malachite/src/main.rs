//! `bft-malachite`: runs one network and prints what it has verified.

use std::process::ExitCode;

use bft_malachite::{Plan, run};
use clap::Parser;
use mldsa_core::{Set, with_set};

/// Malachite's core with ML-DSA votes, verified on arrival
#[derive(Parser)]
struct Options {
    /// ML-DSA parameter set
    #[arg(long, default_value = "ML-DSA-65")]
    set: Set,
    /// Number of validators
    #[arg(long, default_value_t = 16)]
    validators: usize,
    /// Number of heights that all validators decide
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    heights: u64,
    /// Number of validators that send wrong signatures; must be below one third of all
    #[arg(long, default_value_t = 1)]
    byzantine: usize,
    /// Number of heights for which the first validator is disconnected before it catches up
    #[arg(long, default_value_t = 6)]
    offline: u64,
    /// Number of heights after which the validator set changes: members, order and stake
    #[arg(long, default_value_t = 4)]
    epoch_length: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let plan = Plan {
        validators: options.validators,
        heights: options.heights,
        byzantine: options.byzantine,
        offline: options.offline,
        epoch_length: options.epoch_length,
    };
    match with_set!(options.set, P => run::<P>(plan)) {
        Ok(run) => {
            let certificates = run.counts.iter().flat_map(|counts| counts.certificates);
            println!(
                "{}: {} validators decided {} heights, {} rounds failed; {} signatures verified, {} messages rejected, \
                 {} certificates checked, {} heights caught up from certificates",
                options.set,
                plan.validators,
                plan.heights,
                run.failed_rounds,
                run.verified,
                run.rejected,
                certificates.sum::<u64>(),
                run.counts[0].synced,
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
