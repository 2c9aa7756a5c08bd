//! One call for all that has arrived, and a memory that shares the engine's bytes.

use std::collections::HashMap;

use batch_verify::{BatchVerifier, Duplicates, Outcome, Policy, QuorumError, Threads, Threshold};
use mldsa_core::ParameterSet;

use super::{Committee, Verifier};
use crate::chain::Height;
use crate::message::{Claim, Signed};
use crate::scheme::{CONTEXT, Signature};

/// A [`BatchVerifier`] and what it has found valid.
pub(super) struct Batched<P: ParameterSet> {
    committee: Committee<P>,
    verifier: BatchVerifier<P>,
    /// By member.
    known: Vec<HashMap<Claim, Signature>>,
}

/// Signatures of each member that are remembered. Honest members sign a few at a height; who signs
/// for all heights to come fills a place of its own.
const EACH: usize = 16;

impl<P: ParameterSet> Batched<P> {
    pub(super) fn new(committee: Committee<P>) -> Self {
        let verifier = BatchVerifier::builder()
            .keys(committee.keys.clone())
            .context(CONTEXT)
            .threads(Threads::Inline)
            .build()
            .expect("a short context");
        Self {
            known: vec![HashMap::new(); committee.keys.id_bound()],
            committee,
            verifier,
        }
    }

    fn remember(&mut self, signed: &Signed) {
        let Signed { claim, signature } = signed;
        if let Some(known) = self.known.get_mut(claim.by.0 as usize)
            && known.len() < EACH
        {
            known.insert(claim.clone(), signature.clone());
        }
    }
}

impl<P: ParameterSet> Verifier for Batched<P> {
    fn arrived(&mut self, arrived: &[(u64, Signed)]) -> Option<Vec<Outcome>> {
        // What was heard before costs nothing.
        let mut outcomes: Vec<Outcome> = arrived
            .iter()
            .map(|(_, signed)| match self.knows(signed) {
                true => Outcome::Valid,
                false => Outcome::Skipped,
            })
            .collect();
        let new: Vec<usize> = (0..arrived.len())
            .filter(|&at| outcomes[at] == Outcome::Skipped)
            .collect();
        let verdicts = self
            .verifier
            .verify_by(&new, |_, &at| arrived[at].1.as_item());
        // The projection above does not panic.
        let verdicts = verdicts.unwrap_or_else(|panicked| *panicked.report);
        for (&at, &outcome) in new.iter().zip(verdicts.outcomes()) {
            outcomes[at] = outcome;
            if outcome.is_valid() {
                self.remember(&arrived[at].1);
            }
        }
        Some(outcomes)
    }

    fn knows(&self, signed: &Signed) -> bool {
        let known = self.known.get(signed.claim.by.0 as usize);
        known.and_then(|known| known.get(&signed.claim)) == Some(&signed.signature)
    }

    fn verify(&mut self, signed: &Signed) -> bool {
        let valid = self.verifier.verify_one(signed.as_item()).is_valid();
        if valid {
            self.remember(signed);
        }
        valid
    }

    fn quorum(
        &mut self,
        votes: &[Signed],
        threshold: Threshold,
    ) -> (Result<(), QuorumError>, usize) {
        if votes.iter().all(|vote| self.knows(vote)) {
            return (self.committee.counts(votes, threshold), 0);
        }
        let (verifier, weights) = (&self.verifier, &self.committee.weights);
        let (policy, duplicates) = (Policy::Strict, Duplicates::Reject);
        let verdict = super::quorum(votes, |subject, votes| {
            verifier.verify_quorum(subject, votes, weights, threshold, policy, duplicates)
        });
        (verdict, votes.len())
    }

    fn tally(&mut self, votes: &[Signed]) -> (Result<u128, QuorumError>, usize) {
        let (verifier, weights) = (&self.verifier, &self.committee.weights);
        let verdict = super::tally(votes, |subjects, votes| {
            verifier.tally(subjects, votes, weights, Duplicates::Reject)
        });
        (verdict, votes.len())
    }

    fn forget(&mut self, below: Height) {
        for known in &mut self.known {
            known.retain(|claim, _| claim.height >= below);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use batch_verify::{KeySet, Weights};
    use harness::{Meter, Strategy};
    use mldsa_core::{MlDsa44, SigningKey};

    use super::*;
    use crate::chain::Address;
    use crate::scheme::Signer;

    /// A member signs for heights that nobody reaches: its own place is full, and no other's.
    #[test]
    fn a_member_fills_its_own_place_only() {
        let keys = [1, 2].map(|n| SigningKey::<MlDsa44>::from_seed(&[n; 32]));
        let public = keys
            .iter()
            .map(|key| key.verifying_key().as_bytes().as_slice());
        let committee = Committee {
            keys: KeySet::<MlDsa44>::from_public_keys(public).unwrap(),
            weights: Arc::new(Weights::equal(2)),
        };
        let mut together = Batched::new(committee);
        let signed = |by: usize, height: u64| {
            let signer = Signer::new(&keys[by], Strategy::Batched, Arc::new(Meter::default()));
            let bytes = height.to_le_bytes().to_vec();
            let signature = signer.sign(&bytes);
            Signed::new(Address(by as u32), Height(height), bytes, &signature)
        };
        let flood: Vec<_> = (0..3 * EACH as u64)
            .map(|n| (0, signed(0, 1000 + n)))
            .collect();
        let outcomes = together.arrived(&flood).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.is_valid()));
        assert_eq!(together.known[0].len(), EACH);
        let honest = signed(1, 1);
        assert!(together.verify(&honest) && together.knows(&honest));
        // The same claim with another signature is not known.
        let forged = Signed {
            signature: Signature::from(&[0; 2420][..]),
            ..honest.clone()
        };
        assert!(!together.knows(&forged) && !together.verify(&forged));
        together.forget(Height(2000));
        assert!(together.known.iter().all(HashMap::is_empty));
    }
}
