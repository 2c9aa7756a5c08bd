//! Quorum policies.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::epoch::registry::Registry;
use crate::error::VerifyError;
use crate::member_id::MemberId;

/// Quorum policy: the number, or the weight, of the members of a registry that must sign. It
/// is neither met by no signers nor unsatisfiable.
#[derive(Clone, Debug)]
pub struct QuorumPolicy {
    registry: Arc<Registry>,
    // by position in the registry; `None`: one each
    weights: Option<Vec<u64>>,
    threshold: u64,
}

impl QuorumPolicy {
    /// More than two thirds of the members.
    #[must_use]
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
    /// [`VerifyError::Threshold`] for zero, or more than there are members.
    pub fn count(registry: &Arc<Registry>, threshold: usize) -> Result<Self, VerifyError> {
        if !(1..=registry.len()).contains(&threshold) {
            return Err(VerifyError::Threshold);
        }
        Ok(Self {
            registry: Arc::clone(registry),
            weights: None,
            threshold: threshold as u64,
        })
    }

    /// Members whose weights sum to at least `threshold`. A member without an entry has weight
    /// zero.
    ///
    /// # Errors
    /// [`VerifyError::UnknownMember`], [`VerifyError::DuplicateMember`];
    /// [`VerifyError::Threshold`] for a threshold of zero or above the sum, or a sum of 2^64 or
    /// more.
    pub fn weights(
        registry: &Arc<Registry>,
        weights: &[(MemberId, u64)],
        threshold: u64,
    ) -> Result<Self, VerifyError> {
        let mut known = alloc::vec![None; registry.len()];
        for (id, weight) in weights {
            let slot = registry.position(id).and_then(|at| known.get_mut(at));
            let slot = slot.ok_or(VerifyError::UnknownMember)?;
            if slot.replace(*weight).is_some() {
                return Err(VerifyError::DuplicateMember);
            }
        }
        let known: Vec<u64> = known.into_iter().map(Option::unwrap_or_default).collect();
        let sum = known
            .iter()
            .try_fold(0, |sum: u64, &weight| sum.checked_add(weight));
        if !(1..=sum.ok_or(VerifyError::Threshold)?).contains(&threshold) {
            return Err(VerifyError::Threshold);
        }
        Ok(Self {
            registry: Arc::clone(registry),
            weights: Some(known),
            threshold,
        })
    }

    /// Checks that signers of `registry` meet the policy.
    pub(crate) fn check<'a>(
        &self,
        registry: &Registry,
        signers: impl Iterator<Item = &'a MemberId>,
    ) -> Result<(), VerifyError> {
        if self.registry.root() != registry.root() {
            return Err(VerifyError::OtherRegistry);
        }
        let mut sum = 0;
        for id in signers {
            let at = registry.position(id).ok_or(VerifyError::UnknownMember)?;
            let weights = self.weights.as_ref();
            sum += weights.map_or(1, |weights| weights.get(at).copied().unwrap_or(0));
        }
        (sum >= self.threshold)
            .then_some(())
            .ok_or(VerifyError::QuorumMissed)
    }
}

/// The smallest number above two thirds of `n`.
pub(crate) fn two_thirds(n: usize) -> usize {
    2 * n / 3 + 1
}
