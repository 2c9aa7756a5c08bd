//! `bft-alephbft`: runs one session.

use std::process::ExitCode;

use bft_alephbft::{Plan, run};
use clap::Parser;
use harness::hang_limit;
use mldsa_core::{Set, with_set};

/// AlephBFT with ML-DSA units, verified one at a time.
#[derive(Parser)]
struct Options {
    /// ML-DSA parameter set
    #[arg(long, default_value = "ML-DSA-65")]
    set: Set,
    /// Number of members
    #[arg(long, default_value_t = 16)]
    validators: usize,
    /// Number of members that send wrong signatures; must be below one third of all
    #[arg(long, default_value_t = 1)]
    byzantine: usize,
    /// Data items of each member
    #[arg(long, default_value_t = 20)]
    items: usize,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    let plan = Plan {
        members: options.validators,
        items: options.items,
        byzantine: options.byzantine,
        limit: hang_limit(),
    };
    match with_set!(options.set, P => run::<P>(plan).await) {
        Ok(session) => {
            println!(
                "{}: {} members have finalised {} items in one order and rejected {} signatures",
                options.set,
                plan.members,
                session.order.len(),
                session.rejected
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
