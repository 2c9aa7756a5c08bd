//! The queue alone.

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

/// A peer that is no longer suspected is served in turn with the others.
#[test]
fn a_peer_that_is_cleared_leaves_the_suspects() {
    let mut queue = FairQueue::new(1000);
    for (peer, is_suspected) in [(1, true), (1, true), (2, false), (2, false), (2, false)] {
        assert!(queue.push(Some(peer), 1, peer, is_suspected).is_ok());
    }
    // Now peer 1 is in the ring of suspects.
    assert_eq!(queue.pop(), Some(2));
    queue.set_suspected(1, false);
    let order: Vec<_> = (0..4).filter_map(|_| queue.pop()).collect();
    assert_eq!(order, [2, 1, 2, 1]);
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
