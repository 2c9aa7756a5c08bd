//! Quorums through a service: cached votes are not verified again.

use std::sync::Arc;

use mldsa_core::ParameterSet;

use super::state::MAX_JOBS;
use super::{PendingQuorum, ServiceError, VerificationService};
use crate::batch::Mode;
use crate::quorum::{Quorum, tally};
use crate::{
    Attestation, Committee, MemberId, Message, QuorumError, QuorumReport, QuorumRule, Tally,
    Threshold, Vote,
};

impl<P: ParameterSet> VerificationService<P> {
    /// [`CommitteeVerifier::verify_quorum`](crate::CommitteeVerifier::verify_quorum) in
    /// `committee`, which need not be retained: certificates of earlier epochs are checked by
    /// the committees of those epochs.
    ///
    /// # Errors
    /// Every [`QuorumError`] but `UnknownSubject`.
    pub fn verify_quorum<'a>(
        &self,
        committee: &Committee<P>,
        message: impl Into<Message<'a>>,
        votes: &[Attestation<'a>],
        rule: QuorumRule,
    ) -> Result<QuorumReport, QuorumError> {
        self.verify_threshold(committee, message, votes, rule, committee.threshold())
    }

    /// [`verify_quorum`](Self::verify_quorum) against another threshold.
    ///
    /// # Errors
    /// Every [`QuorumError`] but `UnknownSubject`.
    pub fn verify_threshold<'a>(
        &self,
        committee: &Committee<P>,
        message: impl Into<Message<'a>>,
        votes: &[Attestation<'a>],
        rule: QuorumRule,
        threshold: Threshold,
    ) -> Result<QuorumReport, QuorumError> {
        let message = message.into();
        let committees: Arc<[Committee<P>]> = Arc::new([committee.clone()]);
        let quorum = Quorum {
            committee,
            votes,
            threshold,
            workers: self.shared().engine.pool.workers(),
        };
        quorum.verify(rule, &|mode, indices| {
            let votes = indices.iter().map(|&index| votes[index].vote(message));
            let votes: Vec<Vote<'_>> = votes.collect();
            self.report(&committees, mode, &votes).verdicts
        })
    }

    /// [`CommitteeVerifier::tally`](crate::CommitteeVerifier::tally) in `committee`.
    ///
    /// # Errors
    /// [`QuorumError::UnknownSubject`].
    pub fn tally<'a>(
        &self,
        committee: &Committee<P>,
        subjects: &[Message<'a>],
        votes: &[(usize, Attestation<'a>)],
    ) -> Result<Tally, QuorumError> {
        let committees: Arc<[Committee<P>]> = Arc::new([committee.clone()]);
        tally(committee, subjects, votes, |votes| {
            self.report(&committees, Mode::Full, votes).verdicts
        })
    }

    /// [`verify_quorum`](Self::verify_quorum) on a worker of the service, before queued votes:
    /// the same answer, later. Votes are moved, and the message is shared by all.
    ///
    /// # Errors
    /// [`ServiceError::QueueFull`] if 64 quorums wait, [`ServiceError::ShuttingDown`],
    /// [`ServiceError::Abandoned`].
    pub fn submit_quorum(
        &self,
        committee: &Committee<P>,
        message: impl Into<Arc<[u8]>>,
        votes: Vec<(MemberId, Box<[u8]>)>,
        rule: QuorumRule,
    ) -> Result<PendingQuorum, ServiceError> {
        let message = message.into();
        let (reply, receiver) = oneshot::channel();
        let (service, committee) = (self.weak(), committee.clone());
        let run = move || {
            // A service without handles has no one to answer.
            let Some(service) = service.upgrade() else {
                return;
            };
            let votes: Vec<Attestation<'_>> = votes
                .iter()
                .map(|(member, signature)| Attestation::new(*member, signature))
                .collect();
            let answer = service.verify_quorum(&committee, &*message, &votes, rule);
            let _ = reply.send(answer);
        };
        let mut state = self.shared().lock();
        if state.closed {
            return Err(ServiceError::ShuttingDown);
        }
        if !state.has_workers() {
            return Err(ServiceError::Abandoned);
        }
        if state.jobs.len() >= MAX_JOBS {
            return Err(ServiceError::QueueFull);
        }
        state.push_job(Box::new(run));
        drop(state);
        self.shared().notify();
        Ok(PendingQuorum::new(receiver))
    }
}
