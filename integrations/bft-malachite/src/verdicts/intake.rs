//! The library's intake, which queues, verifies and remembers.

use core::mem;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use batch_verify::{
    AsyncIntake, BatchVerifier, CallerPool, Duplicates, Intake, IntakeLimits, Origin, Outcome,
    OwnedItem, OwnedQuorum, OwnedSubject, OwnedVote, Policy, Priority, QuorumError, QuorumFailure,
    Reason, Subject, Threads, Threshold,
};
use futures::executor::block_on;
use mldsa_core::ParameterSet;

use super::{Committee, Verdicts};
use crate::chain::Height;
use crate::message::Signed;
use crate::scheme::CONTEXT;

/// An [`Intake`] on the engine's own thread.
pub(super) struct Remembered<P: ParameterSet> {
    committee: Committee<P>,
    intake: AsyncIntake<P>,
    jobs: Jobs,
}

impl<P: ParameterSet> Remembered<P> {
    pub(super) fn new(committee: Committee<P>) -> Self {
        let jobs = Jobs::default();
        let verifier = BatchVerifier::builder()
            .keys(committee.keys.clone())
            .context(CONTEXT)
            .threads(jobs.threads())
            .build()
            .expect("a short context");
        let limits = IntakeLimits {
            // The votes of a few heights: what is decided is not asked for again.
            memory_bytes: 16 * committee.keys.len() * (P::SIG_LEN + 512),
            ..IntakeLimits::default()
        };
        Self {
            committee,
            intake: AsyncIntake::new(Intake::new(verifier, limits)),
            jobs,
        }
    }

    fn verified(&self) -> u64 {
        self.intake.intake().stats().verified
    }
}

impl<P: ParameterSet> Verdicts for Remembered<P> {
    fn arrived(&mut self, arrived: &[(u64, Signed)]) -> Option<Vec<Outcome>> {
        let submit = |(peer, signed): &(u64, Signed)| {
            let origin = Origin::peer(*peer, Priority::OwnRound);
            self.intake
                .try_submit(origin, OwnedItem::from(signed.as_item()))
        };
        let pending: Vec<_> = arrived.iter().map(submit).collect();
        self.jobs.run();
        // All have been answered by now; what found no place is refused.
        let answer = |pending: Result<batch_verify::Pending<P>, _>| {
            let answer = pending.and_then(|pending| pending.wait());
            answer.unwrap_or(Outcome::Invalid(Reason::Other))
        };
        Some(pending.into_iter().map(answer).collect())
    }

    fn knows(&self, signed: &Signed) -> bool {
        self.intake.intake().remembers(signed.as_item())
    }

    fn verify(&mut self, signed: &Signed) -> bool {
        self.intake.intake().verify(signed.as_item()).is_valid()
    }

    fn quorum(
        &mut self,
        votes: &[Signed],
        threshold: Threshold,
    ) -> (Result<(), QuorumError>, usize) {
        let bytes = votes.first().map_or(&[][..], |vote| &vote.claim.bytes);
        let quorum = OwnedQuorum {
            subject: OwnedSubject::from(Subject::new(bytes)),
            votes: votes
                .iter()
                .map(|vote| OwnedVote::from(vote.as_vote()))
                .collect(),
            weights: Arc::clone(&self.committee.weights),
            threshold,
            policy: Policy::Strict,
            duplicates: Duplicates::Reject,
        };
        let before = self.verified();
        // This thread counts as one of the executor's: it does the work while it waits.
        let verdict = match block_on(self.intake.submit_quorum(Origin::default(), quorum)) {
            Ok(_) => Ok(()),
            Err(QuorumFailure::Votes(error)) => Err(error),
            // It did not answer: nobody's vote counts.
            Err(_) => Err(QuorumError::Insufficient {
                needed: threshold.weight(),
                claimed: 0,
                verified: 0,
            }),
        };
        self.jobs.run();
        (verdict, (self.verified() - before) as usize)
    }

    fn tally(&mut self, votes: &[Signed]) -> Result<u128, QuorumError> {
        let verifier = self.intake.intake().verifier();
        super::tally(&verifier, &self.committee.weights, votes)
    }

    /// The oldest leave when others come.
    fn forget(&mut self, _: Height) {}
}

/// What the intake wants done: it runs when all that has arrived is in, so that no batch begins
/// with the first vote alone.
#[derive(Clone, Default)]
struct Jobs(Arc<Mutex<VecDeque<Job>>>);

type Job = Box<dyn FnOnce() + Send>;

impl Jobs {
    fn threads(&self) -> Threads {
        let jobs = self.clone();
        CallerPool::new(1, |_, _| {})
            .spawning(move |job| jobs.with(|queue| queue.push_back(job)), || true)
            .into_threads()
    }

    fn run(&self) {
        loop {
            let jobs = self.with(mem::take);
            if jobs.is_empty() {
                return;
            }
            jobs.into_iter().for_each(|job| job());
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut VecDeque<Job>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
