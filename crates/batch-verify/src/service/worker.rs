//! State of a service and its workers.

use core::mem;
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use lru::LruCache;
use mldsa_core::ParameterSet;

use super::cache::VerdictCache;
use super::queue::{FairQueue, Peer};
use super::{OwnedVote, RateLimiter, ServiceBuilder, ServiceError, ServiceStats};
use crate::batch::{Duplicates, Engine, Mode, Request, Resolved};
use crate::executor::catch;
use crate::{Committee, RejectReason, Verdict};

/// State that handles and workers share.
pub(super) struct Shared<P: ParameterSet> {
    pub(super) engine: Engine<P>,
    /// The current committee first.
    pub(super) committees: RwLock<Arc<[Committee<P>]>>,
    pub(super) retained: usize,
    pub(super) cache: VerdictCache,
    pub(super) limiter: Option<Box<dyn RateLimiter>>,
    pub(super) max_message_bytes: usize,
    batch: usize,
    state: Mutex<State<P>>,
    work: Condvar,
}

pub(super) struct State<P: ParameterSet> {
    /// By priority.
    pub(super) queues: [FairQueue<Entry<P>>; 3],
    pub(super) jobs: VecDeque<Job>,
    pub(super) stats: ServiceStats,
    pub(super) closed: bool,
    workers: usize,
    /// Peers whose last vote was rejected; the least recent is forgotten first.
    suspects: LruCache<u64, ()>,
    /// Accepted and unanswered work by generation, which each drain ends.
    outstanding: BTreeMap<u64, usize>,
    generation: u64,
    drains: Vec<(u64, oneshot::Sender<()>)>,
}

/// A synchronous call for a worker.
pub(super) struct Job {
    pub(super) run: Box<dyn FnOnce() + Send>,
    generation: u64,
}

/// A queued vote.
pub(super) struct Entry<P: ParameterSet> {
    pub(super) vote: OwnedVote,
    /// One committee: the one of the member id.
    pub(super) committee: Committee<P>,
    pub(super) peer: Peer,
    pub(super) since: Instant,
    pub(super) cancelled: Arc<AtomicBool>,
    pub(super) reply: oneshot::Sender<Result<(), ServiceError>>,
    generation: u64,
}

/// Peers that are remembered as suspects.
const MAX_SUSPECTS: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();
/// Bytes of messages after which a batch takes no more votes.
const BATCH_MESSAGE_BYTES: usize = 64 << 10;
/// Quorums that may be queued.
pub(super) const MAX_JOBS: usize = 64;

impl<P: ParameterSet> Shared<P> {
    pub(super) fn new(
        builder: ServiceBuilder<P>,
        engine: Engine<P>,
        committee: Committee<P>,
        workers: usize,
    ) -> Self {
        let queue = || FairQueue::new(builder.queue_bytes);
        Self {
            engine,
            committees: RwLock::new(Arc::new([committee])),
            retained: builder.retained_committees,
            cache: VerdictCache::new(builder.cache_bytes),
            max_message_bytes: builder.max_message_bytes,
            batch: builder.batch,
            state: Mutex::new(State {
                queues: [queue(), queue(), queue()],
                jobs: VecDeque::new(),
                stats: ServiceStats::default(),
                closed: false,
                workers,
                suspects: LruCache::new(MAX_SUSPECTS),
                outstanding: BTreeMap::new(),
                generation: 0,
                drains: Vec::new(),
            }),
            work: Condvar::new(),
            limiter: builder.rate_limiter,
        }
    }

    pub(super) fn committees(&self) -> Arc<[Committee<P>]> {
        let committees = self
            .committees
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&committees)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut state = self.lock();
        if let Some(count) = state.outstanding.get_mut(&generation) {
            *count -= 1;
            if *count == 0 {
                state.outstanding.remove(&generation);
            }
        }
        if state.drains.is_empty() {
            return;
        }
        let first = state.outstanding.keys().next().copied().unwrap_or(u64::MAX);
        let (ended, waiting) = mem::take(&mut state.drains)
            .into_iter()
            .partition(|(generation, _)| *generation < first);
        state.drains = waiting;
        drop(state);
        let ended: Vec<(u64, oneshot::Sender<()>)> = ended;
        for (_, drain) in ended {
            catch(|| drop(drain.send(())));
        }
    }

    /// Answers everything that is queued with an error.
    pub(super) fn abandon(&self, error: ServiceError, close: bool) {
        let mut state = self.lock();
        state.closed |= close;
        let mut entries = Vec::new();
        for queue in &mut state.queues {
            entries.extend(queue.take_all());
        }
        let jobs = mem::take(&mut state.jobs);
        let count = entries.len() as u64;
        match error {
            ServiceError::ShuttingDown => state.stats.shutting_down += count,
            _ => state.stats.abandoned += count,
        }
        drop(state);
        self.work.notify_all();
        for (_, entry) in entries {
            self.answer(entry, Err(error));
        }
        for job in jobs {
            catch(|| drop(job.run));
            self.complete(job.generation);
        }
    }

    /// Verifies one batch and answers its votes.
    fn verify(&self, entries: Vec<Entry<P>>) {
        let (cancelled, entries): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|entry| entry.cancelled.load(Ordering::Relaxed));
        self.lock().stats.cancelled += cancelled.len() as u64;
        for entry in cancelled {
            self.answer(entry, Err(ServiceError::Abandoned));
        }
        let request = Request {
            mode: Mode::Full,
            duplicates: Duplicates::Once,
            alone: true,
            cancel: None,
        };
        // An equal vote may have been verified since this one was submitted.
        let cached: Vec<bool> = entries.iter().map(|entry| self.is_hit(entry)).collect();
        let fresh = entries.iter().zip(&cached).filter(|(_, cached)| !**cached);
        let fresh = fresh.map(|(entry, _)| {
            let committee = core::slice::from_ref(&entry.committee);
            Resolved::vote(committee, &entry.vote.as_vote(), false)
        });
        let report = self.engine.report(request, fresh);
        let now = Instant::now();
        {
            let mut state = self.lock();
            let stats = &mut state.stats;
            stats.batches += 1;
            stats.verified += report.summary.items as u64;
            stats.rejected += report.summary.rejected() as u64;
            for entry in &entries {
                let time = now.saturating_duration_since(entry.since);
                stats.queued_time += time;
                stats.longest_queued_time = stats.longest_queued_time.max(time);
            }
        }
        let mut verdicts = report.verdicts.into_iter();
        for (entry, cached) in entries.into_iter().zip(cached) {
            let verdict = if cached {
                Ok(())
            } else {
                verdicts.next().unwrap_or(Verdict::Skipped).check()
            };
            if verdict.is_ok() && !cached {
                self.insert(&entry);
            }
            self.on_verdict(entry.peer, verdict);
            self.answer(entry, verdict.map_err(ServiceError::Rejected));
        }
    }

    pub(super) fn on_verdict(&self, peer: Peer, verdict: Result<(), RejectReason>) {
        if let Some(peer) = peer {
            let mut state = self.lock();
            match verdict {
                Ok(()) => drop(state.suspects.pop(&peer)),
                Err(_) => drop(state.suspects.put(peer, ())),
            }
        }
        self.limit(peer, |limiter, peer| limiter.on_verdict(peer, verdict));
    }

    fn is_hit(&self, entry: &Entry<P>) -> bool {
        let committee = core::slice::from_ref(&entry.committee);
        let lookup = self.cache.lookup(committee, &entry.vote.as_vote());
        let hit = lookup.is_some_and(|lookup| self.cache.get(&lookup));
        if !hit {
            self.cache.record_miss();
        }
        hit
    }

    fn insert(&self, entry: &Entry<P>) {
        let committee = core::slice::from_ref(&entry.committee);
        if let Some(lookup) = self.cache.lookup(committee, &entry.vote.as_vote()) {
            self.cache.insert(&lookup);
        }
    }
}

impl<P: ParameterSet> State<P> {
    /// Counts work as accepted. Returns its generation.
    fn accept(&mut self) -> u64 {
        let generation = self.generation;
        *self.outstanding.entry(generation).or_default() += 1;
        generation
    }

    /// A vote that is about to be queued.
    pub(super) fn entry(
        &mut self,
        vote: OwnedVote,
        committee: Committee<P>,
        peer: Peer,
        cancelled: Arc<AtomicBool>,
        reply: oneshot::Sender<Result<(), ServiceError>>,
    ) -> Entry<P> {
        Entry {
            vote,
            committee,
            peer,
            since: Instant::now(),
            cancelled,
            reply,
            generation: self.accept(),
        }
    }

    pub(super) fn push_job(&mut self, run: Box<dyn FnOnce() + Send>) {
        let generation = self.accept();
        self.jobs.push_back(Job { run, generation });
    }

    /// Whether a worker is there to do what is accepted.
    pub(super) fn has_workers(&self) -> bool {
        self.workers > 0
    }

    /// A drain of everything accepted so far.
    pub(super) fn drain(&mut self, done: oneshot::Sender<()>) {
        if self.outstanding.is_empty() {
            let _ = done.send(());
            return;
        }
        self.drains.push((self.generation, done));
        self.generation += 1;
    }

    /// The next batch: the highest priority first, one slot in eight for each lower one, and
    /// no more votes after a certain length of messages.
    fn next_batch(&mut self, limit: usize) -> Vec<Entry<P>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < limit && bytes < BATCH_MESSAGE_BYTES {
            let order = match batch.len() % 8 {
                6 => [1, 0, 2],
                7 => [2, 0, 1],
                _ => [0, 1, 2],
            };
            let Self {
                queues, suspects, ..
            } = self;
            let mut popped = order
                .into_iter()
                .filter_map(|priority| queues[priority].pop(|peer| suspects.contains(&peer)));
            let Some((_, entry)) = popped.next() else {
                break;
            };
            bytes += entry.vote.message.len();
            batch.push(entry);
        }
        batch
    }
}

impl<P: ParameterSet> Entry<P> {
    /// Bytes that a vote takes in the queue, for limits and budgets.
    pub(super) fn bytes(&self) -> usize {
        queued_bytes(&self.vote)
    }
}

/// Bytes that a vote takes in the queue, for limits and budgets.
pub(super) fn queued_bytes(vote: &OwnedVote) -> usize {
    vote.message.len() + vote.signature.len() + 256
}

/// A worker before and while it runs. If the last one is dropped, queued work is abandoned.
pub(super) struct Worker<P: ParameterSet>(pub(super) Arc<Shared<P>>);

/// Work that a worker does without the lock.
enum Task<P: ParameterSet> {
    Job(Job),
    Batch(Vec<Entry<P>>),
}

impl<P: ParameterSet> Worker<P> {
    /// Works until shutdown.
    pub(super) fn run(self) {
        while let Some(task) = self.next() {
            match task {
                Task::Job(job) => {
                    catch(job.run);
                    self.0.complete(job.generation);
                }
                Task::Batch(entries) => self.0.verify(entries),
            }
        }
    }

    fn next(&self) -> Option<Task<P>> {
        let shared = &*self.0;
        let mut state = shared.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(Task::Job(job));
            }
            let batch = state.next_batch(shared.batch);
            if !batch.is_empty() {
                return Some(Task::Batch(batch));
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
