//! Quorums through a service: cached votes are not verified again.

use core::cell::Cell;
use core::sync::atomic::Ordering;
use std::sync::Arc;

use mldsa_core::ParameterSet;

use super::queue::Push;
use super::sync::AtomicBool;
use super::{Pending, ServiceError, Source, VerificationService};
use crate::batch::Mode;
use crate::quorum::Quorum;
use crate::{Committee, MemberId, Message, QuorumError, QuorumReport, QuorumRule, Threshold, Vote};

/// Bytes of a queued quorum, and of each of its votes, without messages and signatures.
const QUORUM_BYTES: usize = 256;
const VOTE_BYTES: usize = 64;

impl<P: ParameterSet> VerificationService<P> {
    /// [`CommitteeVerifier::verify_quorum`](crate::CommitteeVerifier::verify_quorum) in
    /// `committee`, which need not be retained: certificates of earlier epochs are checked by
    /// the committees of those epochs.
    ///
    /// # Errors
    /// Every [`QuorumError`] but `Abandoned`.
    pub fn verify_quorum<'a>(
        &self,
        committee: &Committee<P>,
        message: impl Into<Message<'a>>,
        votes: &[(MemberId, &'a [u8])],
        rule: QuorumRule,
    ) -> Result<QuorumReport, QuorumError> {
        self.verify_threshold(committee, message, votes, rule, committee.threshold())
    }

    /// [`verify_quorum`](Self::verify_quorum) against another threshold.
    ///
    /// # Errors
    /// Every [`QuorumError`] but `Abandoned`.
    pub fn verify_threshold<'a>(
        &self,
        committee: &Committee<P>,
        message: impl Into<Message<'a>>,
        votes: &[(MemberId, &'a [u8])],
        rule: QuorumRule,
        threshold: Threshold,
    ) -> Result<QuorumReport, QuorumError> {
        let message = message.into();
        self.count_quorum(committee, message, votes, rule, threshold, None)
            .0
    }

    /// The answer, and whether all of the signatures that were verified for it are valid: `None`
    /// if there were none, because the votes are cached or too few. `after_batch` is called after
    /// each batch.
    fn count_quorum<'a>(
        &self,
        committee: &Committee<P>,
        message: Message<'a>,
        votes: &[(MemberId, &'a [u8])],
        rule: QuorumRule,
        threshold: Threshold,
        after_batch: Option<&dyn Fn()>,
    ) -> (Result<QuorumReport, QuorumError>, Option<bool>) {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!("verify_quorum", votes = votes.len()).entered();
        let are_valid = Cell::new(None);
        let quorum = Quorum {
            committee,
            votes,
            threshold,
            workers: self.shared().scheduler.pool.workers(),
        };
        let at_once = after_batch.map_or(usize::MAX, |_| self.shared().batch);
        let answer = quorum.verify(rule, &|mode, indices| {
            let mut verdicts = Vec::with_capacity(indices.len());
            for indices in indices.chunks(at_once) {
                let votes = indices.iter().map(|&index| votes[index]);
                let votes = votes.map(|(member, signature)| Vote::new(member, message, signature));
                let votes: Vec<Vote<'_>> = votes.collect();
                let report = self.report(core::slice::from_ref(committee), mode, &votes);
                let all_valid = report.rejected().next().is_none();
                if report.threads > 0 {
                    are_valid.set(Some(all_valid && are_valid.get() != Some(false)));
                }
                verdicts.extend(report.verdicts);
                if !all_valid && mode == Mode::FirstInvalid {
                    break;
                }
                if let Some(after_batch) = after_batch {
                    after_batch();
                }
            }
            verdicts
        });
        (answer, are_valid.get())
    }

    /// [`verify_quorum`](Self::verify_quorum) on a worker of the service, a batch at a time in
    /// turn with batches of queued votes: the same answer, later, or [`QuorumError::Abandoned`].
    /// Votes are moved, and the message is shared by all. Dropping the answer cancels the quorum,
    /// unless it is being verified.
    ///
    /// Quorums have a queue of their own that is bounded and as fair to peers as that of votes;
    /// `source` names the sender, a suspect if signatures are invalid and the valid ones are no
    /// quorum. Its priority and the rate limiter are not used.
    ///
    /// # Errors
    /// [`ServiceError::QueueFull`], [`ServiceError::ShuttingDown`],
    /// [`ServiceError::Abandoned`].
    pub fn submit_quorum(
        &self,
        source: Source,
        committee: &Committee<P>,
        message: impl Into<Arc<[u8]>>,
        votes: Vec<(MemberId, Box<[u8]>)>,
        rule: QuorumRule,
    ) -> Result<Pending<Result<QuorumReport, QuorumError>>, ServiceError> {
        let message = message.into();
        let (reply, receiver) = oneshot::channel();
        let (service, committee) = (self.weak(), committee.clone());
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancelled);
        let bytes = votes.iter().map(|(_, vote)| vote.len() + VOTE_BYTES);
        let bytes = bytes.sum::<usize>() + message.len() + QUORUM_BYTES;
        let run = move |after_batch: &dyn Fn()| {
            // A service without handles has no receiver of an answer.
            let Some(service) = service() else {
                return;
            };
            if flag.load(Ordering::Relaxed) {
                return;
            }
            let votes: Vec<(MemberId, &[u8])> = votes
                .iter()
                .map(|(member, signature)| (*member, &**signature))
                .collect();
            let (message, threshold) = ((&*message).into(), committee.threshold());
            let (answer, are_valid) = service.count_quorum(
                &committee,
                message,
                &votes,
                rule,
                threshold,
                Some(after_batch),
            );
            if are_valid == Some(answer.is_ok()) {
                service.shared().on_verified(source.peer, answer.is_ok());
            }
            let _ = reply.send(answer);
        };
        if self.shared().is_forked() {
            return Err(ServiceError::Abandoned);
        }
        let shared = self.shared();
        let mut state = shared.lock();
        state.open()?;
        let pushed = state.push_job(source.peer, bytes, Box::new(run));
        drop(state);
        match pushed {
            Push::Queued(evicted) => shared.abandon_jobs(evicted),
            Push::Full(job) => {
                shared.abandon_jobs(vec![job]);
                return Err(ServiceError::QueueFull);
            }
        }
        shared.notify();
        let pending = shared.pending(receiver, || Err(QuorumError::Abandoned));
        Ok(pending.with_flag(cancelled))
    }
}
