//! Who is enough.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::epoch::registry::Registry;
use crate::error::Error;
use crate::member_id::MemberId;

/// How many of a registry, or how much of its weight, have to sign. There is no
/// policy that nobody meets, and none that no signature meets.
#[derive(Clone, Debug)]
pub struct Policy {
    registry: Arc<Registry>,
    // by position; one each unless given
    weights: Option<Vec<u64>>,
    threshold: u64,
}

impl Policy {
    /// More than two thirds of the members.
    pub fn two_thirds(registry: &Arc<Registry>) -> Self {
        Self {
            registry: Arc::clone(registry),
            weights: None,
            threshold: two_thirds(registry.len()) as u64,
        }
    }

    /// At least `threshold` members.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for none, or more than there are.
    pub fn count(registry: &Arc<Registry>, threshold: usize) -> Result<Self, Error> {
        if !(1..=registry.len()).contains(&threshold) {
            return Err(Error::OutOfRange);
        }
        Ok(Self {
            registry: Arc::clone(registry),
            weights: None,
            threshold: threshold as u64,
        })
    }

    /// Members whose weights sum to at least `threshold`. Who has no weight here
    /// adds none.
    ///
    /// # Errors
    /// [`Error::UnknownMember`], [`Error::DuplicateId`]; [`Error::OutOfRange`] for
    /// a threshold of zero or above the sum, or a sum of 2^64 or more.
    pub fn weights(
        registry: &Arc<Registry>,
        weights: &[(MemberId, u64)],
        threshold: u64,
    ) -> Result<Self, Error> {
        let mut known = alloc::vec![None; registry.len()];
        for (id, weight) in weights {
            let slot = known.get_mut(registry.position(id)?);
            if slot.ok_or(Error::UnknownMember)?.replace(*weight).is_some() {
                return Err(Error::DuplicateId);
            }
        }
        let known: Vec<u64> = known.into_iter().map(Option::unwrap_or_default).collect();
        let sum = known
            .iter()
            .try_fold(0, |sum: u64, &weight| sum.checked_add(weight));
        if !(1..=sum.ok_or(Error::OutOfRange)?).contains(&threshold) {
            return Err(Error::OutOfRange);
        }
        Ok(Self {
            registry: Arc::clone(registry),
            weights: Some(known),
            threshold,
        })
    }

    /// Refuses signers of `registry` that are not enough.
    ///
    /// # Errors
    /// [`Error::QuorumMissed`], [`Error::UnknownMember`]; [`Error::CohortMismatch`]
    /// for a policy of another registry.
    pub(crate) fn check<'a>(
        &self,
        registry: &Registry,
        signers: impl Iterator<Item = &'a MemberId>,
    ) -> Result<(), Error> {
        if self.registry.root() != registry.root() {
            return Err(Error::CohortMismatch);
        }
        let mut sum = 0;
        for id in signers {
            let at = registry.position(id)?;
            let weights = self.weights.as_ref();
            sum += weights.map_or(1, |weights| weights.get(at).copied().unwrap_or(0));
        }
        (sum >= self.threshold)
            .then_some(())
            .ok_or(Error::QuorumMissed)
    }
}

/// The smallest number that is more than two thirds of `n`.
pub(crate) fn two_thirds(n: usize) -> usize {
    2 * n / 3 + 1
}
