//! Bounds in bytes: items as large as a bound keep nobody out, and every item has its price.

use std::sync::{Arc, Mutex};

use batch_verify::{
    MemberId, Pending, QuorumError, QuorumRule, RateLimiter, RejectReason, ServiceError,
};

use crate::fixture::{KEYS, MEMBERS, forgery, from_peer, held, member, own, sign};
use crate::quorum_flood::{GATE, Gate, LARGE, forged, quorum_bytes, voter};
use crate::service_flood::VOTE_BYTES;

/// Peers whose only quorums, each as large as the queue allows, fill it: once they are known to be
/// forged they give way, and the certificates of other peers are answered.
#[test]
fn quorums_of_exactly_the_bound_keep_none_out() {
    let (gate, mut keeper) = Gate::new();
    let bound = 8 * quorum_bytes(200);
    let (service, worker) = held(|builder| {
        let builder = builder.queue_bytes(bound).cache_bytes(0);
        builder.rate_limiter(gate)
    });
    let rule = QuorumRule::AnyValid;
    let submit = |source, votes| service.submit_quorum(source, &LARGE, *b"b", votes, rule);
    let attackers: Vec<_> = (993..=GATE)
        .map(|peer| submit(from_peer(peer), forged(200)).unwrap())
        .collect();
    assert_eq!(service.stats().queued_bytes, bound);
    // A vote more, or a byte in another, is too much for a peer, and not for the node itself.
    let mut long = forged(200);
    long[0].1 = [0; 2421].into();
    for votes in [forged(201), long] {
        let too_large = submit(from_peer(1), votes.clone());
        assert_eq!(too_large.unwrap_err(), ServiceError::TooLarge);
        submit(own(), votes).unwrap().detach();
    }
    worker.start();
    // The last of the attackers has its first verdict; it is with the worker, and counted.
    keeper.wait();
    let known: Vec<(MemberId, Box<[u8]>)> = (0..MEMBERS)
        .map(|n| (voter(n), sign(&KEYS[n], b"b").into()))
        .collect();
    let certificates: Vec<_> = (1..=150)
        .map(|peer| submit(from_peer(peer), known.clone()).unwrap())
        .collect();
    let own_bytes = 2 * quorum_bytes(200) + 2540 + 1;
    assert!(service.stats().queued_bytes <= bound + own_bytes);
    keeper.open();
    for certificate in certificates {
        assert!(certificate.wait().is_ok());
    }
    let attackers = attackers
        .into_iter()
        .map(|quorum| quorum.wait().unwrap_err());
    let displaced = attackers.filter(|error| *error == QuorumError::Abandoned);
    assert_eq!(displaced.count(), 6);
}

/// Votes as large as the queue allows, of peers that send invalid signatures, give way too.
#[test]
fn votes_of_exactly_the_bound_keep_none_out() {
    let (service, _worker) = held(|builder| builder.queue_bytes(8 * VOTE_BYTES));
    let submit = |source, message: &[u8]| {
        let vote = forgery(member(0), message);
        service.submit(source, &vote.as_vote()).map(Pending::detach)
    };
    assert_eq!(submit(from_peer(1), &[0; 9]), Err(ServiceError::TooLarge));
    assert_eq!(submit(own(), &[0; 9]), Ok(()));
    for peer in 100..110 {
        let malformed = batch_verify::Vote::new(member(0), b"x", &[0; 3]);
        assert!(service.submit(from_peer(peer), &malformed).is_err());
        let is_first = peer < 107;
        assert_eq!(submit(from_peer(peer), &[0; 8]).is_ok(), is_first);
    }
    for peer in 0..8 {
        assert_eq!(submit(from_peer(peer), &[0; 8]), Ok(()));
    }
    // The only votes of others stay.
    for peer in [8, 100] {
        assert_eq!(
            submit(from_peer(peer), &[0; 8]),
            Err(ServiceError::QueueFull)
        );
    }
    let stats = service.stats();
    assert_eq!((stats.evicted, stats.queued_votes), (7, 9));
}

/// A submitted quorum has the price of votes: the limit of messages, the budget of its peer.
#[test]
fn quorums_have_a_price() {
    let budget = Budget::default();
    let (service, worker) =
        held(|builder| builder.max_message_bytes(100).rate_limiter(budget.clone()));
    let submit = |peer, message: &[u8], votes| {
        let rule = QuorumRule::AnyValid;
        service.submit_quorum(from_peer(peer), &LARGE, message, votes, rule)
    };
    let long = submit(1, &[0; 101], forged(MEMBERS));
    assert_eq!(long.unwrap_err(), ServiceError::TooLarge);
    let poor = submit(POOR, &[0; 100], forged(MEMBERS));
    assert_eq!(poor.unwrap_err(), ServiceError::PeerBudget);
    // An answer that is known at once has the price of its bytes too: a duplicate, conflicting claims,
    // an unknown member, too little weight.
    let vote = |member, byte| (member, vec![byte; 2420].into());
    for known in [
        [vote(voter(0), 0), vote(voter(0), 0)],
        [vote(voter(0), 0), vote(voter(0), 1)],
        [vote(voter(0), 0), vote(member(0), 0)],
        [vote(voter(0), 0), vote(voter(1), 0)],
    ] {
        let rule = QuorumRule::Certificate;
        let submit =
            |peer| service.submit_quorum(from_peer(peer), &LARGE, *b"b", known.to_vec(), rule);
        assert_eq!(submit(POOR).unwrap_err(), ServiceError::PeerBudget);
        assert!(submit(1).unwrap().wait().is_err());
        let mut book = budget.0.lock().unwrap();
        assert_eq!((book.acquired, book.released), (0, quorum_bytes(2)));
        book.released = 0;
    }
    let first = submit(1, &[0; 100], forged(MEMBERS)).unwrap();
    let stats = service.stats();
    let taken = stats.queued_bytes;
    assert!(taken > 100 + MEMBERS * 2420);
    assert_eq!(budget.0.lock().unwrap().acquired, taken);
    assert_eq!(
        (
            stats.quorums,
            stats.queued_quorums,
            stats.too_large,
            stats.peer_budget
        ),
        (11, 1, 1, 5)
    );
    worker.start();
    assert!(first.wait().is_err());
    service.drain().wait();
    let stats = service.stats();
    let book = budget.0.lock().unwrap();
    assert_eq!((book.acquired, book.verdicts), (0, stats.verified));
    assert!(stats.verified > 0 && stats.rejected == stats.verified);
}

/// The peer without a budget.
const POOR: u64 = 999;

#[derive(Clone, Default)]
struct Budget(Arc<Mutex<Book>>);

#[derive(Default)]
struct Book {
    acquired: usize,
    released: usize,
    verdicts: u64,
}

impl RateLimiter for Budget {
    fn try_acquire(&self, peer: u64, bytes: usize) -> bool {
        if peer != POOR {
            self.0.lock().unwrap().acquired += bytes;
        }
        peer != POOR
    }

    fn on_verdict(&self, _: u64, _: Result<(), RejectReason>) {
        self.0.lock().unwrap().verdicts += 1;
    }

    fn release(&self, _: u64, bytes: usize) {
        let mut book = self.0.lock().unwrap();
        book.acquired -= bytes;
        book.released += bytes;
    }
}
