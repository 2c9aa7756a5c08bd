//! Quorums through a service: cached votes are not verified again.

use core::sync::atomic::Ordering;
use std::sync::Arc;

use mldsa_core::ParameterSet;

use super::queued_quorum::{OpenCount, QueuedQuorum, quorum_bytes};
use super::state::ServiceState;
use super::sync::AtomicBool;
use super::{Pending, ServiceError, Source, VerificationService};
use crate::quorum::count;
use crate::{Committee, MemberId, Message, QuorumError, QuorumReport, QuorumRule, Vote};

impl<P: ParameterSet> VerificationService<P> {
    /// Counts votes as
    /// [`CommitteeVerifier::verify_quorum`](crate::CommitteeVerifier::verify_quorum) does, in
    /// `committee`, which need not be retained: certificates of earlier epochs are checked by
    /// the committees of those epochs. Cached votes are not verified again.
    ///
    /// # Errors
    /// Every [`QuorumError`] except `Abandoned`.
    pub fn verify_quorum<'a>(
        &self,
        committee: &Committee<P>,
        message: impl Into<Message<'a>>,
        votes: &[(MemberId, &'a [u8])],
        rule: QuorumRule,
    ) -> Result<QuorumReport, QuorumError> {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!("verify_quorum", votes = votes.len()).entered();
        self.shared().quorums.fetch_add(1, Ordering::Relaxed);
        let message = message.into();
        let workers = self.shared().scheduler.pool.workers();
        let mut count = count(committee, votes, rule, committee.threshold(), workers)?;
        while !count.wanted().is_empty() {
            let wanted = count.wanted().iter().map(|&vote| votes[vote]);
            let wanted = wanted.map(|(member, signature)| Vote::new(member, message, signature));
            let wanted: Vec<Vote<'_>> = wanted.collect();
            let report = self.report(core::slice::from_ref(committee), count.mode(), &wanted);
            count.take(&report.verdicts);
        }
        count.answer()
    }

    /// Submits a quorum, which a worker of the service counts: the answer is that of
    /// [`verify_quorum`](Self::verify_quorum), later, or [`QuorumError::Abandoned`]. Ids,
    /// duplicates and claimed weights are checked at once, and the rate limiter is asked before.
    /// Votes are moved, and the message is shared by all. Dropping the answer cancels the quorum.
    ///
    /// Quorums have a queue of their own that is bounded and as fair to peers as that of votes. A
    /// worker verifies at most eight signatures of a quorum, fewer if the message is long, or frees
    /// 64 votes of one that has ended, then verifies a batch of queued votes, then a slice of the
    /// next peer's quorum. `source` names the sender; its priority only tells how long the votes
    /// stay in the cache. The rate limiter is asked once for all bytes and gets every verdict.
    ///
    /// # Errors
    /// [`ServiceError::TooLarge`] for a message above
    /// [`max_message_bytes`](super::ServiceBuilder::max_message_bytes), and for a peer's quorum of
    /// more than two votes a member or more than an eighth of
    /// [`queue_bytes`](super::ServiceBuilder::queue_bytes);
    /// [`ServiceError::PeerBudget`], [`ServiceError::HookPanicked`], [`ServiceError::QueueFull`],
    /// [`ServiceError::ShuttingDown`], [`ServiceError::Abandoned`].
    pub fn submit_quorum(
        &self,
        source: Source,
        committee: &Committee<P>,
        message: impl Into<Arc<[u8]>>,
        votes: Vec<(MemberId, Box<[u8]>)>,
        rule: QuorumRule,
    ) -> Result<Pending<Result<QuorumReport, QuorumError>>, ServiceError> {
        let (shared, message) = (self.shared(), message.into());
        shared.quorums.fetch_add(1, Ordering::Relaxed);
        if shared.closed.load(Ordering::Relaxed) {
            return Err(shared.refuse(ServiceError::ShuttingDown));
        }
        if message.len() > shared.max_message_bytes {
            return Err(shared.refuse(ServiceError::TooLarge));
        }
        if source.peer.is_some() && votes.len() > 2 * committee.len() {
            return Err(shared.refuse(ServiceError::TooLarge));
        }
        let signatures = votes.iter().map(|(_, signature)| signature.len()).sum();
        let bytes = quorum_bytes(committee, message.len(), votes.len(), signatures);
        // Before the count, so that an answer that is known at once has a price too.
        shared.acquire(source.peer, bytes)?;
        let (reply, receiver) = oneshot::channel();
        let pending = Pending::new(receiver, || Err(QuorumError::Abandoned));
        let count = match count(committee, &votes, rule, committee.threshold(), 1) {
            Ok(count) if !count.wanted().is_empty() => count,
            known => {
                shared.limit(source.peer, |limiter, peer| limiter.release(peer, bytes));
                let _ = reply.send(known.and_then(|count| count.answer()));
                return Ok(pending);
            }
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        let mut quorum = Box::new(QueuedQuorum {
            committee: committee.clone(),
            message,
            votes,
            source,
            bytes,
            cancelled: Arc::clone(&cancelled),
            open: Some(OpenCount { count, reply }),
            generation: 0,
        });
        let mut state = shared.lock();
        quorum.generation = state.accept();
        let admitted = state.admit(quorum, |quorum| quorum.is_open(), ServiceState::push_quorum);
        drop(state);
        match admitted {
            Ok(evicted) => {
                shared.end_quorums(evicted);
                shared.work.notify_one();
                Ok(pending.with_flag(cancelled))
            }
            Err((error, quorum)) => {
                shared.end_quorums([quorum]);
                Err(error)
            }
        }
    }
}
