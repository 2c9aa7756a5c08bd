//! What is asked of an intake by somebody who waits: from memory, or verified now, on the
//! asking thread. Nothing of it stands in the queue, and no limit refuses it.

use core::time::Duration;
use std::time::Instant;

use mldsa_core::ParameterSet;

use super::{Intake, IntakeError, Origin, Shared};
use crate::memory::Recalled;
use crate::quorum::Rule;
use crate::schedule::{LANES, Request};
use crate::{
    BatchVerifier, Duplicates, Item, Outcome, Policy, QuorumError, QuorumReport, Subject, Tally,
    Threshold, Vote, VoteFor, Weights,
};

impl<P: ParameterSet> Intake<P> {
    /// The verdict on one item, now: from memory, or verified on this thread,
    /// together with a few that wait if any do. For engines that ask for one vote
    /// and wait. It is not refused for any limit.
    pub fn verify(&self, item: Item<'_>) -> Outcome {
        let shared = &*self.0;
        let verifier = shared.verifier.current();
        let recalled = shared.memory.recall(&verifier.judge, &item);
        // As many as share lanes with it.
        let waiting = shared.cut(|state| {
            state.stats.items += 1;
            match recalled {
                Recalled::Valid => Vec::new(),
                Recalled::Nothing(_) => state.queue.cut(LANES - 1),
            }
        });
        let Recalled::Nothing(sought) = recalled else {
            shared.tell(Origin::default(), Ok(Outcome::Valid), Duration::ZERO, true);
            return Outcome::Valid;
        };
        let outcome = if waiting.is_empty() {
            let start = Instant::now();
            let outcome = verifier.verify_one(item);
            shared.verified(&verifier, 1, 0, Duration::ZERO, Duration::ZERO, start);
            outcome
        } else {
            shared.run(Some((&verifier, item)), waiting)
        };
        if let Some(sought) = sought
            && outcome.is_valid()
        {
            shared.memory.keep(&sought, &item);
        }
        shared.tell(Origin::default(), Ok(outcome), Duration::ZERO, false);
        outcome
    }

    /// The verdicts on several items, now, in their order: from memory, and on the others
    /// in one batch of the verifier's executor, in which this thread takes part. For
    /// engines that look at all that has arrived before they go on. No item is refused
    /// for any limit, and the bytes of those that turn out valid are all that is copied.
    /// Equal items share one place in a lane, and each counts as verified.
    pub fn verify_items<'a>(&self, items: impl IntoIterator<Item = Item<'a>>) -> Vec<Outcome> {
        let items: Vec<Item<'a>> = items.into_iter().collect();
        let verifier = self.0.verifier.current();
        // Equal votes share a verdict, whatever the verifier does with repeats.
        let request = Request {
            duplicates: Some(Duplicates::Once),
            ..Request::FULL
        };
        self.0.verify_known(&verifier, request, &items)
    }

    /// [`BatchVerifier::verify_quorum`] with a memory: votes that were found valid before
    /// are not verified again, so that a certificate of votes that have been seen costs
    /// their look-up; those that are found valid now are remembered. The answer is the
    /// same.
    ///
    /// # Errors
    /// As there.
    pub fn verify_quorum<'a>(
        &self,
        subject: impl Into<Subject<'a>>,
        votes: &'a [Vote<'a>],
        weights: &Weights,
        threshold: Threshold,
        policy: Policy,
        duplicates: Duplicates,
    ) -> Result<QuorumReport, QuorumError> {
        let rule = Rule {
            weights,
            threshold,
            policy,
            duplicates,
        };
        let verifier = self.0.verifier.current();
        verifier.quorum(subject.into(), votes, rule, |request, items| {
            self.0.verify_known(&verifier, request, items)
        })
    }

    /// [`BatchVerifier::tally`] with a memory, as [`verify_quorum`](Self::verify_quorum).
    ///
    /// # Errors
    /// As there.
    pub fn tally<'a>(
        &self,
        subjects: &'a [Subject<'a>],
        votes: &'a [VoteFor<'a>],
        weights: &Weights,
        duplicates: Duplicates,
    ) -> Result<Tally, QuorumError> {
        let verifier = self.0.verifier.current();
        verifier.tally_by(subjects, votes, weights, duplicates, |request, items| {
            self.0.verify_known(&verifier, request, items)
        })
    }
}

impl<P: ParameterSet> Shared<P> {
    /// Verdicts on items for somebody who waits for them: from memory, and on the others as
    /// the request says, and beyond its first failure what was found. Those that nobody
    /// looked at are called off.
    fn verify_known(
        &self,
        verifier: &BatchVerifier<P>,
        request: Request<'_>,
        items: &[Item<'_>],
    ) -> Vec<Outcome> {
        let start = Instant::now();
        self.lock().stats.items += items.len() as u64;
        let mut outcomes = vec![Outcome::Valid; items.len()];
        let mut unknown = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match self.memory.recall(&verifier.judge, item) {
                Recalled::Valid => {
                    self.tell(Origin::default(), Ok(Outcome::Valid), Duration::ZERO, true);
                }
                Recalled::Nothing(sought) => unknown.push((index, sought)),
            }
        }
        if unknown.is_empty() {
            return outcomes;
        }
        // What is valid is remembered, wherever it stands.
        let request = Request {
            as_found: true,
            ..request
        };
        let (verdicts, _) = verifier.outcomes(&unknown, |_, (index, _)| items[*index], request);
        let skipped = |outcome: &&Outcome| **outcome == Outcome::Skipped;
        let called_off = verdicts.iter().filter(skipped).count();
        let verified = verdicts.len() - called_off;
        let (waited, longest) = (Duration::ZERO, Duration::ZERO);
        self.verified(verifier, verified, called_off, waited, longest, start);
        for ((index, sought), outcome) in unknown.into_iter().zip(verdicts) {
            outcomes[index] = outcome;
            let answer = match outcome {
                Outcome::Skipped => Err(IntakeError::Cancelled),
                outcome => Ok(outcome),
            };
            if let Some(sought) = sought
                && outcome.is_valid()
            {
                self.memory.keep(&sought, &items[index]);
            }
            self.tell(Origin::default(), answer, Duration::ZERO, false);
        }
        outcomes
    }
}
