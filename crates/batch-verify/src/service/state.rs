//! State of a service under its lock: queues, counters, drains.

use core::num::NonZeroUsize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use lru::LruCache;
use mldsa_core::{ParameterSet, PreHash};

use super::queue::{FairQueue, Peer, Push};
use super::sync::AtomicBool;
use super::{ServiceError, ServiceStats, Source};
use crate::{Committee, MemberId, Message, Vote};

pub(super) struct State<P: ParameterSet> {
    /// By priority.
    pub(super) queues: [FairQueue<Entry<P>>; 3],
    pub(super) jobs: FairQueue<Job>,
    /// Whether the last task was a job: a batch of votes is next, if there are any.
    pub(super) is_turn_of_votes: bool,
    /// Votes that were taken, modulo 8: the reserved slots do not depend on where batches end.
    slot: u8,
    pub(super) stats: ServiceStats,
    pub(super) closed: bool,
    pub(super) workers: usize,
    /// Peers whose last vote was rejected; the least recent is forgotten first.
    pub(super) suspects: LruCache<u64, ()>,
    /// Accepted and unanswered work by generation, which each drain ends.
    outstanding: BTreeMap<u64, usize>,
    generation: u64,
    /// By increasing generation.
    drains: Vec<(u64, oneshot::Sender<()>)>,
}

/// A synchronous call for a worker. It calls its argument after each of its batches, which
/// verifies a batch of queued votes.
type Run = Box<dyn FnOnce(&dyn Fn()) + Send>;

/// A call with its generation.
pub(super) struct Job {
    pub(super) run: Run,
    pub(super) generation: u64,
}

/// A queued vote.
pub(super) struct Entry<P: ParameterSet> {
    pub(super) vote: QueuedVote,
    /// One committee: the one of the member id.
    pub(super) committee: Committee<P>,
    pub(super) peer: Peer,
    pub(super) since: Instant,
    pub(super) cancelled: Arc<AtomicBool>,
    pub(super) reply: oneshot::Sender<Result<(), ServiceError>>,
    pub(super) generation: u64,
}

/// Most peers that are kept as suspects.
const MAX_SUSPECTS: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();
/// Bytes of a queued vote without message and signature.
const ENTRY_BYTES: usize = 256;
/// Bytes of messages after which a batch takes no more votes.
const BATCH_MESSAGE_BYTES: usize = 64 << 10;

impl<P: ParameterSet> State<P> {
    pub(super) fn new(queue_bytes: usize, workers: usize) -> Self {
        // Unbounded first, so that nothing is reserved.
        let mut suspects = LruCache::unbounded();
        suspects.resize(MAX_SUSPECTS);
        Self {
            queues: [(); 3].map(|()| FairQueue::new(queue_bytes)),
            jobs: FairQueue::new(queue_bytes),
            is_turn_of_votes: false,
            slot: 0,
            stats: ServiceStats::default(),
            closed: false,
            workers,
            suspects,
            outstanding: BTreeMap::new(),
            generation: 0,
            drains: Vec::new(),
        }
    }

    /// Counts work as accepted. Returns its generation.
    pub(super) fn accept(&mut self) -> u64 {
        let generation = self.generation;
        *self.outstanding.entry(generation).or_default() += 1;
        generation
    }

    /// Queues a vote.
    pub(super) fn push(&mut self, source: Source, bytes: usize, entry: Entry<P>) -> Push<Entry<P>> {
        let Self {
            queues, suspects, ..
        } = self;
        let queue = &mut queues[usize::from(source.priority)];
        queue.push(source.peer, bytes, entry, |peer| suspects.contains(&peer))
    }

    /// Queues a synchronous call.
    pub(super) fn push_job(&mut self, peer: Peer, bytes: usize, run: Run) -> Push<Job> {
        let generation = self.accept();
        let job = Job { run, generation };
        let Self { jobs, suspects, .. } = self;
        jobs.push(peer, bytes, job, |peer| suspects.contains(&peer))
    }

    pub(super) fn next_job(&mut self) -> Option<Job> {
        let Self { jobs, suspects, .. } = self;
        let job = jobs.pop(|peer| suspects.contains(&peer))?;
        self.is_turn_of_votes = true;
        Some(job)
    }

    /// Whether anything may be queued.
    pub(super) fn open(&self) -> Result<(), ServiceError> {
        match (self.closed, self.workers) {
            (true, _) => Err(ServiceError::ShuttingDown),
            (false, 0) => Err(ServiceError::Abandoned),
            (false, _) => Ok(()),
        }
    }

    /// A drain of everything accepted so far.
    pub(super) fn drain(&mut self, done: oneshot::Sender<()>) {
        if self.outstanding.is_empty() {
            let _ = done.send(());
            return;
        }
        self.drains.retain(|(_, done)| !done.is_closed());
        self.drains.push((self.generation, done));
        self.generation += 1;
    }

    /// Ends work of a generation. Returns the drains that waited for it.
    pub(super) fn complete(&mut self, generation: u64) -> Vec<oneshot::Sender<()>> {
        if let Some(count) = self.outstanding.get_mut(&generation) {
            *count -= 1;
            if *count == 0 {
                self.outstanding.remove(&generation);
            }
        }
        let first = self.outstanding.keys().next().copied().unwrap_or(u64::MAX);
        let ended = self
            .drains
            .partition_point(|(generation, _)| *generation < first);
        self.drains.drain(..ended).map(|(_, drain)| drain).collect()
    }

    /// The next batch: the highest priority first, one vote in eight for each lower one, and
    /// no more votes after a certain length of messages.
    pub(super) fn next_batch(&mut self, limit: usize) -> VecDeque<Entry<P>> {
        let mut batch = VecDeque::new();
        let mut bytes = 0;
        while batch.len() < limit && bytes < BATCH_MESSAGE_BYTES {
            let order = match self.slot {
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
            let Some(entry) = popped.next() else {
                break;
            };
            self.slot = (self.slot + 1) % 8;
            bytes += entry.vote.message;
            batch.push_back(entry);
        }
        batch
    }
}

impl<P: ParameterSet> Entry<P> {
    /// Bytes that a vote takes in the queue, for limits and budgets.
    pub(super) fn bytes(&self) -> usize {
        self.vote.bytes.len() + ENTRY_BYTES
    }
}

/// Copy of a vote, in one allocation.
pub(super) struct QueuedVote {
    member: MemberId,
    prehash: Option<PreHash>,
    /// Message, then signature.
    bytes: Box<[u8]>,
    /// Length of the message.
    message: usize,
}

impl QueuedVote {
    pub(super) fn new(vote: &Vote<'_>) -> Self {
        let message = vote.message.len();
        let mut bytes = Vec::with_capacity(message + vote.signature.len());
        vote.message.pieces(|piece| bytes.extend_from_slice(piece));
        bytes.extend_from_slice(vote.signature);
        Self {
            member: vote.member,
            prehash: match vote.message {
                Message::PreHashed { hash, .. } => Some(hash),
                Message::Bytes(_) | Message::Parts(_) => None,
            },
            bytes: bytes.into(),
            message,
        }
    }

    pub(super) fn as_vote(&self) -> Vote<'_> {
        let (message, signature) = self.bytes.split_at(self.message);
        let message = match self.prehash {
            Some(hash) => Message::PreHashed {
                hash,
                digest: message,
            },
            None => Message::Bytes(message),
        };
        Vote::new(self.member, message, signature)
    }
}

/// Bytes that a vote takes in the queue, for limits and budgets.
pub(super) fn queued_bytes(vote: &Vote<'_>) -> usize {
    vote.message.len() + vote.signature.len() + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use mldsa_core::MlDsa44;

    use super::*;

    #[test]
    fn a_drain_waits_for_earlier_work_only() {
        let mut state = State::<MlDsa44>::new(1, 1);
        let (done, _drained) = oneshot::channel();
        let push = |state: &mut State<_>| state.push_job(None, 0, Box::new(|_| ()));
        push(&mut state);
        state.drain(done);
        push(&mut state);
        push(&mut state);
        let [earlier, later] = [0, 1].map(|_| state.next_job().unwrap().generation);
        assert!(state.complete(later).is_empty());
        // One job that was accepted later is outstanding.
        assert_eq!(state.complete(earlier).len(), 1);
    }

    /// Dropped drains take no memory.
    #[test]
    fn dropped_drains_are_forgotten() {
        let mut state = State::<MlDsa44>::new(1, 1);
        let _ = state.push_job(None, 0, Box::new(|_| ()));
        for _ in 0..1000 {
            state.drain(oneshot::channel().0);
        }
        assert_eq!(state.drains.len(), 1);
    }
}
