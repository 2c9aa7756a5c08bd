//! Bounded queue that is fair to peers.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// A network peer; `None` is the node itself.
pub(super) type Peer = Option<u64>;

/// FIFO queues of peers within one bound for all, served in turn by bytes (deficit round robin).
///
/// When it is full, the longest queue loses its last item, unless the newcomer's queue would
/// be the longest: a peer that sends much displaces only itself. The node's own items have a
/// bound of the same size for themselves.
///
/// Suspected peers, which send invalid signatures, are served once in eight turns while others
/// wait. They displace each other only, and the last eighth of the bytes is for others.
pub(super) struct FairQueue<T> {
    peers: HashMap<Peer, PeerQueue<T>>,
    /// Peers with items, in order of service. Each is in one of the two.
    ring: VecDeque<Peer>,
    suspected_ring: VecDeque<Peer>,
    /// Queues of peers by length in bytes.
    by_bytes: BTreeSet<(usize, u64)>,
    /// Bytes of all peers without the node itself.
    bytes: usize,
    max_bytes: usize,
    items: usize,
    turn: u8,
    /// Bytes for which a peer gets credit in its turn.
    quantum: usize,
}

struct PeerQueue<T> {
    items: VecDeque<(usize, T)>,
    bytes: usize,
    /// Bytes that the peer may be served without another turn.
    credit: usize,
}

/// Items that were evicted for a new one, or the new one itself if there is no room.
pub(super) type Push<T> = Result<Vec<T>, T>;

/// Peers without items that may be left in the tables, together with one for each item.
const SPARE_PEERS: usize = 64;
/// Turns between two items of suspected peers while others wait.
const SUSPECTED_TURN: u8 = 8;
/// Divisor of the bytes of a queue: the share reserved for peers that are not suspected.
const RESERVE: usize = 8;

impl<T> FairQueue<T> {
    /// Creates a queue of items that each fit into one turn.
    pub(super) fn of_small_items(max_bytes: usize, quantum: usize) -> Self {
        Self {
            quantum,
            ..Self::new(max_bytes)
        }
    }

    /// Creates a queue whose items are served one in a turn, whatever their size.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            peers: HashMap::new(),
            ring: VecDeque::new(),
            suspected_ring: VecDeque::new(),
            by_bytes: BTreeSet::new(),
            bytes: 0,
            max_bytes,
            items: 0,
            turn: 0,
            quantum: usize::MAX,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.items
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.peers.get(&None).map_or(0, |own| own.bytes)
    }

    /// Returns whether a peer waits that was not suspected when it was last looked at.
    pub(super) fn has_trusted(&self) -> bool {
        !self.ring.is_empty()
    }

    /// Appends an item to the queue of its peer. O(log peers) and the evicted items.
    pub(super) fn push(
        &mut self,
        peer: Peer,
        bytes: usize,
        item: T,
        is_suspected: impl Fn(u64) -> bool,
    ) -> Push<T> {
        let queued = self.peers.get(&peer).map_or(0, |queue| queue.bytes);
        let mut evicted = Vec::new();
        match peer {
            None if queued.saturating_add(bytes) > self.max_bytes => return Err(item),
            Some(peer) => match self.make_room(peer, queued, bytes, is_suspected) {
                Some(items) => evicted = items,
                None => return Err(item),
            },
            None => {}
        }
        self.queue(peer).items.push_back((bytes, item));
        self.items += 1;
        self.resize(peer, queued, queued + bytes);
        Ok(evicted)
    }

    /// Puts an item back that was taken, before or behind the others of its peer, beyond any bound.
    pub(super) fn put_back(&mut self, peer: Peer, bytes: usize, item: T, is_first: bool) {
        let queue = self.queue(peer);
        let queued = queue.bytes;
        match is_first {
            true => queue.items.push_front((bytes, item)),
            false => queue.items.push_back((bytes, item)),
        }
        self.items += 1;
        self.resize(peer, queued, queued + bytes);
    }

    /// Returns the queue of a peer, which is in one of the rings from now on.
    fn queue(&mut self, peer: Peer) -> &mut PeerQueue<T> {
        // A peer whose items were all evicted is still in its ring.
        let ring = &mut self.ring;
        self.peers.entry(peer).or_insert_with(|| {
            ring.push_back(peer);
            PeerQueue {
                items: VecDeque::new(),
                bytes: 0,
                credit: 0,
            }
        })
    }

    /// Evicts from the longest queue, of which the first item stays, for `bytes` more of a peer with
    /// `queued` bytes; `None` if the queue of that peer would be the longest, or if it is suspected
    /// and the other is not.
    fn make_room(
        &mut self,
        newcomer: u64,
        queued: usize,
        bytes: usize,
        is_suspected: impl Fn(u64) -> bool,
    ) -> Option<Vec<T>> {
        let suspected = is_suspected(newcomer);
        let most = match suspected && self.bytes > 0 {
            true => self.max_bytes - self.max_bytes / RESERVE,
            false => self.max_bytes,
        };
        let excess = self.bytes.saturating_add(bytes).saturating_sub(most);
        // Items that are in the reserve already stay.
        let excess = excess.min(bytes);
        if excess == 0 {
            return Some(Vec::new());
        }
        let &(longest, peer) = self.by_bytes.last()?;
        if suspected && !is_suspected(peer) {
            return None;
        }
        // Decided before anything is evicted.
        let (mut freed, mut count) = (0, 0);
        let items = self.peers.get(&Some(peer))?.items.iter();
        for (size, _) in items.skip(1).rev() {
            if freed >= excess {
                break;
            }
            (freed, count) = (freed + size, count + 1);
        }
        if freed < excess || longest <= queued + bytes {
            return None;
        }
        let queue = self.peers.get_mut(&Some(peer))?;
        let keep = queue.items.len() - count;
        let evicted = queue
            .items
            .split_off(keep)
            .into_iter()
            .map(|(_, item)| item);
        let evicted = evicted.collect();
        self.items -= count;
        self.resize(Some(peer), longest, longest - freed);
        if self.peers.len() > 2 * self.items + SPARE_PEERS {
            self.forget_idle_peers();
        }
        Some(evicted)
    }

    /// Forgets peers whose items were all evicted.
    fn forget_idle_peers(&mut self) {
        self.peers.retain(|_, queue| !queue.items.is_empty());
        for ring in [&mut self.ring, &mut self.suspected_ring] {
            ring.retain(|peer| self.peers.contains_key(peer));
        }
    }

    /// Takes the next item in turn.
    pub(super) fn pop(&mut self, is_suspected: impl Fn(u64) -> bool) -> Option<T> {
        self.turn = (self.turn + 1) % SUSPECTED_TURN;
        loop {
            let suspected = self.ring.is_empty() || self.turn == 0;
            let peer = match suspected {
                true => self
                    .suspected_ring
                    .pop_front()
                    .or_else(|| self.ring.pop_front())?,
                false => self.ring.pop_front()?,
            };
            let now_suspected = peer.is_some_and(&is_suspected);
            if !suspected && now_suspected {
                self.suspected_ring.push_back(peer);
                continue;
            }
            let Some(queue) = self.peers.get_mut(&peer) else {
                continue;
            };
            let before = queue.bytes;
            let Some((bytes, item)) = queue.items.pop_front() else {
                // All of its items were evicted.
                self.peers.remove(&peer);
                continue;
            };
            if queue.credit < bytes {
                queue.credit = queue.credit.saturating_add(self.quantum);
            }
            if queue.credit < bytes {
                queue.items.push_front((bytes, item));
                match now_suspected {
                    true => self.suspected_ring.push_back(peer),
                    false => self.ring.push_back(peer),
                }
                continue;
            }
            queue.credit -= bytes;
            let is_empty = queue.items.is_empty();
            self.items -= 1;
            self.resize(peer, before, before - bytes);
            if is_empty {
                self.peers.remove(&peer);
            } else if now_suspected {
                self.suspected_ring.push_back(peer);
            } else {
                self.ring.push_back(peer);
            }
            return Some(item);
        }
    }

    pub(super) fn take_all(&mut self) -> Vec<T> {
        let empty = Self {
            quantum: self.quantum,
            ..Self::new(self.max_bytes)
        };
        let all = core::mem::replace(self, empty);
        let items = all.peers.into_values().flat_map(|queue| queue.items);
        items.map(|(_, item)| item).collect()
    }

    /// Records that the queue of `peer` has another length.
    fn resize(&mut self, peer: Peer, before: usize, after: usize) {
        if let Some(queue) = self.peers.get_mut(&peer) {
            queue.bytes = after;
        }
        let Some(number) = peer else { return };
        self.bytes = self.bytes - before + after;
        if before > 0 {
            self.by_bytes.remove(&(before, number));
        }
        if after > 0 {
            self.by_bytes.insert((after, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The node itself has one turn in each round, before or after a peer by order of arrival.
    #[test]
    fn own_items_are_served_in_turn() {
        for (arrived, served) in [
            ([None, None, None, Some(1)], [None, Some(1), None, None]),
            ([Some(1), None, None, None], [Some(1), None, None, None]),
        ] {
            let mut queue = FairQueue::new(100);
            for peer in arrived {
                assert!(queue.push(peer, 1, peer, |_| false).is_ok());
            }
            assert_eq!(served.map(|_| queue.pop(|_| false)), served.map(Some));
        }
    }

    /// A peer with items of three times the size is served a third as often.
    #[test]
    fn peers_are_served_by_bytes() {
        let mut queue = FairQueue::of_small_items(10_000, 10);
        for _ in 0..40 {
            for (peer, bytes) in [(1, 10), (2, 30)] {
                let pushed = queue.push(Some(peer), bytes, peer, |_| false);
                assert!(pushed.is_ok());
            }
        }
        let served = (0..40).filter_map(|_| queue.pop(|_| false));
        assert_eq!(served.filter(|peer| *peer == 1).count(), 30);
    }

    /// A full queue of one item from each of many peers takes nothing from a new peer, and a
    /// second item of one of them makes room.
    #[test]
    fn the_only_item_of_a_peer_is_kept() {
        for mut queue in [FairQueue::of_small_items(1000, 100), FairQueue::new(1000)] {
            for n in 0..9 {
                assert!(queue.push(Some(n), 100, n, |_| false).is_ok());
            }
            for bytes in [1, 99, 101] {
                let newcomer = queue.push(Some(100), 100 + bytes, 100, |_| false);
                assert_eq!(newcomer, Err(100), "{bytes}");
            }
            assert!(queue.push(Some(8), 100, 80, |_| false).is_ok());
            // A small item does not displace the only one of a peer, which is larger.
            assert_eq!(queue.push(Some(100), 10, 100, |_| false), Ok(vec![80]));
            assert_eq!(queue.push(Some(101), 95, 101, |_| false), Err(101));
        }
    }

    /// An item that is put back first is the next of its peer, after the turns of the others.
    #[test]
    fn an_item_that_is_put_back_is_served_after_the_others() {
        let mut queue = FairQueue::new(100);
        for (peer, item) in [(1, 10), (1, 11), (2, 20)] {
            assert!(queue.push(Some(peer), 1, item, |_| false).is_ok());
        }
        assert_eq!(queue.pop(|_| false), Some(10));
        queue.put_back(Some(1), 1, 10, true);
        let order: Vec<_> = (0..2).filter_map(|_| queue.pop(|_| false)).collect();
        assert_eq!(order, [20, 10]);
        queue.put_back(Some(1), 1, 10, false);
        let order: Vec<_> = (0..2).filter_map(|_| queue.pop(|_| false)).collect();
        assert_eq!(order, [11, 10]);
    }

    /// A queue with room for one item takes it from a suspected peer too.
    #[test]
    fn an_empty_queue_has_no_reserve() {
        let mut queue = FairQueue::new(8);
        assert!(queue.push(Some(1), 8, (), |_| true).is_ok());
        assert_eq!(queue.pop(|_| true), Some(()));
    }

    /// Evicted peers take no memory beyond the bound: each newcomer sends a little less than the
    /// one that it displaces, and nothing is served.
    #[test]
    fn evicted_peers_are_forgotten() {
        let mut queue = FairQueue::new(10_000);
        for n in 0..9_000 {
            let _ = queue.push(Some(n as u64), 10_000 - n, n, |_| false);
            assert!(queue.peers.len() <= 2 * queue.len() + SPARE_PEERS);
            assert_eq!(queue.ring.len(), queue.peers.len());
        }
        let left = queue.len();
        let served = (0..left).filter(|_| queue.pop(|_| false).is_some());
        assert_eq!((served.count(), queue.len()), (left, 0));
    }
}
