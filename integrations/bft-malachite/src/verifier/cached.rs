//! The library's intake, which verifies together what it does not remember.

use std::sync::Arc;

use batch_verify::{
    BatchVerifier, Duplicates, Intake, IntakeLimits, Outcome, Policy, QuorumError, Threads,
    Threshold, Weights,
};
use mldsa_core::ParameterSet;

use super::{Committee, Verifier};
use crate::chain::Height;
use crate::message::Signed;
use crate::scheme::CONTEXT;

/// An [`Intake`] on the engine's own thread.
pub(super) struct Cached<P: ParameterSet> {
    intake: Intake<P>,
    weights: Arc<Weights>,
}

impl<P: ParameterSet> Cached<P> {
    pub(super) fn new(committee: Committee<P>) -> Self {
        let limits = IntakeLimits {
            // The votes of a height or two: what is decided is not asked for again.
            memory_bytes: 4 * committee.keys.len() * (P::SIG_LEN + 512),
            ..IntakeLimits::default()
        };
        let verifier = BatchVerifier::builder()
            .keys(committee.keys)
            .context(CONTEXT)
            .threads(Threads::Inline)
            .build()
            .expect("a short context");
        Self {
            intake: Intake::new(verifier, limits),
            weights: committee.weights,
        }
    }

    /// The answer, and how many had to be verified for it.
    fn counted<R>(&self, ask: impl FnOnce(&Intake<P>) -> R) -> (R, usize) {
        let before = self.intake.stats().verified;
        let answer = ask(&self.intake);
        (answer, (self.intake.stats().verified - before) as usize)
    }
}

impl<P: ParameterSet> Verifier for Cached<P> {
    fn arrived(&mut self, arrived: &[(u64, Signed)]) -> Option<Vec<Outcome>> {
        let items = arrived.iter().map(|(_, signed)| signed.as_item());
        Some(self.intake.verify_items(items))
    }

    fn knows(&self, signed: &Signed) -> bool {
        self.intake.remembers(signed.as_item())
    }

    fn verify(&mut self, signed: &Signed) -> bool {
        self.intake.verify(signed.as_item()).is_valid()
    }

    fn quorum(
        &mut self,
        votes: &[Signed],
        threshold: Threshold,
    ) -> (Result<(), QuorumError>, usize) {
        let (policy, duplicates) = (Policy::Strict, Duplicates::Reject);
        self.counted(|intake| {
            super::quorum(votes, |subject, votes| {
                intake.verify_quorum(subject, votes, &self.weights, threshold, policy, duplicates)
            })
        })
    }

    fn tally(&mut self, votes: &[Signed]) -> (Result<u128, QuorumError>, usize) {
        self.counted(|intake| {
            super::tally(votes, |subjects, votes| {
                intake.tally(subjects, votes, &self.weights, Duplicates::Reject)
            })
        })
    }

    /// The oldest leave when others come.
    fn forget(&mut self, _: Height) {}
}
