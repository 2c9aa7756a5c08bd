//! State of a service under its lock: queues, counters, suspects, drains.

use core::num::NonZeroUsize;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use lru::LruCache;
use mldsa_core::{ParameterSet, PreHash};

use super::queue::{FairQueue, Peer, Push};
use super::queued_quorum::QueuedQuorum;
use super::sync::AtomicBool;
use super::{ServiceError, ServiceStats, Source};
use crate::batch::LANES;
use crate::{Committee, MemberId, Message, Vote};

pub(super) struct ServiceState<P: ParameterSet> {
    /// Queues of votes, in the order of the priorities.
    pub(super) queues: [FairQueue<Box<QueuedVote<P>>>; 3],
    pub(super) quorums: FairQueue<Box<QueuedQuorum<P>>>,
    /// Whether the last task was of a quorum: a batch of votes is next, if there are any.
    pub(super) is_turn_of_votes: bool,
    /// Votes that were taken, modulo 8: the reserved slots do not depend on where batches end.
    slot: u8,
    pub(super) stats: ServiceStats,
    pub(super) closed: bool,
    pub(super) workers: usize,
    suspects: Suspects,
    /// Accepted and unanswered work by generation, which each drain ends.
    outstanding: BTreeMap<u64, usize>,
    generation: u64,
    /// Drains in progress, in the order of their generations.
    drains: Vec<(u64, oneshot::Sender<()>)>,
}

pub(super) struct QueuedVote<P: ParameterSet> {
    pub(super) vote: OwnedVote,
    /// One committee: the one of the member id.
    pub(super) committee: Committee<P>,
    pub(super) source: Source,
    pub(super) since: Instant,
    pub(super) cancelled: Arc<AtomicBool>,
    pub(super) reply: oneshot::Sender<Result<(), ServiceError>>,
    pub(super) generation: u64,
}

impl<P: ParameterSet> QueuedVote<P> {
    pub(super) fn committees(&self) -> &[Committee<P>] {
        core::slice::from_ref(&self.committee)
    }
}

/// Bytes of a queued vote without message and signature: its entry, the channel of the answer
/// and the place of its peer in the queue.
pub(super) const ENTRY_BYTES: usize = 640;
/// Bytes of messages after which a batch takes no more votes.
pub(super) const BATCH_MESSAGE_BYTES: usize = 64 << 10;

impl<P: ParameterSet> ServiceState<P> {
    pub(super) fn new(queue_bytes: usize, max_message_bytes: usize, workers: usize) -> Self {
        let largest = (P::SIG_LEN + ENTRY_BYTES).saturating_add(max_message_bytes);
        // Votes with short messages are served one in a turn, the longest one in eight turns.
        let quantum = (P::SIG_LEN + 2 * ENTRY_BYTES).max(largest / 8);
        Self {
            queues: [(); 3].map(|()| FairQueue::of_small_items(queue_bytes, quantum)),
            quorums: FairQueue::new(queue_bytes),
            is_turn_of_votes: false,
            slot: 0,
            stats: ServiceStats::default(),
            closed: false,
            workers,
            suspects: Suspects::new(),
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

    pub(super) fn push(
        &mut self,
        bytes: usize,
        entry: Box<QueuedVote<P>>,
    ) -> Push<Box<QueuedVote<P>>> {
        let Source { peer, priority } = entry.source;
        let is_suspected = peer.is_some_and(|peer| self.suspects.contains(peer));
        self.queues[usize::from(priority)].push(peer, bytes, entry, is_suspected)
    }

    pub(super) fn push_quorum(
        &mut self,
        quorum: Box<QueuedQuorum<P>>,
    ) -> Push<Box<QueuedQuorum<P>>> {
        let (peer, bytes) = (quorum.source.peer, quorum.bytes);
        let is_suspected = peer.is_some_and(|peer| self.suspects.contains(peer));
        self.quorums.push(peer, bytes, quorum, is_suspected)
    }

    pub(super) fn next_quorum(&mut self) -> Option<Box<QueuedQuorum<P>>> {
        let (.., quorum) = self.quorums.take()?;
        self.is_turn_of_votes = true;
        Some(quorum)
    }

    /// Queues work by `push`, and counts what is refused or evicted for it and waits for an answer.
    ///
    /// # Errors
    /// The reason for which it is not queued, and the work itself.
    pub(super) fn admit<T>(
        &mut self,
        work: T,
        is_open: impl Fn(&T) -> bool,
        push: impl FnOnce(&mut Self, T) -> Push<T>,
    ) -> Result<Vec<T>, (ServiceError, T)> {
        let admitted = match (self.closed, self.workers) {
            (true, _) => Err((ServiceError::ShuttingDown, work)),
            (false, 0) => Err((ServiceError::Abandoned, work)),
            _ => push(self, work).map_err(|work| (ServiceError::QueueFull, work)),
        };
        match &admitted {
            Ok(evicted) => {
                let open = evicted.iter().filter(|work| is_open(work));
                open.for_each(|_| self.stats.count(ServiceError::Evicted));
            }
            Err((error, _)) => self.stats.count(*error),
        }
        admitted
    }

    /// Records a verdict on a signature that a peer sent. Cached ones do not count: a replay
    /// must not clear its sender.
    pub(super) fn on_verdict(&mut self, peer: Peer, is_valid: bool) {
        let Some(peer) = peer else { return };
        let before = self.suspects.contains(peer);
        self.suspects.on_verdict(peer, is_valid);
        let is_suspected = self.suspects.contains(peer);
        if before != is_suspected {
            let queues = self.queues.iter_mut();
            queues.for_each(|queue| queue.set_suspected(peer, is_suspected));
            self.quorums.set_suspected(peer, is_suspected);
        }
    }

    /// Starts a drain of everything accepted so far.
    pub(super) fn drain(&mut self, done: oneshot::Sender<()>) {
        if self.outstanding.is_empty() {
            let _ = done.send(());
            return;
        }
        self.drains.retain(|(_, done)| !done.is_closed());
        self.drains.push((self.generation, done));
        self.generation += 1;
    }

    /// Ends work of these generations. Returns the drains that waited for it.
    pub(super) fn complete(
        &mut self,
        generations: impl IntoIterator<Item = u64>,
    ) -> Vec<oneshot::Sender<()>> {
        for generation in generations {
            if let Some(count) = self.outstanding.get_mut(&generation) {
                *count -= 1;
                if *count == 0 {
                    self.outstanding.remove(&generation);
                }
            }
        }
        let first = self.outstanding.keys().next();
        let is_over = |(generation, _): &(u64, _)| first.is_none_or(|first| generation < first);
        let ended = self.drains.partition_point(is_over);
        self.drains.drain(..ended).map(|(_, drain)| drain).collect()
    }

    /// Takes the next batch: the highest priority first, one vote in eight for each lower one, and
    /// no more votes after a certain length of messages.
    ///
    /// A batch ends with the eighth vote of a peer, and once it has votes of other peers it takes
    /// none of suspects beyond their turns: a vote that arrives waits for few of the votes of a
    /// peer that floods the queue.
    pub(super) fn next_batch(&mut self, limit: usize) -> VecDeque<Box<QueuedVote<P>>> {
        let mut batch = VecDeque::new();
        let (mut bytes, mut has_trusted, mut most) = (0, false, 0);
        let mut by_peer: HashMap<Peer, usize> = HashMap::new();
        while batch.len() < limit && bytes < BATCH_MESSAGE_BYTES && most < LANES {
            let order = match self.slot {
                6 => [1, 0, 2],
                7 => [2, 0, 1],
                _ => [0, 1, 2],
            };
            if has_trusted && !self.queues.iter().any(FairQueue::has_trusted) {
                break;
            }
            let mut order = order.into_iter();
            let entry = order.find_map(|priority| self.queues[priority].pop());
            let Some(entry) = entry else { break };
            self.slot = (self.slot + 1) % 8;
            let peer = entry.source.peer;
            has_trusted |= !peer.is_some_and(|peer| self.suspects.contains(peer));
            bytes += entry.vote.message;
            let of_peer = by_peer.entry(peer).or_default();
            *of_peer += 1;
            most = most.max(*of_peer);
            batch.push_back(entry);
        }
        batch
    }
}

/// Peers that send invalid signatures, with their share of the recent ones in units of 1/256;
/// the least recent peer is forgotten first.
struct Suspects(LruCache<u64, u16>);

/// Most peers that are kept as suspects.
const MAX_SUSPECTS: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();
/// Share of a signature in the average of its peer.
const WEIGHT: u16 = 8;
/// Share of invalid signatures above which a peer is a suspect: one signature, until five valid
/// ones have followed; of a mixture, about one in ten.
const SUSPICIOUS: u16 = 18;
/// Share at which a peer is forgotten.
const FORGOTTEN: u16 = 7;

impl Suspects {
    fn new() -> Self {
        // Unbounded first, so that nothing is reserved.
        let mut suspects = LruCache::unbounded();
        suspects.resize(MAX_SUSPECTS);
        Self(suspects)
    }

    fn contains(&self, peer: u64) -> bool {
        self.0.peek(&peer).is_some_and(|share| *share > SUSPICIOUS)
    }

    fn on_verdict(&mut self, peer: u64, is_valid: bool) {
        let share = self.0.get(&peer).copied().unwrap_or(0);
        let share = share - share / WEIGHT + if is_valid { 0 } else { 256 / WEIGHT };
        match share > FORGOTTEN {
            true => drop(self.0.put(peer, share)),
            false => drop(self.0.pop(&peer)),
        }
    }
}

/// Copy of a vote, in one allocation.
pub(super) struct OwnedVote {
    member: MemberId,
    prehash: Option<PreHash>,
    /// Message, then signature.
    bytes: Box<[u8]>,
    /// Length of the message.
    message: usize,
}

impl OwnedVote {
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

    /// Returns the bytes that the vote takes in the queue, for limits and budgets.
    pub(super) fn queued_bytes(&self) -> usize {
        self.bytes.len() + ENTRY_BYTES
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

#[cfg(test)]
mod tests {
    use mldsa_core::MlDsa44;

    use super::*;

    #[test]
    fn a_drain_waits_for_earlier_work_only() {
        let mut state = ServiceState::<MlDsa44>::new(1, 1, 1);
        let (done, _drained) = oneshot::channel();
        let earlier = state.accept();
        state.drain(done);
        let later = [state.accept(), state.accept()];
        assert!(state.complete([later[0]]).is_empty());
        // One piece of work that was accepted later is outstanding.
        assert_eq!(state.complete([earlier]).len(), 1);
    }

    /// Dropped drains take no memory.
    #[test]
    fn dropped_drains_are_forgotten() {
        let mut state = ServiceState::<MlDsa44>::new(1, 1, 1);
        let _ = state.accept();
        for _ in 0..1000 {
            state.drain(oneshot::channel().0);
        }
        assert_eq!(state.drains.len(), 1);
    }

    #[test]
    fn suspects_by_their_share_of_invalid_signatures() {
        let mut suspects = Suspects::new();
        let mut record = |verdicts: &[(usize, bool)]| {
            for &(count, is_valid) in verdicts {
                (0..count).for_each(|_| suspects.on_verdict(1, is_valid));
            }
            suspects.contains(1)
        };
        assert!(!record(&[(1000, true)]));
        assert!(record(&[(1, false)]) && record(&[(4, true)]) && !record(&[(1, true)]));
        // One in eight, at any time.
        record(&[(1, false), (7, true), (1, false), (7, true)]);
        for _ in 0..100 {
            assert!(record(&[(1, false)]) && record(&[(6, true)]));
            record(&[(1, true)]);
        }
        // Valid signatures behind many forgeries clear their sender after a while only.
        assert!(record(&[(5000, false), (15, true)]));
        assert!(!record(&[(20, true)]));
    }
}
