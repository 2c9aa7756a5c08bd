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
        // The peer is gone if everything was taken meanwhile.
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
            // A suspect leaves the other ring when it is next looked at.
            let ring = &mut self.suspected_ring;
            if !is_suspected && let Some(place) = ring.iter().position(|other| *other == peer) {
                ring.remove(place);
                self.ring.push_back(peer);
            }
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
mod tests;
