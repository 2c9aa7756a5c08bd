//! Quorums through a service: cached votes are not verified again.

use core::sync::atomic::Ordering;
use std::sync::Arc;

use mldsa_core::ParameterSet;

use super::queued_quorum::{OpenCount, QueuedQuorum, quorum_bytes};
use super::state::{BATCH_MESSAGE_BYTES, ServiceState};
use super::stats::Origin;
use super::sync::AtomicBool;
use super::worker::Shared;
use super::{Pending, ServiceError, Source, VerificationService};
use crate::batch::{LANES, Resolved, RunOptions};
use crate::executor::catch;
use crate::quorum::{Count, count};
use crate::{
    Committee, MemberId, Message, QuorumError, QuorumReport, QuorumRule, RejectReason, Vote,
};

/// Votes of an ended quorum that are freed at once, which takes less time than a batch: an
/// allocator needs a millisecond for the megabytes of a large quorum.
const PIECE: usize = 64;

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

struct Slice {
    verdicts: Vec<Result<(), RejectReason>>,
    /// Indices of the votes that were verified, with their places in `verdicts`.
    verified: Vec<(usize, usize)>,
}

impl<P: ParameterSet> Shared<P> {
    /// Verifies a slice of a quorum, and answers it if its count ends. Frees a piece of one that
    /// has ended. Puts the rest back into the queue.
    pub(super) fn run_quorum(&self, mut quorum: Box<QueuedQuorum<P>>) {
        let is_cancelled = quorum.cancelled.load(Ordering::Relaxed);
        let mut is_counted = false;
        if let Some(mut open) = quorum.open.take() {
            is_counted = !is_cancelled && self.count_slice(&quorum, &mut *open.count);
            let is_open = is_counted && !open.count.wanted().is_empty();
            quorum.open = Some(open);
            if is_open {
                return self.put_back(quorum);
            }
        }
        let kept = quorum.votes.len().saturating_sub(PIECE);
        if kept == 0 {
            // Before the answer, after which the caller may look at the figures.
            self.lock().quorums.end(quorum.source.peer, quorum.bytes);
        }
        if let Some(OpenCount { count, reply }) = quorum.open.take() {
            self.lock().stats.cancelled += u64::from(is_cancelled);
            self.end_quorum(&quorum, || match is_counted {
                true => drop(reply.send(count.answer())),
                false => drop(reply),
            });
        }
        quorum.votes.truncate(kept);
        if kept > 0 {
            self.put_back(quorum);
        }
    }

    /// Puts a quorum back into the queue: one that has ended behind the others of its peer, so that
    /// they do not wait for its memory. After shutdown it ends here.
    fn put_back(&self, quorum: Box<QueuedQuorum<P>>) {
        let mut state = self.lock();
        if state.closed {
            drop(state);
            return self.end_quorums([quorum]);
        }
        let (peer, bytes, is_first) = (quorum.source.peer, quorum.bytes, quorum.is_open());
        state.quorums.put_back(peer, bytes, quorum, is_first);
    }

    /// Verifies the next slice of a quorum and counts its verdicts. Returns whether it did: a panic
    /// leaves the quorum without an answer.
    fn count_slice(&self, quorum: &QueuedQuorum<P>, count: &mut dyn Count) -> bool {
        let Some(slice) = catch(|| self.slice(quorum, count)) else {
            return false;
        };
        let Source { peer, .. } = quorum.source;
        for &(vote, place) in &slice.verified {
            let verdict = slice.verdicts[place];
            if verdict.is_ok() {
                let committees = core::slice::from_ref(&quorum.committee);
                self.cache
                    .insert(committees, &quorum.vote(vote), quorum.source);
            }
            self.limit(peer, |limiter, peer| limiter.on_verdict(peer, verdict));
        }
        let verdicts = slice.verified.iter().map(|(_, at)| slice.verdicts[*at]);
        self.count_verified(Origin::of(quorum.source), verdicts.clone());
        count.take(&slice.verdicts);
        let mut state = self.lock();
        verdicts.for_each(|verdict| state.on_verdict(peer, verdict.is_ok()));
        true
    }

    /// Verifies the next votes of a quorum that are not cached: as many as fill the lanes, or
    /// as their messages allow.
    fn slice(&self, quorum: &QueuedQuorum<P>, count: &dyn Count) -> Slice {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!("quorum", votes = quorum.votes.len()).entered();
        let committees = core::slice::from_ref(&quorum.committee);
        let most = (BATCH_MESSAGE_BYTES / quorum.message.len().max(1)).clamp(1, LANES);
        let (mut verdicts, mut fresh) = (Vec::new(), Vec::new());
        for &vote in count.wanted().iter().take(self.batch) {
            let is_cached = self
                .cache
                .get(committees, &quorum.vote(vote), quorum.source);
            if !is_cached {
                if fresh.len() == most {
                    break;
                }
                fresh.push((vote, verdicts.len()));
            }
            verdicts.push(Ok(()));
        }
        let request = RunOptions {
            alone: true,
            ..count.mode().into()
        };
        let report = self.scheduler.report(request, &fresh, |(vote, _)| {
            Resolved::vote(committees, &quorum.vote(*vote), false)
        });
        for ((_, place), verdict) in fresh.iter().zip(&report.verdicts) {
            verdicts[*place] = *verdict;
        }
        let skipped = Err(RejectReason::NotVerified);
        fresh.retain(|(_, place)| verdicts[*place] != skipped);
        Slice {
            verdicts,
            verified: fresh,
        }
    }

    /// Frees quorums, and answers those that are open with `Abandoned`.
    pub(super) fn end_quorums(&self, quorums: impl IntoIterator<Item = Box<QueuedQuorum<P>>>) {
        for mut quorum in quorums {
            if let Some(open) = quorum.open.take() {
                // The sender is dropped.
                self.end_quorum(&quorum, || drop(open));
            }
        }
    }

    /// Ends an open quorum by its answer, with its place in the budget and in drains.
    fn end_quorum(&self, quorum: &QueuedQuorum<P>, answer: impl FnOnce()) {
        let bytes = quorum.bytes;
        self.limit(quorum.source.peer, |limiter, peer| {
            limiter.release(peer, bytes);
        });
        // A waker is the caller's code.
        catch(answer);
        self.complete(vec![quorum.generation]);
    }
}
