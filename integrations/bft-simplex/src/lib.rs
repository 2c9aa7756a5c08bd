//! commonware's simplex with ML-DSA votes: runs, faults, measurements.
//!
//! [`run`] runs a committee once per [`Strategy`] and returns one [`Row`] per run: in the
//! deterministic simulator (virtual time), over TCP in one process, or over TCP with one process
//! per validator. Members may send wrong signatures, attack, crash and restart, and the committee
//! may change ([`Options`]). Each run asserts its expected outcome and fails otherwise.
//!
//! A [`Hook`] receives every finalised block.

mod attack;
mod members;
mod metered;
mod node;
mod observer;
mod options;
mod processes;
mod simulator;
mod tcp;

use std::sync::Arc;

use commonware_cryptography::sha256::Digest;
use harness::{Row, Strategy, with_set};
use mldsa_core::ParameterSet;

pub use options::{Net, Options};

use members::Members;

/// Block finalised by a validator of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Validator, numbered in the order in which the members were created.
    pub node: usize,
    /// Epoch, from 1.
    pub epoch: u64,
    /// View, from 1. Views without a finalised block are absent.
    pub view: u64,
    /// Block digest, equal at all validators.
    pub payload: Digest,
}

/// Callback for each finalised block. It runs on the engine's task and must not block.
pub type Hook = Arc<dyn Fn(&Block) + Send + Sync>;

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
pub fn run(options: &Options, hook: &Hook) -> anyhow::Result<Vec<Row>> {
    options.check()?;
    with_set!(options.common.set, P => run_all::<P>(options, hook))
}

fn run_all<P: ParameterSet>(options: &Options, hook: &Hook) -> anyhow::Result<Vec<Row>> {
    let strategies = options.common.strategies(&STRATEGIES);
    if strategies.len() > 1 && options.net != Net::Procs {
        // Warm-up: the first run of a process pays for page faults that later runs do not have.
        let ignore = Arc::new(|_: &Block| {}) as Hook;
        run_strategy::<P>(&options.warm_up(), strategies[0], &ignore)?;
    }
    let mut rows = Vec::new();
    for strategy in strategies {
        rows.extend(run_strategy::<P>(options, strategy, hook)?);
    }
    Ok(rows)
}

fn run_strategy<P: ParameterSet>(
    options: &Options,
    strategy: Strategy,
    hook: &Hook,
) -> anyhow::Result<Vec<Row>> {
    if options.net == Net::Procs && options.node.is_none() {
        return processes::run(options, strategy);
    }
    let members = Members::<P>::new(options, strategy)?;
    Ok(match options.net {
        Net::Sim => vec![simulator::run(options, &members, hook)?],
        Net::Tcp => vec![tcp::run(options, &members, hook, || Ok(()))?],
        Net::Procs => {
            processes::child(options, &members, hook)?;
            Vec::new()
        }
    })
}
