//! `bft-alephbft`: the same session once per strategy, one row each.

use std::process::ExitCode;

use bft_alephbft::{Plan, run};
use clap::Parser;
use harness::{Arguments, Row, Strategy, finish, hang_limit, with_set};

/// AlephBFT with ML-DSA units, verified one at a time.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: Arguments,
    /// Data items of each member
    #[arg(long, default_value_t = 20)]
    items: usize,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    finish(rows(&options).await, options.common.json)
}

async fn rows(options: &Options) -> anyhow::Result<Vec<Row>> {
    let plan = Plan {
        members: options.common.validators,
        items: options.items,
        byzantine: options.common.byzantine,
        limit: hang_limit(),
    };
    let supported = [Strategy::PerVote, Strategy::ColdKeys, Strategy::AwsLc];
    let mut rows = Vec::new();
    for strategy in options.common.strategies(&supported) {
        let session = with_set!(options.common.set, P => run::<P>(plan, strategy).await);
        rows.push(session?.row);
    }
    Ok(rows)
}
