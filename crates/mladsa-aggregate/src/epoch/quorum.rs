//! Threshold of a committee.

use alloc::vec::Vec;

use crate::error::RegistrationError;
use crate::member_id::MemberId;

/// Threshold that the signers of an aggregate must reach. It is part of the committee's identity, so
/// that a verifier of a pinned committee applies no other one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Threshold {
    /// More than two thirds of the members.
    #[default]
    TwoThirds,
    /// At least this number of members: at least 1, at most all.
    Count(usize),
    /// Members whose weights sum to at least the threshold, which is at least 1 and at most the
    /// sum of all weights. A member without an entry has weight zero.
    Weights {
        /// Members with their weights; the sum is below 2^64.
        weights: Vec<(MemberId, u64)>,
        /// Smallest weight of the signers.
        threshold: u64,
    },
}

/// A threshold with the weights in the order of the registry.
pub(crate) struct Quorum {
    // by position in the registry; `None`: one each
    weights: Option<Vec<u64>>,
    threshold: u64,
}

impl Quorum {
    pub(crate) fn new(threshold: &Threshold, ids: &[&MemberId]) -> Result<Self, RegistrationError> {
        let (weights, sum, threshold) = match threshold {
            Threshold::TwoThirds => (None, ids.len() as u64, two_thirds(ids.len()) as u64),
            Threshold::Count(count) => (None, ids.len() as u64, *count as u64),
            Threshold::Weights { weights, threshold } => {
                let mut known = alloc::vec![None; ids.len()];
                for (id, weight) in weights {
                    let at = ids.binary_search(&id).ok();
                    let slot = at.and_then(|at| known.get_mut(at));
                    let slot = slot.ok_or(RegistrationError::UnknownMember)?;
                    if slot.replace(*weight).is_some() {
                        return Err(RegistrationError::DuplicateMember);
                    }
                }
                let known: Vec<u64> = known.into_iter().map(Option::unwrap_or_default).collect();
                let sum = known
                    .iter()
                    .try_fold(0, |sum: u64, &weight| sum.checked_add(weight));
                let sum = sum.ok_or(RegistrationError::Threshold)?;
                (Some(known), sum, *threshold)
            }
        };
        (1..=sum)
            .contains(&threshold)
            .then_some(Self { weights, threshold })
            .ok_or(RegistrationError::Threshold)
    }

    /// Whether the members at these positions, each named once, reach the threshold.
    pub(crate) fn is_met(&self, positions: impl Iterator<Item = usize>) -> bool {
        let weight = |at: usize| match &self.weights {
            None => 1,
            Some(weights) => weights.get(at).copied().unwrap_or(0),
        };
        positions.map(weight).sum::<u64>() >= self.threshold
    }

    /// `BE64(threshold) || BE64(weights)`, without weights for one each.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let weights = self.weights.iter().flatten();
        let numbers = core::iter::once(&self.threshold).chain(weights);
        numbers.flat_map(|number| number.to_be_bytes()).collect()
    }
}

/// The smallest number above two thirds of `n`.
pub(crate) fn two_thirds(n: usize) -> usize {
    2 * n / 3 + 1
}
