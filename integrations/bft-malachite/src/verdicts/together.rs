//! One call for all that has arrived, and a memory that shares the engine's bytes.

use std::collections::HashMap;

use batch_verify::{BatchVerifier, Duplicates, Outcome, Policy, QuorumError, Threads, Threshold};
use mldsa_core::ParameterSet;

use super::{Committee, Verdicts};
use crate::chain::Height;
use crate::message::{Claim, Signed};
use crate::scheme::{CONTEXT, Signature};

/// A [`BatchVerifier`] and what it has found valid.
pub(super) struct Together<P: ParameterSet> {
    committee: Committee<P>,
    verifier: BatchVerifier<P>,
    known: HashMap<Claim, Signature>,
}

/// Signatures of each member that are remembered. Honest members sign a few at a height; what
/// others sign for heights to come must not fill the memory.
const EACH: usize = 16;

impl<P: ParameterSet> Together<P> {
    pub(super) fn new(committee: Committee<P>) -> Self {
        let verifier = BatchVerifier::builder()
            .keys(committee.keys.clone())
            .context(CONTEXT)
            .threads(Threads::Inline)
            .build()
            .expect("a short context");
        Self {
            committee,
            verifier,
            known: HashMap::new(),
        }
    }

    fn remember(&mut self, signed: &Signed) {
        if self.known.len() < EACH * self.committee.keys.len() {
            let Signed { claim, signature } = signed.clone();
            self.known.insert(claim, signature);
        }
    }
}

impl<P: ParameterSet> Verdicts for Together<P> {
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
        self.known.get(&signed.claim) == Some(&signed.signature)
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
        let listed: Vec<_> = votes.iter().map(Signed::as_vote).collect();
        let bytes = votes.first().map_or(&[][..], |vote| &vote.claim.bytes);
        let weights = &self.committee.weights;
        let (policy, duplicates) = (Policy::Strict, Duplicates::Reject);
        let verdict = self
            .verifier
            .verify_quorum(bytes, &listed, weights, threshold, policy, duplicates);
        (verdict.map(drop), votes.len())
    }

    fn tally(&mut self, votes: &[Signed]) -> Result<u128, QuorumError> {
        super::tally(&self.verifier, &self.committee.weights, votes)
    }

    fn forget(&mut self, below: Height) {
        self.known.retain(|claim, _| claim.height >= below);
    }
}
