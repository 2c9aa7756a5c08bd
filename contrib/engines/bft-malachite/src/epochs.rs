//! Validator sets and committees by height.

use std::sync::Arc;

use anyhow::ensure;
use batch_verify::{Committee, MemberId, Threads, Threshold};
use mldsa_core::{ParameterSet, VerifyingKey};

use crate::chain::{Address, Height, ValidatorSet};
use crate::network::Plan;
use crate::scheme::CONTEXT;

/// One epoch: the engine's validator set and the committee with the same members in the same
/// order.
#[derive(Debug)]
pub(crate) struct Epoch<P: ParameterSet> {
    pub(crate) number: u64,
    pub(crate) set: ValidatorSet<P>,
    pub(crate) committee: Committee<P>,
}

impl<P: ParameterSet> Epoch<P> {
    /// Committee member of a validator.
    pub(crate) fn member(&self, address: Address) -> Option<MemberId> {
        let position = self.set.position(address)?;
        self.committee.member(u32::try_from(position).ok()?)
    }
}

/// All epochs of a run. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Epochs<P: ParameterSet> {
    /// Heights per epoch; 0 for a single epoch.
    length: u64,
    epochs: Arc<[Epoch<P>]>,
}

impl<P: ParameterSet> Epochs<P> {
    /// Epochs of a plan. The validator with key `n` has address `n`.
    ///
    /// # Errors
    /// If the faulty validators have one third of the voting power of an epoch, or more.
    pub(crate) fn new(plan: &Plan, keys: &[VerifyingKey<P>]) -> anyhow::Result<Self> {
        let count = plan.heights.checked_div(plan.epoch_length).unwrap_or(0) + 2;
        let count = if plan.epoch_length == 0 { 1 } else { count };
        let mut epochs: Vec<Epoch<P>> = Vec::new();
        for number in 0..count {
            let members = match plan.epoch_length {
                0 => (0..keys.len()).map(|n| (n, 1)).collect(),
                _ => members(keys.len(), number as usize),
            };
            let faulty =
                |n: usize| n >= keys.len() - plan.byzantine || (plan.offline > 0 && n == 0);
            let total: u64 = members.iter().map(|(_, power)| power).sum();
            let power = members.iter().filter(|(n, _)| faulty(*n));
            let power: u64 = power.map(|(_, power)| power).sum();
            ensure!(
                3 * power < total,
                "faulty validators have {power} of {total} voting power in epoch {number}"
            );
            let listed = || members.iter().map(|&(n, power)| (&keys[n], power));
            let committee = match epochs.last() {
                Some(previous) => previous.committee.successor_ordered(number, listed())?,
                None => Committee::builder(CONTEXT)
                    .epoch(number)
                    .threshold(Threshold::TWO_THIRDS)
                    .threads(Threads::Inline)
                    .build(listed())?,
            };
            let set = members
                .iter()
                .map(|&(n, power)| (Address(n as u32), keys[n].clone(), power));
            epochs.push(Epoch {
                number,
                set: ValidatorSet::new(set),
                committee,
            });
        }
        Ok(Self {
            length: plan.epoch_length,
            epochs: epochs.into(),
        })
    }

    /// Epoch of a height. Heights after the last epoch belong to it.
    pub(crate) fn at(&self, height: Height) -> &Epoch<P> {
        let index = height.0.saturating_sub(1).checked_div(self.length);
        let index = usize::try_from(index.unwrap_or(0)).unwrap_or(usize::MAX);
        &self.epochs[index.min(self.epochs.len() - 1)]
    }

    /// Epoch after the epoch of a height; the same one if that is the last.
    pub(crate) fn after(&self, height: Height) -> &Epoch<P> {
        let next = self.at(height).number as usize + 1;
        &self.epochs[next.min(self.epochs.len() - 1)]
    }
}

/// Members of a changing epoch with their voting power: one validator pauses, the order rotates
/// and is reversed in odd epochs, the powers are 1 to 4 and differ between epochs.
fn members(validators: usize, epoch: usize) -> Vec<(usize, u64)> {
    let paused = 1 + epoch % (validators - 1);
    let rotated = (0..validators).map(|n| (n + 3 * epoch) % validators);
    let power = |n: usize| 1 + ((7 * n + 3 * epoch) % 4) as u64;
    let mut members: Vec<_> = rotated
        .filter(|n| *n != paused)
        .map(|n| (n, power(n)))
        .collect();
    if epoch % 2 == 1 {
        members.reverse();
    }
    members
}
