//! `bft-alephbft`: the same session once for each way to verify, one row each.

use std::process::ExitCode;
use std::time::Duration;

use bft_alephbft::{Plan, run};
use clap::Parser;
use measure::{How, Row, Set, finish};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87};

/// AlephBFT with ML-DSA units, verified one at a time.
#[derive(Parser)]
struct Arguments {
    /// How units are verified, one run each.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "one-by-one,cold,aws-lc"
    )]
    how: Vec<How>,
    /// The parameter set.
    #[arg(long, value_enum, default_value = "65")]
    set: Set,
    /// Members.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(4..=128))]
    members: u32,
    /// Data that each member brings.
    #[arg(long, default_value_t = 20)]
    items: u32,
    /// The last N members sign wrongly.
    #[arg(long, default_value_t = 0)]
    spoil: u32,
    /// Seconds after which a session has failed.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Lines of JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let rows = rows(&arguments).await;
    finish("bft-alephbft", rows, arguments.json)
}

async fn rows(arguments: &Arguments) -> Result<Vec<Row>, String> {
    let plan = Plan {
        members: arguments.members as usize,
        items: arguments.items as usize,
        spoil: arguments.spoil as usize,
        limit: Duration::from_secs(arguments.seconds),
    };
    let mut rows = Vec::new();
    for &how in &arguments.how {
        let run = match arguments.set {
            Set::MlDsa44 => run::<MlDsa44>(plan, how).await,
            Set::MlDsa65 => run::<MlDsa65>(plan, how).await,
            Set::MlDsa87 => run::<MlDsa87>(plan, how).await,
        };
        rows.push(run?.row);
    }
    Ok(rows)
}
