//! `bft-malachite`: the same network once for each way to verify, one row each.

use std::process::ExitCode;

use bft_malachite::{Mode, Plan, run};
use clap::Parser;
use harness::{Row, Set, finish};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87};

/// Malachite's core with ML-DSA votes, verified at the door.
#[derive(Parser)]
struct Arguments {
    /// Strategy votes are verified, one run each.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "batched,intake,per-vote,cold-keys,aws-lc"
    )]
    strategy: Vec<Mode>,
    /// The parameter set.
    #[arg(long, value_enum, default_value = "65")]
    set: Set,
    /// Validators.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(4..=256))]
    validators: u32,
    /// Heights that everybody decides.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    heights: u64,
    /// The last N validators send wrong signatures.
    #[arg(long, default_value_t = 0)]
    byzantine: u32,
    /// An attacker sends so many replays, forgeries and votes of another chain for each vote.
    #[arg(long, default_value_t = 0)]
    forgeries_per_vote: u32,
    /// The first round of every K-th height fails: lost proposals, votes and certificates.
    #[arg(long, default_value_t = 0)]
    drop_quorum: u64,
    /// The first validator sleeps for so many heights, and catches up.
    #[arg(long, default_value_t = 0)]
    offline: u64,
    /// Lines of JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    finish(rows(&arguments).map_err(anyhow::Error::msg), arguments.json)
}

fn rows(arguments: &Arguments) -> Result<Vec<Row>, String> {
    let plan = Plan {
        validators: arguments.validators as usize,
        heights: arguments.heights,
        byzantine: arguments.byzantine as usize,
        forgeries_per_vote: arguments.forgeries_per_vote as usize,
        drop_quorum: arguments.drop_quorum,
        offline: arguments.offline,
    };
    let run = match arguments.set {
        Set::MlDsa44 => run::<MlDsa44>,
        Set::MlDsa65 => run::<MlDsa65>,
        Set::MlDsa87 => run::<MlDsa87>,
    };
    let mut rows = Vec::new();
    let mut decided = None;
    for &way in &arguments.strategy {
        let result = run(plan, way)?;
        result.check(&plan, way)?;
        if decided.get_or_insert_with(|| result.decided.clone()) != &result.decided {
            return Err(format!("{} decides something else", way.name()));
        }
        rows.push(result.row);
    }
    Ok(rows)
}
