//! commonware's simplex with ML-DSA votes: runs, faults, measurements.
//!
//! [`run`] runs a committee once per [`Strategy`] and returns one [`Row`] per run: in the
//! deterministic simulator (virtual time), or over TCP in one process. Members may send wrong
//! signatures, attack, crash and restart, and the committee may change ([`Options`]). Each run
//! asserts its expected outcome and fails otherwise.

mod attack;
pub mod engine;
mod members;
mod metered;
mod node;
mod observer;
mod options;
mod simulator;
pub mod tcp;

use harness::{Row, Strategy, with_set};
use mldsa_core::ParameterSet;

pub use options::{Net, Options};

use members::Members;

/// Strategies of a run that names none.
const STRATEGIES: [Strategy; 4] = [
    Strategy::Batched,
    Strategy::PerVote,
    Strategy::ColdKeys,
    Strategy::AwsLc,
];

/// Runs the options once per strategy.
///
/// # Errors
/// Options that cannot be combined, a run that exceeded `--seconds`, and every assertion of a run
/// that did not hold.
pub fn run(options: &Options) -> anyhow::Result<Vec<Row>> {
    options.check()?;
    with_set!(options.common.set, P => run_all::<P>(options))
}

fn run_all<P: ParameterSet>(options: &Options) -> anyhow::Result<Vec<Row>> {
    let strategies = options.common.strategies(&STRATEGIES);
    if strategies.len() > 1 {
        // Warm-up: the first run of a process pays for page faults that later runs do not have.
        run_strategy::<P>(&options.warm_up(), strategies[0])?;
    }
    let run = |strategy| run_strategy::<P>(options, strategy);
    strategies.into_iter().map(run).collect()
}

fn run_strategy<P: ParameterSet>(options: &Options, strategy: Strategy) -> anyhow::Result<Row> {
    let members = Members::<P>::new(options, strategy)?;
    match options.net {
        Net::Sim => simulator::run(options, &members),
        Net::Tcp => tcp::run(options, &members),
    }
}
