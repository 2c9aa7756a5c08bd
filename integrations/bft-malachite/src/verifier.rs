//! What verifies for a door: the same questions, three ways to answer them.

mod per_vote;
mod cached;
mod batched;

use std::collections::BTreeMap;
use std::sync::Arc;

use batch_verify::{
    KeySet, Outcome, QuorumError, QuorumReport, SignerId, Subject, Tally, Threshold, Vote, VoteFor,
    Weights,
};
use mldsa_core::ParameterSet;

use crate::chain::{Address, Height};
use crate::message::Signed;
use crate::mode::Mode;

/// Answers what the door asks.
pub(crate) trait Verifier {
    /// Verifier on all that has arrived, each with the peer who sent it; `None` if this one waits
    /// until the engine asks.
    fn arrived(&mut self, arrived: &[(u64, Signed)]) -> Option<Vec<Outcome>>;

    /// Whether this has been verified before, and is valid.
    fn knows(&self, signed: &Signed) -> bool;

    /// Whether one signature is valid.
    fn verify(&mut self, signed: &Signed) -> bool;

    /// Whether `votes`, which are for one message, reach `threshold`, all of them valid and each by
    /// somebody else; and how many had to be verified.
    fn quorum(
        &mut self,
        votes: &[Signed],
        threshold: Threshold,
    ) -> (Result<(), QuorumError>, usize);

    /// The weight of those who have signed anything, if all of it is valid; and how many had to be
    /// verified.
    fn tally(&mut self, votes: &[Signed]) -> (Result<u128, QuorumError>, usize);

    /// Nothing below this height will be asked for.
    fn forget(&mut self, below: Height);
}

/// Who can be believed, and how much.
#[derive(Clone, Debug)]
pub(crate) struct Committee<P: ParameterSet> {
    pub(crate) keys: KeySet<P>,
    pub(crate) weights: Arc<Weights>,
}

impl<P: ParameterSet> Committee<P> {
    /// What verifies for one of its members.
    pub(crate) fn verdicts(self, way: Mode) -> Box<dyn Verifier> {
        match way {
            Mode::Batched => Box::new(batched::Batched::new(self)),
            Mode::Intake => Box::new(cached::Cached::new(self)),
            Mode::PerVote | Mode::ColdKeys | Mode::AwsLc => {
                Box::new(per_vote::PerVote::new(self, way.how()))
            }
        }
    }

    fn weight(&self, by: Address) -> u128 {
        self.weights.of(SignerId::new(by.0))
    }

    /// What [`verify_quorum`](batch_verify::BatchVerifier::verify_quorum) checks before any
    /// cryptography under its strict policy: for votes that need none, or one at a time.
    fn counts(&self, votes: &[Signed], threshold: Threshold) -> Result<(), QuorumError> {
        let mut seen = BTreeMap::new();
        for (vote, signed) in votes.iter().enumerate() {
            let by = signed.claim.by;
            if self.keys.key(SignerId::new(by.0)).is_none() {
                return Err(QuorumError::UnknownSigner { vote });
            }
            if let Some(first) = seen.insert(by, vote) {
                let second = vote;
                return Err(QuorumError::Contradiction { first, second });
            }
        }
        let weight = votes.iter().map(|vote| self.weight(vote.claim.by)).sum();
        if weight < threshold.weight() {
            return Err(QuorumError::Insufficient {
                needed: threshold.weight(),
                claimed: weight,
                verified: 0,
            });
        }
        Ok(())
    }
}

/// Whether `votes`, which are for one message, are a quorum by what `ask` says of them.
fn quorum(
    votes: &[Signed],
    ask: impl FnOnce(Subject<'_>, &[Vote<'_>]) -> Result<QuorumReport, QuorumError>,
) -> Result<(), QuorumError> {
    let bytes = votes.first().map_or(&[][..], |vote| &vote.claim.bytes);
    let votes: Vec<Vote<'_>> = votes.iter().map(Signed::as_vote).collect();
    ask(bytes.into(), &votes).map(drop)
}

/// The weight of those who have signed anything, by what `ask` says of `votes`.
fn tally(
    votes: &[Signed],
    ask: impl FnOnce(&[Subject<'_>], &[VoteFor<'_>]) -> Result<Tally, QuorumError>,
) -> Result<u128, QuorumError> {
    let mut messages: Vec<&[u8]> = votes.iter().map(|vote| &vote.claim.bytes[..]).collect();
    messages.sort_unstable();
    messages.dedup();
    let subjects: Vec<Subject<'_>> = messages.iter().map(|&bytes| bytes.into()).collect();
    let votes: Vec<VoteFor<'_>> = votes
        .iter()
        .map(|vote| VoteFor {
            subject: messages.partition_point(|message| *message < &vote.claim.bytes[..]),
            vote: vote.as_vote(),
        })
        .collect();
    let tally = ask(&subjects, &votes)?;
    match tally.invalid.first() {
        Some(&(vote, reason)) => Err(QuorumError::Invalid { vote, reason }),
        None => Ok(tally.distinct),
    }
}
