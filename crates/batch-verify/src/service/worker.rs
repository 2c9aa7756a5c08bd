//! State of a service and its workers.

use core::mem;
use core::sync::atomic::Ordering;
use std::collections::VecDeque;
use std::process;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use mldsa_core::ParameterSet;

use super::cache::VerdictCache;
use super::queue::Peer;
use super::state::{Entry, Job, State};
use super::sync::{AtomicU64, Condvar, Mutex, MutexGuard, RwLock};
use super::{Pending, RateLimiter, ServiceBuilder, ServiceError, ServiceStats};
use crate::Committee;
use crate::batch::{Mode, Request, Resolved, Scheduler};
use crate::executor::catch;

/// State that handles and workers share.
pub(super) struct Shared<P: ParameterSet> {
    pub(super) scheduler: Scheduler<P>,
    /// The current committee first.
    pub(super) committees: RwLock<Arc<[Committee<P>]>>,
    pub(super) retained: usize,
    pub(super) cache: VerdictCache<P>,
    pub(super) limiter: Option<Box<dyn RateLimiter>>,
    pub(super) max_message_bytes: usize,
    pub(super) batch: usize,
    /// Votes that were submitted or verified synchronously, without those that the cache
    /// counts as answered.
    pub(super) votes: AtomicU64,
    /// Votes that were verified.
    verified: AtomicU64,
    /// Votes that were verified and are invalid.
    rejected: AtomicU64,
    process: u32,
    #[cfg(test)]
    pub(super) panics: core::sync::atomic::AtomicBool,
    state: Mutex<State<P>>,
    work: Condvar,
}

/// Treatment of a queued vote.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planned {
    Cancelled,
    Cached,
    Fresh,
}

impl<P: ParameterSet> Shared<P> {
    pub(super) fn new(
        builder: ServiceBuilder<P>,
        scheduler: Scheduler<P>,
        committee: Committee<P>,
        workers: usize,
    ) -> Self {
        let committees: Arc<[_]> = Arc::new([committee]);
        Self {
            scheduler,
            cache: VerdictCache::new(builder.cache_bytes, Arc::clone(&committees)),
            committees: RwLock::new(committees),
            retained: builder.retained_committees,
            max_message_bytes: builder.max_message_bytes,
            batch: builder.batch,
            votes: AtomicU64::new(0),
            verified: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            process: process::id(),
            #[cfg(test)]
            panics: Default::default(),
            state: Mutex::new(State::new(builder.queue_bytes, workers)),
            work: Condvar::new(),
            limiter: builder.rate_limiter,
        }
    }

    pub(super) fn committees(&self) -> Arc<[Committee<P>]> {
        let committees = self.committees.read();
        Arc::clone(&committees.unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process is a child of the one that built the service. No worker runs in
    /// it, and the lock may be held for ever.
    pub(super) fn is_forked(&self) -> bool {
        self.process != process::id()
    }

    pub(super) fn pending<T>(
        &self,
        receiver: oneshot::Receiver<T>,
        abandoned: fn() -> T,
    ) -> Pending<T> {
        Pending::new(receiver, abandoned, self.process)
    }

    /// Counts votes that were verified.
    pub(super) fn count_verified(&self, votes: usize, rejected: usize) {
        self.verified.fetch_add(votes as u64, Ordering::Relaxed);
        self.rejected.fetch_add(rejected as u64, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> ServiceStats {
        let cache = self.cache.stats();
        let verified = self.verified.load(Ordering::Relaxed);
        let rejected = self.rejected.load(Ordering::Relaxed);
        let mut stats = ServiceStats::default();
        if !self.is_forked() {
            let state = self.lock();
            stats = state.stats;
            stats.queued_votes = state.queues.iter().map(|queue| queue.len()).sum();
            stats.queued_bytes = state.queues.iter().map(|queue| queue.bytes()).sum();
        }
        ServiceStats {
            votes: self.votes.load(Ordering::Relaxed) + cache.answered,
            verified,
            rejected: stats.rejected + rejected,
            cache_hits: cache.hits,
            cached_votes: cache.entries,
            cached_bytes: cache.bytes,
            ..stats
        }
    }

    pub(super) fn notify(&self) {
        self.work.notify_one();
    }

    pub(super) fn notify_all(&self) {
        self.work.notify_all();
    }

    /// Calls the rate limiter for a peer. `None` if it panics.
    pub(super) fn limit<R>(
        &self,
        peer: Peer,
        call: impl FnOnce(&dyn RateLimiter, u64) -> R,
    ) -> Option<Option<R>> {
        let (Some(limiter), Some(peer)) = (&self.limiter, peer) else {
            return Some(None);
        };
        let result = catch(|| call(&**limiter, peer));
        if result.is_none() {
            self.lock().stats.hook_panics += 1;
        }
        result.map(Some)
    }

    /// Sends the answer to a vote that was accepted.
    pub(super) fn answer(&self, entry: Entry<P>, answer: Result<(), ServiceError>) {
        let bytes = entry.bytes();
        self.limit(entry.peer, |limiter, peer| limiter.release(peer, bytes));
        // A waker is the caller's code.
        catch(|| drop(entry.reply.send(answer)));
        self.complete(entry.generation);
    }

    /// Ends work of a generation, and the drains that waited for it.
    fn complete(&self, generation: u64) {
        let ended = self.lock().complete(generation);
        for drain in ended {
            // A waker is the caller's code.
            catch(|| drop(drain.send(())));
        }
    }

    /// Answers everything that is queued with an error.
    pub(super) fn abandon(&self, error: ServiceError, close: bool) {
        if self.is_forked() {
            return;
        }
        let mut state = self.lock();
        state.closed |= close;
        let mut entries = Vec::new();
        for queue in &mut state.queues {
            entries.extend(queue.take_all());
        }
        let jobs = state.jobs.take_all();
        let count = entries.len() as u64;
        match error {
            ServiceError::ShuttingDown => state.stats.shutting_down += count,
            _ => state.stats.abandoned += count,
        }
        drop(state);
        self.work.notify_all();
        for entry in entries {
            self.answer(entry, Err(error));
        }
        self.abandon_jobs(jobs);
    }

    /// Answers quorums with `Abandoned`.
    pub(super) fn abandon_jobs(&self, jobs: Vec<Job>) {
        for job in jobs {
            catch(|| drop(job.run));
            self.complete(job.generation);
        }
    }

    /// Verifies a batch and answers its votes.
    fn verify_batch(&self, mut entries: VecDeque<Entry<P>>) {
        catch(|| self.verify(&mut entries));
        // None are left, unless verification panicked.
        self.lock().stats.abandoned += entries.len() as u64;
        for entry in entries {
            self.answer(entry, Err(ServiceError::Abandoned));
        }
    }

    /// Runs a job. After each of its batches a batch of queued votes is verified.
    fn run_job(&self, job: Job) {
        let after_batch = || {
            let batch = self.lock().next_batch(self.batch);
            if !batch.is_empty() {
                self.verify_batch(batch);
            }
        };
        catch(|| (job.run)(&after_batch));
        self.complete(job.generation);
    }

    /// Verifies one batch and answers its votes, which are removed as they are answered.
    fn verify(&self, entries: &mut VecDeque<Entry<P>>) {
        let request = Request {
            alone: true,
            ..Mode::Full.into()
        };
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!("batch", votes = entries.len()).entered();
        #[cfg(test)]
        assert!(
            !self.panics.swap(false, Ordering::Relaxed),
            "a planted fault"
        );
        let plan: Vec<Planned> = entries.iter().map(|entry| self.plan(entry)).collect();
        let fresh = entries.iter().zip(&plan);
        let fresh = fresh.filter(|(_, planned)| **planned == Planned::Fresh);
        let report = self.scheduler.report(request, fresh, |(entry, _)| {
            let committee = core::slice::from_ref(&entry.committee);
            Resolved::vote(committee, &entry.vote.as_vote(), false)
        });
        self.count_verified(report.verdicts.len(), report.rejected().count());
        self.count(entries, &plan);
        let mut verdicts = report.verdicts.into_iter();
        for planned in plan {
            let verdict = match planned {
                Planned::Cancelled => None,
                Planned::Cached => Some(Ok(())),
                Planned::Fresh => verdicts.next(),
            };
            let Some(entry) = entries.front() else {
                return;
            };
            if let Some(verdict) = verdict {
                if planned == Planned::Fresh {
                    if verdict.is_ok() {
                        let committee = core::slice::from_ref(&entry.committee);
                        self.cache.insert(committee, &entry.vote.as_vote());
                    }
                    self.on_verified(entry.peer, verdict.is_ok());
                }
                self.limit(entry.peer, |limiter, peer| {
                    limiter.on_verdict(peer, verdict)
                });
            }
            let verdict = verdict.map(|verdict| verdict.map_err(ServiceError::Rejected));
            if let Some(entry) = entries.pop_front() {
                self.answer(entry, verdict.unwrap_or(Err(ServiceError::Abandoned)));
            }
        }
    }

    fn plan(&self, entry: &Entry<P>) -> Planned {
        if entry.cancelled.load(Ordering::Relaxed) {
            return Planned::Cancelled;
        }
        // An equal vote may have been verified since this one was submitted.
        let committee = core::slice::from_ref(&entry.committee);
        match self.cache.get(committee, &entry.vote.as_vote()) {
            true => Planned::Cached,
            false => Planned::Fresh,
        }
    }

    fn count(&self, entries: &VecDeque<Entry<P>>, plan: &[Planned]) {
        let now = Instant::now();
        let mut state = self.lock();
        let stats = &mut state.stats;
        stats.batches += 1;
        for (entry, planned) in entries.iter().zip(plan) {
            if *planned == Planned::Cancelled {
                stats.cancelled += 1;
                continue;
            }
            let time = now.saturating_duration_since(entry.since);
            stats.queued_time += time;
            stats.longest_queued_time = stats.longest_queued_time.max(time);
        }
    }

    /// Records whether the last vote or quorum of a peer was valid. A cached one does not
    /// count: a replay must not clear its sender.
    pub(super) fn on_verified(&self, peer: Peer, is_valid: bool) {
        let Some(peer) = peer else { return };
        let mut state = self.lock();
        match is_valid {
            true => drop(state.suspects.pop(&peer)),
            false => drop(state.suspects.put(peer, ())),
        }
    }
}

/// A worker before and while it runs. If the last one is dropped, queued work is abandoned.
pub(super) struct Worker<P: ParameterSet>(pub(super) Arc<Shared<P>>);

/// Work that a worker does without the lock.
enum Task<P: ParameterSet> {
    Job(Job),
    Batch(VecDeque<Entry<P>>),
}

impl<P: ParameterSet> Worker<P> {
    /// Works until shutdown.
    pub(super) fn run(self) {
        while let Some(task) = self.next() {
            match task {
                Task::Job(job) => self.0.run_job(job),
                Task::Batch(entries) => self.0.verify_batch(entries),
            }
        }
    }

    fn next(&self) -> Option<Task<P>> {
        let shared = &*self.0;
        let mut state = shared.lock();
        loop {
            if !mem::take(&mut state.is_turn_of_votes)
                && let Some(job) = state.next_job()
            {
                return Some(Task::Job(job));
            }
            let batch = state.next_batch(shared.batch);
            if !batch.is_empty() {
                return Some(Task::Batch(batch));
            }
            if state.jobs.len() > 0 {
                continue;
            }
            if state.closed {
                return None;
            }
            let woken = shared.work.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<P: ParameterSet> Drop for Worker<P> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.workers -= 1;
        let last = state.workers == 0;
        let closed = state.closed;
        drop(state);
        if last && !closed {
            self.0.abandon(ServiceError::Abandoned, false);
        }
    }
}
