//! One signature at a time, when the engine asks.

use batch_verify::{Outcome, QuorumError, Reason, SignerId, Threshold};
use harness::Strategy;
use mldsa_core::{Context, ParameterSet};

use super::{Committee, Verifier};
use crate::chain::Height;
use crate::message::Signed;
use crate::scheme::CONTEXT;

/// No memory, no batches.
pub(super) struct PerVote<P: ParameterSet> {
    committee: Committee<P>,
    how: Strategy,
}

impl<P: ParameterSet> PerVote<P> {
    pub(super) fn new(committee: Committee<P>, how: Strategy) -> Self {
        Self { committee, how }
    }
}

impl<P: ParameterSet> Verifier for PerVote<P> {
    fn arrived(&mut self, _: &[(u64, Signed)]) -> Option<Vec<Outcome>> {
        None
    }

    fn knows(&self, _: &Signed) -> bool {
        false
    }

    fn verify(&mut self, signed: &Signed) -> bool {
        let keys = &self.committee.keys;
        let (bytes, signature) = (&signed.claim.bytes[..], signed.signature.as_ref());
        let signer = SignerId::new(signed.claim.by.0);
        let context = Context::new(CONTEXT).expect("a short context");
        self.how.verify_one(keys, signer, context, bytes, signature)
    }

    fn quorum(
        &mut self,
        votes: &[Signed],
        threshold: Threshold,
    ) -> (Result<(), QuorumError>, usize) {
        if let Err(error) = self.committee.counts(votes, threshold) {
            return (Err(error), 0);
        }
        match votes.iter().position(|vote| !self.verify(vote)) {
            Some(vote) => (Err(invalid(vote)), vote + 1),
            None => (Ok(()), votes.len()),
        }
    }

    fn tally(&mut self, votes: &[Signed]) -> (Result<u128, QuorumError>, usize) {
        if let Some(vote) = votes.iter().position(|vote| !self.verify(vote)) {
            return (Err(invalid(vote)), vote + 1);
        }
        let mut signers: Vec<_> = votes.iter().map(|vote| vote.claim.by).collect();
        signers.sort_unstable();
        signers.dedup();
        let weight = signers.iter().map(|by| self.committee.weight(*by)).sum();
        (Ok(weight), votes.len())
    }

    fn forget(&mut self, _: Height) {}
}

fn invalid(vote: usize) -> QuorumError {
    let reason = Reason::Other;
    QuorumError::Invalid { vote, reason }
}
