//! Bounded queue that is fair to peers.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// A network peer; `None` is the node itself.
pub(super) type Peer = Option<u64>;

/// FIFO queues of peers within one bound for all, served in turn by bytes (deficit round robin).
///
/// When it is full, the longest queue loses its last item, unless the newcomer's queue would
/// be the longest: a peer that sends much displaces only itself. The only item of a peer stays,
/// and is a small part of the bound ([`MAX_SHARE`]). The node's own items have a bound of the same
/// size for themselves.
///
/// Suspected peers, which send invalid signatures, are served once in eight turns while others
/// wait. They displace each other only, and the last eighth of the bytes is for others, to whom
/// all of their items give way. An item that was taken to be put back counts until it ends;
/// those of suspects are taken up to half of the bound, so that there is room for others.
pub(super) struct FairQueue<T> {
    peers: HashMap<Peer, PeerQueue<T>>,
    /// Peers with items, in order of service. Each is in one of the two.
    ring: VecDeque<Peer>,
    suspected_ring: VecDeque<Peer>,
    /// Queues of peers by length in bytes, without suspects and of suspects.
    by_bytes: [BTreeSet<(usize, u64)>; 2],
    /// Bytes of all peers without the node itself.
    bytes: usize,
    /// Of these, bytes of items that were taken from suspects.
    suspected_taken: usize,
    max_bytes: usize,
    items: usize,
    turn: u8,
    /// Bytes for which a peer gets credit in its turn.
    quantum: usize,
}

struct PeerQueue<T> {
    items: VecDeque<(usize, T)>,
    /// Bytes of `items`.
    queued: usize,
    /// Bytes of items that were taken to be put back.
    taken: usize,
    /// Bytes that the peer may be served without another turn.
    credit: usize,
    is_suspected: bool,
    is_in_ring: bool,
}

/// Items that were evicted for a new one, or the new one itself if there is no room.
pub(super) type Push<T> = Result<Vec<T>, T>;

/// Divisor of a bound in bytes: the most that one item of a peer may take of it.
pub(super) const MAX_SHARE: usize = 8;
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
            by_bytes: Default::default(),
            bytes: 0,
            suspected_taken: 0,
            max_bytes,
            items: 0,
            turn: 0,
            quantum: usize::MAX,
        }
    }

    /// Returns the number of items, without those that were taken.
    pub(super) fn len(&self) -> usize {
        self.items
    }

    /// Returns the bytes of the items, with those that were taken to be put back.
    pub(super) fn bytes(&self) -> usize {
        let own = self.peers.get(&None);
        self.bytes + own.map_or(0, |own| own.queued + own.taken)
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
        is_suspected: bool,
    ) -> Push<T> {
        let mut evicted = Vec::new();
        if let Some(number) = peer {
            self.set_suspected(number, is_suspected);
            match self.make_room(number, bytes, is_suspected) {
                Some(items) => evicted = items,
                None => return Err(item),
            }
        } else if self.bytes_of(None).saturating_add(bytes) > self.max_bytes {
            return Err(item);
        }
        self.insert(peer, (bytes, item), false, is_suspected);
        Ok(evicted)
    }

    /// Puts an item back that [`take`](Self::take) has returned, before or behind the others of
    /// its peer. Its bytes are counted already.
    pub(super) fn put_back(&mut self, peer: Peer, bytes: usize, item: T, is_first: bool) {
        if let Some(queue) = self.peers.get(&peer) {
            let (queued, taken) = (queue.queued, queue.taken - bytes);
            self.resize(peer, queued, taken);
        }
        self.insert(peer, (bytes, item), is_first, false);
    }

    /// Ends an item that [`take`](Self::take) has returned.
    pub(super) fn end(&mut self, peer: Peer, bytes: usize) {
        // None if everything was taken meanwhile.
        if let Some(queue) = self.peers.get(&peer) {
            let (queued, taken) = (queue.queued, queue.taken - bytes);
            self.resize(peer, queued, taken);
            self.forget_if_idle(peer);
        }
    }

    /// Tells whether a peer is suspected from now on.
    pub(super) fn set_suspected(&mut self, number: u64, is_suspected: bool) {
        let peer = Some(number);
        let Some(queue) = self.peers.get(&peer) else {
            return;
        };
        if queue.is_suspected != is_suspected {
            let (queued, taken) = (queue.queued, queue.taken);
            self.resize(peer, 0, 0);
            if let Some(queue) = self.peers.get_mut(&peer) {
                queue.is_suspected = is_suspected;
            }
            self.resize(peer, queued, taken);
        }
    }

    fn bytes_of(&self, peer: Peer) -> usize {
        self.peers
            .get(&peer)
            .map_or(0, |queue| queue.queued + queue.taken)
    }

    fn insert(&mut self, peer: Peer, item: (usize, T), is_first: bool, is_suspected: bool) {
        let queue = self.peers.entry(peer).or_insert_with(|| PeerQueue {
            items: VecDeque::new(),
            queued: 0,
            taken: 0,
            credit: 0,
            is_suspected,
            is_in_ring: false,
        });
        let (queued, taken) = (queue.queued + item.0, queue.taken);
        match is_first {
            true => queue.items.push_front(item),
            false => queue.items.push_back(item),
        }
        // A peer whose items were all evicted is still in its ring.
        if !queue.is_in_ring {
            queue.is_in_ring = true;
            self.ring.push_back(peer);
        }
        self.items += 1;
        self.resize(peer, queued, taken);
    }

    /// Evicts what makes room for `bytes` more of a peer: items of suspects if it is none, then
    /// those of the longest queue, of which the first stays. `None`, and nothing is evicted, if
    /// that is not enough or the queue of the peer would be the longest.
    fn make_room(&mut self, newcomer: u64, bytes: usize, is_suspected: bool) -> Option<Vec<T>> {
        let most = match is_suspected {
            true => self.max_bytes - self.max_bytes / RESERVE,
            false => self.max_bytes,
        };
        let excess = self.bytes.saturating_add(bytes).saturating_sub(most);
        // Items that are in the reserve already stay.
        let excess = excess.min(bytes);
        let (mut freed, mut plan) = (0, Vec::new());
        if !is_suspected {
            for &(_, peer) in self.by_bytes[1].iter().rev() {
                if freed >= excess {
                    break;
                }
                plan.push(self.last_items(peer, 0, excess, &mut freed));
            }
        }
        if freed < excess {
            let &(longest, peer) = self.by_bytes[usize::from(is_suspected)].last()?;
            if longest <= self.bytes_of(Some(newcomer)) + bytes {
                return None;
            }
            plan.push(self.last_items(peer, 1, excess, &mut freed));
        }
        if freed < excess {
            return None;
        }
        let mut evicted = Vec::new();
        for (peer, count) in plan {
            self.evict(peer, count, &mut evicted);
        }
        if self.peers.len() > 2 * self.items + SPARE_PEERS {
            self.forget_idle_peers();
        }
        Some(evicted)
    }

    /// Counts the last items of a peer until `excess` is freed; the first `kept` stay.
    fn last_items(
        &self,
        peer: u64,
        kept: usize,
        excess: usize,
        freed: &mut usize,
    ) -> (Peer, usize) {
        let mut count = 0;
        let queue = self.peers.get(&Some(peer));
        let items = queue
            .into_iter()
            .flat_map(|queue| queue.items.iter().skip(kept).rev());
        for (bytes, _) in items {
            if *freed >= excess {
                break;
            }
            *freed += bytes;
            count += 1;
        }
        (Some(peer), count)
    }

    /// Removes the last `count` items of a peer.
    fn evict(&mut self, peer: Peer, count: usize, evicted: &mut Vec<T>) {
        let Some(queue) = self.peers.get_mut(&peer) else {
            return;
        };
        let (mut queued, taken) = (queue.queued, queue.taken);
        for (bytes, item) in queue.items.drain(queue.items.len() - count..) {
            queued -= bytes;
            evicted.push(item);
        }
        self.items -= count;
        self.resize(peer, queued, taken);
    }

    /// Forgets peers whose items were all evicted.
    fn forget_idle_peers(&mut self) {
        for ring in [&mut self.ring, &mut self.suspected_ring] {
            ring.retain(|peer| {
                let queue = self.peers.get_mut(peer);
                queue.is_some_and(|queue| {
                    queue.is_in_ring = !queue.items.is_empty();
                    queue.is_in_ring
                })
            });
        }
        self.peers
            .retain(|_, queue| queue.is_in_ring || queue.taken > 0);
    }

    fn forget_if_idle(&mut self, peer: Peer) {
        let is_idle = |queue: &PeerQueue<T>| !queue.is_in_ring && queue.taken == 0;
        if self.peers.get(&peer).is_some_and(is_idle) {
            self.peers.remove(&peer);
        }
    }

    /// Removes the next item in turn.
    pub(super) fn pop(&mut self) -> Option<T> {
        let (peer, bytes, item) = self.take()?;
        self.end(peer, bytes);
        Some(item)
    }

    /// Takes the next item in turn, which counts until it is [put back](Self::put_back) or
    /// [ends](Self::end).
    pub(super) fn take(&mut self) -> Option<(Peer, usize, T)> {
        self.turn = (self.turn + 1) % SUSPECTED_TURN;
        let may_be_suspected = self.suspected_taken <= self.max_bytes / 2;
        loop {
            let is_turn_of_suspects = may_be_suspected && (self.ring.is_empty() || self.turn == 0);
            let suspected = match is_turn_of_suspects {
                true => self.suspected_ring.pop_front(),
                false => None,
            };
            let peer = match suspected {
                Some(peer) => peer,
                None => self.ring.pop_front()?,
            };
            let Some(queue) = self.peers.get_mut(&peer) else {
                continue;
            };
            if queue.is_suspected && !is_turn_of_suspects {
                self.suspected_ring.push_back(peer);
                continue;
            }
            let served = match queue.items.front() {
                Some((bytes, _)) if queue.credit < *bytes => {
                    queue.credit = queue.credit.saturating_add(self.quantum);
                    (queue.credit >= *bytes).then(|| queue.items.pop_front())
                }
                _ => Some(queue.items.pop_front()),
            };
            queue.is_in_ring = !queue.items.is_empty();
            if queue.is_in_ring {
                match queue.is_suspected {
                    true => self.suspected_ring.push_back(peer),
                    false => self.ring.push_back(peer),
                }
            }
            if let Some(Some((bytes, item))) = served {
                queue.credit -= bytes;
                if !queue.is_in_ring {
                    queue.credit = 0;
                }
                let (queued, taken) = (queue.queued - bytes, queue.taken + bytes);
                self.items -= 1;
                self.resize(peer, queued, taken);
                return Some((peer, bytes, item));
            }
            // All of its items were evicted, or it waits for more credit.
            self.forget_if_idle(peer);
        }
    }

    /// Removes all items, and forgets those that were taken.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        let empty = Self {
            quantum: self.quantum,
            ..Self::new(self.max_bytes)
        };
        let all = core::mem::replace(self, empty);
        let items = all.peers.into_values().flat_map(|queue| queue.items);
        items.map(|(_, item)| item).collect()
    }

    /// Records that a peer has other lengths.
    fn resize(&mut self, peer: Peer, queued: usize, taken: usize) {
        let Some(queue) = self.peers.get_mut(&peer) else {
            return;
        };
        let before = (queue.queued, queue.taken);
        (queue.queued, queue.taken) = (queued, taken);
        let Some(number) = peer else { return };
        self.bytes = self.bytes - before.0 - before.1 + queued + taken;
        if queue.is_suspected {
            self.suspected_taken = self.suspected_taken - before.1 + taken;
        }
        let by_bytes = &mut self.by_bytes[usize::from(queue.is_suspected)];
        if before.0 != queued {
            by_bytes.remove(&(before.0, number));
            if queued > 0 {
                by_bytes.insert((queued, number));
            }
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
                assert!(queue.push(peer, 1, peer, false).is_ok());
            }
            assert_eq!(served.map(|_| queue.pop()), served.map(Some));
        }
    }

    /// A peer with items of three times the size is served a third as often.
    #[test]
    fn peers_are_served_by_bytes() {
        let mut queue = FairQueue::of_small_items(10_000, 10);
        for _ in 0..40 {
            for (peer, bytes) in [(1, 10), (2, 30)] {
                let pushed = queue.push(Some(peer), bytes, peer, false);
                assert!(pushed.is_ok());
            }
        }
        let served = (0..40).filter_map(|_| queue.pop());
        assert_eq!(served.filter(|peer| *peer == 1).count(), 30);
    }

    /// A full queue of one item from each of many peers takes nothing from a new peer, and a
    /// second item of one of them makes room.
    #[test]
    fn the_only_item_of_a_peer_is_kept() {
        for mut queue in [FairQueue::of_small_items(1000, 100), FairQueue::new(1000)] {
            for n in 0..9 {
                assert!(queue.push(Some(n), 100, n, false).is_ok());
            }
            for bytes in [1, 99, 101] {
                let newcomer = queue.push(Some(100), 100 + bytes, 100, false);
                assert_eq!(newcomer, Err(100), "{bytes}");
            }
            assert!(queue.push(Some(8), 100, 80, false).is_ok());
            // A small item does not displace the only one of a peer, which is larger.
            assert_eq!(queue.push(Some(100), 10, 100, false), Ok(vec![80]));
            assert_eq!(queue.push(Some(101), 95, 101, false), Err(101));
        }
    }

    /// An item that is put back first is the next of its peer, after the turns of the others.
    #[test]
    fn an_item_that_is_put_back_is_served_after_the_others() {
        let mut queue = FairQueue::new(100);
        for (peer, item) in [(1, 10), (1, 11), (2, 20)] {
            assert!(queue.push(Some(peer), 1, item, false).is_ok());
        }
        assert_eq!(queue.take(), Some((Some(1), 1, 10)));
        queue.put_back(Some(1), 1, 10, true);
        let order: Vec<_> = (0..2).filter_map(|_| queue.pop()).collect();
        assert_eq!(order, [20, 10]);
        assert!(queue.push(Some(1), 1, 12, false).is_ok());
        assert_eq!(queue.take(), Some((Some(1), 1, 11)));
        queue.put_back(Some(1), 1, 11, false);
        let order: Vec<_> = (0..2).filter_map(|_| queue.pop()).collect();
        assert_eq!(order, [12, 11]);
    }

    /// Whatever is pushed, taken, put back and ended, by whomever: the bound holds, with what was
    /// taken, and suspects leave room for an item of the largest size to every other peer, as far as
    /// the items of those others do.
    #[test]
    fn the_bound_holds_and_suspects_give_way() {
        const MAX: usize = 800;
        let mut dice = 1_u64;
        let mut roll = |sides: u64| {
            dice = dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (dice >> 33) % sides
        };
        for round in 0..200 {
            let mut queue = FairQueue::new(MAX);
            let mut taken: Vec<(Peer, usize, usize)> = Vec::new();
            let mut suspects = [false; 20];
            for _ in 0..300 {
                let peer = roll(20);
                // Items of exactly the largest size, or of any.
                let bytes = [MAX / MAX_SHARE, 1 + roll(100) as usize][roll(2) as usize];
                match roll(6) {
                    0..3 => {
                        let suspected = suspects[peer as usize];
                        let is_trusted =
                            |peer: &Peer| peer.is_some_and(|peer| !suspects[peer as usize]);
                        let held = queue.peers.iter().filter(|(peer, _)| is_trusted(peer));
                        let held: usize = held.map(|(_, queue)| queue.queued + queue.taken).sum();
                        let pushed = queue.push(Some(peer), bytes, bytes, suspected).is_ok();
                        let is_sure = held + queue.suspected_taken + bytes <= MAX;
                        assert!(pushed || suspected || !is_sure, "{round}");
                    }
                    3 if taken.len() < 12 => taken.extend(queue.take()),
                    4 if !taken.is_empty() => {
                        let (peer, bytes, item) = taken.swap_remove(0);
                        match roll(2) {
                            0 => queue.put_back(peer, bytes, item, true),
                            _ => queue.end(peer, bytes),
                        }
                    }
                    _ => {
                        suspects[peer as usize] = roll(3) > 0;
                        queue.set_suspected(peer, suspects[peer as usize]);
                    }
                }
                let held = queue.peers.values().map(|queue| queue.queued + queue.taken);
                assert_eq!(held.sum::<usize>(), queue.bytes());
                assert!(queue.bytes() <= MAX);
                let of_taken = taken.iter().map(|(_, bytes, _)| *bytes).sum::<usize>();
                let queued = queue
                    .peers
                    .values()
                    .map(|queue| queue.queued)
                    .sum::<usize>();
                assert_eq!(queued + of_taken, queue.bytes());
            }
            for (peer, bytes, _) in taken {
                queue.end(peer, bytes);
            }
            let left = queue.len();
            let served = (0..left).filter(|_| queue.pop().is_some()).count();
            assert_eq!((served, queue.bytes(), queue.len()), (left, 0, 0));
        }
    }

    /// Evicted peers take no memory beyond the bound: each newcomer sends a little less than the
    /// one that it displaces, and nothing is served.
    #[test]
    fn evicted_peers_are_forgotten() {
        let mut queue = FairQueue::new(10_000);
        for n in 0..9_000 {
            let _ = queue.push(Some(n as u64), 10_000 - n, n, false);
            assert!(queue.peers.len() <= 2 * queue.len() + SPARE_PEERS);
            assert_eq!(queue.ring.len(), queue.peers.len());
        }
        let left = queue.len();
        let served = (0..left).filter(|_| queue.pop().is_some());
        assert_eq!((served.count(), queue.len()), (left, 0));
    }
}
