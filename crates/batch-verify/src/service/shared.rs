//! What the handles and the workers of a service share.

use core::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use mldsa_core::ParameterSet;

use super::cache::VerdictCache;
use super::queue::{MAX_SHARE, Peer};
use super::queued_quorum::{QueuedQuorum, quorum_bytes};
use super::state::{QueuedVote, ServiceState};
use super::stats::{Origin, Rejections};
use super::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, RwLock};
use super::{RateLimiter, ServiceBuilder, ServiceError, ServiceStats};
use crate::batch::Scheduler;
use crate::executor::catch;
use crate::{Committee, RejectReason};

/// State that handles and workers share.
pub(super) struct Shared<P: ParameterSet> {
    pub(super) scheduler: Scheduler<P>,
    /// The current committee first.
    pub(super) committees: RwLock<Arc<[Committee<P>]>>,
    pub(super) retained_committees: usize,
    pub(super) cache: VerdictCache<P>,
    limiter: Option<Box<dyn RateLimiter>>,
    pub(super) max_message_bytes: usize,
    /// Most bytes of a vote or quorum by a peer.
    max_item_bytes: usize,
    pub(super) batch: usize,
    /// Votes that were submitted or verified synchronously, without those that the cache
    /// counts as answered.
    pub(super) votes: AtomicU64,
    pub(super) quorums: AtomicU64,
    verified: AtomicU64,
    rejections: [[AtomicU64; RejectReason::ALL.len()]; 3],
    hook_panics: AtomicU64,
    /// Whether the state is closed, without its lock.
    pub(super) closed: AtomicBool,
    #[cfg(test)]
    pub(super) panics: core::sync::atomic::AtomicBool,
    state: Mutex<ServiceState<P>>,
    pub(super) work: Condvar,
}

impl<P: ParameterSet> Shared<P> {
    pub(super) fn new(
        builder: ServiceBuilder<P>,
        scheduler: Scheduler<P>,
        committee: Committee<P>,
        workers: usize,
    ) -> Self {
        let queue_bytes = builder.queue_bytes.unwrap_or_else(|| {
            let largest = quorum_bytes(
                &committee,
                builder.max_message_bytes,
                committee.len(),
                P::SIG_LEN,
            );
            (4096 * (P::SIG_LEN + 1024)).max(MAX_SHARE.saturating_mul(largest))
        });
        let committees: Arc<[_]> = Arc::new([committee]);
        let state = ServiceState::new(queue_bytes, builder.max_message_bytes, workers);
        Self {
            scheduler,
            cache: VerdictCache::new(builder.cache_bytes, Arc::clone(&committees)),
            committees: RwLock::new(committees),
            retained_committees: builder.retained_committees,
            max_message_bytes: builder.max_message_bytes,
            max_item_bytes: queue_bytes / MAX_SHARE,
            batch: builder.batch,
            votes: AtomicU64::new(0),
            quorums: AtomicU64::new(0),
            verified: AtomicU64::new(0),
            rejections: core::array::from_fn(|_| core::array::from_fn(|_| AtomicU64::new(0))),
            hook_panics: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            #[cfg(test)]
            panics: Default::default(),
            state: Mutex::new(state),
            work: Condvar::new(),
            limiter: builder.rate_limiter,
        }
    }

    pub(super) fn committees(&self) -> Arc<[Committee<P>]> {
        let committees = self.committees.read();
        Arc::clone(&committees.unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ServiceState<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the verdicts on votes that were verified; skipped ones are left out.
    pub(super) fn count_verified(
        &self,
        origin: Origin,
        verdicts: impl IntoIterator<Item = Result<(), RejectReason>>,
    ) {
        let mut verified = 0;
        for verdict in verdicts {
            match verdict {
                Err(RejectReason::NotVerified) => continue,
                Err(reason) => self.count_rejected(origin, reason),
                Ok(()) => {}
            }
            verified += 1;
        }
        self.verified.fetch_add(verified, Ordering::Relaxed);
    }

    pub(super) fn count_rejected(&self, origin: Origin, reason: RejectReason) {
        self.rejections[origin as usize][reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> ServiceStats {
        let cache = self.cache.stats();
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let rejections: Rejections = self
            .rejections
            .each_ref()
            .map(|row| row.each_ref().map(load));
        let verified = load(&self.verified);
        let state = self.lock();
        let queues = state.queues.iter();
        ServiceStats {
            votes: load(&self.votes) + cache.answered,
            quorums: load(&self.quorums),
            verified,
            rejected: rejections.iter().flatten().sum(),
            rejections,
            hook_panics: load(&self.hook_panics),
            queued_votes: queues.clone().map(|queue| queue.len()).sum(),
            queued_quorums: state.quorums.len(),
            queued_bytes: queues.map(|queue| queue.bytes()).sum::<usize>() + state.quorums.bytes(),
            cache_hits: cache.hits,
            cached_votes: cache.entries,
            cached_bytes: cache.bytes,
            ..state.stats
        }
    }

    /// Counts an error of a submission, and returns it.
    pub(super) fn refuse(&self, error: ServiceError) -> ServiceError {
        self.lock().stats.count(error);
        error
    }

    /// Calls the rate limiter for a peer: `None` if there is none, or if it panics, which is
    /// counted.
    pub(super) fn limit<R>(
        &self,
        peer: Peer,
        call: impl FnOnce(&dyn RateLimiter, u64) -> R,
    ) -> Option<R> {
        let (limiter, peer) = (self.limiter.as_deref()?, peer?);
        let result = catch(|| call(limiter, peer));
        if result.is_none() {
            self.hook_panics.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    /// Asks the rate limiter for a place in a queue, of which a peer's item takes a small part at
    /// most.
    pub(super) fn acquire(&self, peer: Peer, bytes: usize) -> Result<(), ServiceError> {
        if peer.is_some() && bytes > self.max_item_bytes {
            return Err(self.refuse(ServiceError::TooLarge));
        }
        if self.limiter.is_none() || peer.is_none() {
            return Ok(());
        }
        match self.limit(peer, |limiter, peer| limiter.try_acquire(peer, bytes)) {
            Some(true) => Ok(()),
            Some(false) => Err(self.refuse(ServiceError::PeerBudget)),
            None => Err(ServiceError::HookPanicked),
        }
    }

    /// Sends answers to votes that were accepted.
    pub(super) fn answer(
        &self,
        answers: impl IntoIterator<Item = (Box<QueuedVote<P>>, Result<(), ServiceError>)>,
    ) {
        let send = |(entry, answer): (Box<QueuedVote<P>>, _)| {
            let (bytes, generation) = (entry.vote.queued_bytes(), entry.generation);
            self.limit(entry.source.peer, |limiter, peer| {
                limiter.release(peer, bytes);
            });
            // A waker is the caller's code.
            catch(|| drop(entry.reply.send(answer)));
            generation
        };
        let generations: Vec<u64> = answers.into_iter().map(send).collect();
        self.complete(generations);
    }

    /// Ends work of these generations, and the drains that waited for it.
    pub(super) fn complete(&self, generations: Vec<u64>) {
        if generations.is_empty() {
            return;
        }
        let ended = self.lock().complete(generations);
        for drain in ended {
            // A waker is the caller's code.
            catch(|| drop(drain.send(())));
        }
    }

    /// Answers everything that is queued with an error.
    pub(super) fn abandon(&self, error: ServiceError, close: bool) {
        let mut state = self.lock();
        if close {
            state.closed = true;
            self.closed.store(true, Ordering::Relaxed);
        }
        let mut entries = Vec::new();
        for queue in &mut state.queues {
            entries.extend(queue.take_all());
        }
        let quorums = state.quorums.take_all();
        let open = quorums.iter().filter(|quorum| quorum.is_open()).count();
        for _ in 0..entries.len() + open {
            state.stats.count(error);
        }
        drop(state);
        self.work.notify_all();
        self.answer(entries.into_iter().map(|entry| (entry, Err(error))));
        self.end_quorums(quorums);
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
    pub(super) fn end_quorum(&self, quorum: &QueuedQuorum<P>, answer: impl FnOnce()) {
        let bytes = quorum.bytes;
        self.limit(quorum.source.peer, |limiter, peer| {
            limiter.release(peer, bytes);
        });
        // A waker is the caller's code.
        catch(answer);
        self.complete(vec![quorum.generation]);
    }
}
