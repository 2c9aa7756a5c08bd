//! commonware's simplex with ML-DSA votes, run and measured.
//!
//! [`run`] runs a committee once for each way to verify ([`measure::How`]) and gives one
//! [`measure::Row`] a run: in the deterministic simulator (virtual time), over TCP in one process,
//! or over TCP between processes. Members may sign badly, attack, crash and return, and the
//! committee may change ([`Options`]); each run asserts what it claims ([`RunError::Claim`]).
//!
//! What is built on finalised blocks hears of them through a [`Hook`].

mod attack;
mod error;
mod measured;
mod members;
mod node;
mod observed;
mod options;
mod processes;
mod simulator;
mod tcp;

use std::sync::Arc;

use commonware_cryptography::sha256::Digest;
use measure::{How, Row, Set};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};

pub use error::RunError;
pub use options::{Net, Options};

use members::Members;

/// A block that a validator of this process has finalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Which validator, counted in the order in which the committee was made.
    pub node: usize,
    /// The epoch, from 1.
    pub epoch: u64,
    /// The view, from 1. Views in which nothing was finalised are left out.
    pub view: u64,
    /// What was finalised; the same for all.
    pub payload: Digest,
}

/// Called for each finalised block, on the engine's task: it should only pass it on.
pub type Hook = Arc<dyn Fn(&Block) + Send + Sync>;

/// Runs what `options` say, once for each way to verify.
///
/// # Errors
/// [`RunError`]: options that do not go together, a run that did not end in time, and
/// everything that a run claims and that did not hold.
pub fn run(options: &Options, hook: &Hook) -> Result<Vec<Row>, RunError> {
    options.check()?;
    let of_set = match options.set {
        Set::MlDsa44 => run_how::<MlDsa44>,
        Set::MlDsa65 => run_how::<MlDsa65>,
        Set::MlDsa87 => run_how::<MlDsa87>,
    };
    if let ([first, _, ..], true) = (&options.how[..], options.net != Net::Procs) {
        // The first run of a process pays for the memory that the others find there.
        of_set(
            &options.warm_up(),
            *first,
            &(Arc::new(|_: &Block| {}) as Hook),
        )?;
    }
    let rows = options.how.iter().map(|&how| of_set(options, how, hook));
    Ok(rows.collect::<Result<Vec<_>, _>>()?.concat())
}

fn run_how<P: ParameterSet>(
    options: &Options,
    how: How,
    hook: &Hook,
) -> Result<Vec<Row>, RunError> {
    if options.net == Net::Procs && options.node.is_none() {
        return processes::run(options, how);
    }
    let members = Members::<P>::new(options, how)?;
    Ok(match options.net {
        Net::Sim => vec![simulator::run(options, &members, hook)?],
        Net::Tcp => vec![tcp::run(options, &members, hook, || Ok(()))?],
        Net::Procs => {
            processes::child(options, &members, hook)?;
            Vec::new()
        }
    })
}
