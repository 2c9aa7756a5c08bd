//! `bft-malachite`: the same network once per strategy, one row each.

use std::process::ExitCode;

use anyhow::ensure;
use bft_malachite::{Plan, STRATEGIES, run};
use clap::Parser;
use harness::{Arguments, Row, finish, with_set};

/// Malachite's core with ML-DSA votes, verified on arrival
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: Arguments,
    /// Number of heights that all validators decide
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    heights: u64,
    /// Replays, forgeries and votes of another chain that outsiders send for each vote
    #[arg(long, default_value_t = 0)]
    forgeries_per_vote: usize,
    /// At every N-th height the first round has a quorum of prevotes and none of precommits
    #[arg(long, default_value_t = 0)]
    drop_quorum: u64,
    /// Number of heights for which the first validator is disconnected before it catches up
    #[arg(long, default_value_t = 0)]
    offline: u64,
    /// Number of heights after which the validator set changes: members, order and stake
    #[arg(long, default_value_t = 0, conflicts_with = "drop_quorum")]
    epoch_length: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    finish(rows(&options), options.common.json)
}

fn rows(options: &Options) -> anyhow::Result<Vec<Row>> {
    let plan = Plan {
        validators: options.common.validators,
        heights: options.heights,
        byzantine: options.common.byzantine,
        forgeries_per_vote: options.forgeries_per_vote,
        drop_quorum: options.drop_quorum,
        offline: options.offline,
        epoch_length: options.epoch_length,
    };
    let mut rows = Vec::new();
    let mut decided = None;
    for strategy in options.common.strategies(&STRATEGIES) {
        let result = with_set!(options.common.set, P => run::<P>(plan, strategy))?;
        let first = decided.get_or_insert_with(|| result.decided.clone());
        ensure!(
            *first == result.decided,
            "{} decides other values",
            strategy.name()
        );
        rows.push(result.row);
    }
    Ok(rows)
}
