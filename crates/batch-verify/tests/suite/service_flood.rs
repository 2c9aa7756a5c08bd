//! Floods: loss and order of honest votes together with those of forging peers, by counts and not by time.

use core::pin::Pin;
use core::task::{Context, Waker};
use std::sync::{Arc, Mutex};
use std::task::Wake;

use batch_verify::{
    Pending, RateLimiter, RejectReason, ServiceError, Source, VerificationService, Vote,
};
use mldsa_core::MlDsa44;

use crate::fixture::{
    COMMITTEE, KEYS, MEMBERS, OwnedVote, VOTES, expected, forgery, from_peer, held, member, own,
    sign,
};

/// Bytes of a queued vote with a message of 8 bytes.
pub(crate) const VOTE_BYTES: usize = 8 + 2420 + 640;

fn forged(n: u64) -> OwnedVote {
    forgery(member(n as usize % MEMBERS), &n.to_le_bytes())
}

/// Honest and own votes that are lost while `peers` peers each submit as many
/// forgeries as the queue will take.
fn lost_in_a_flood(peers: u64) -> (usize, usize) {
    let (service, worker) = held(|builder| builder.queue_bytes(400 * VOTE_BYTES));
    let mut n = 0;
    let mut pending = Vec::new();
    let mut flood = |service: &VerificationService<MlDsa44>, count: usize| {
        for _ in 0..count {
            n += 1;
            if let Ok(one) = service.submit(from_peer(1000 + n % peers), &forged(n).as_vote()) {
                one.detach();
            }
        }
    };
    flood(&service, 10_000);
    for vote in 0..30 {
        pending.push((vote, service.submit(from_peer(1), &VOTES[vote].as_vote())));
        pending.push((
            vote + 30,
            service.submit(own(), &VOTES[vote + 30].as_vote()),
        ));
        flood(&service, 100);
    }
    let stats = service.stats();
    assert!(stats.queued_bytes <= 2 * 400 * VOTE_BYTES, "{stats:?}");
    worker.start();
    let mut lost = (0, 0);
    for (vote, pending) in pending {
        let lost = if vote < 30 { &mut lost.0 } else { &mut lost.1 };
        match pending.and_then(|pending| pending.wait()) {
            Err(ServiceError::QueueFull | ServiceError::Evicted) => *lost += 1,
            found => assert_eq!(found, expected(vote).map_err(ServiceError::Rejected)),
        }
    }
    lost
}

#[test]
fn no_honest_vote_is_lost_in_a_flood_by_a_few_peers() {
    assert_eq!(lost_in_a_flood(1), (0, 0));
    assert_eq!(lost_in_a_flood(10), (0, 0));
}

/// More peers than votes fit: those with one vote each displace each other's second, the node
/// itself loses nothing.
#[test]
fn the_node_loses_nothing_in_a_flood_by_a_thousand_peers() {
    let (_, own) = lost_in_a_flood(1000);
    assert_eq!(own, 0);
}

/// Peers are served in turn: the n-th vote of an honest peer is verified after at most n votes
/// of each other one.
#[test]
fn peers_are_served_in_turn() {
    // Rejections are not known before the worker starts, so no peer is suspected.
    let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0));
    for n in 0..400 {
        service
            .submit(from_peer(2 + n % 3), &forged(n).as_vote())
            .unwrap()
            .detach();
    }
    let mut honest = Awaited::default();
    honest.submit(&service, 1, from_peer(1), &VOTES[0]);
    let late = service.submit(from_peer(2), &VOTES[1].as_vote()).unwrap();
    worker.start();
    assert_eq!(late.wait(), Ok(()));
    // Long before the last vote of a peer with a hundred more.
    assert_eq!(honest.order(), [1]);
}

/// The node's own votes are served in turn with those of peers.
#[test]
fn own_votes_starve_no_peer() {
    let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0));
    let mut votes = Awaited::default();
    for n in 0..40 {
        votes.submit(&service, 0, own(), &forged(n));
    }
    votes.submit(&service, 1, from_peer(1), &VOTES[0]);
    worker.start();
    service.drain().wait();
    assert_eq!(votes.order()[..2], [0, 1]);
}

/// Votes of the current round are verified first; lower priorities have one slot in eight each.
#[test]
fn priorities() {
    let peer = Source::peer(1);
    let sources = [peer.catch_up(), peer.next_round(), peer];
    let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0));
    let mut votes = Awaited::default();
    for (class, source) in sources.into_iter().enumerate() {
        for vote in &VOTES[16 * class..][..16] {
            votes.submit(&service, class, source, vote);
        }
    }
    worker.start();
    service.drain().wait();
    let order = votes.order();
    assert_eq!(order[..8], [2, 2, 2, 2, 2, 2, 1, 0]);
    assert_eq!(order[8..16], [2, 2, 2, 2, 2, 2, 1, 0]);
    assert_eq!(order[16..24], [2, 2, 2, 2, 1, 1, 1, 0]);
    assert_eq!(order.len(), 48);
}

/// Long messages end a batch early; the slots of lower priorities are reserved all the same.
#[test]
fn long_messages_starve_no_priority() {
    let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0));
    let mut votes = Awaited::default();
    for n in 0..32 {
        let message = [n as u8; 16 << 10];
        votes.submit(&service, 0, from_peer(n), &forgery(member(0), &message));
    }
    votes.submit(&service, 1, from_peer(1).next_round(), &VOTES[0]);
    votes.submit(&service, 2, from_peer(1).catch_up(), &VOTES[1]);
    worker.start();
    service.drain().wait();
    assert_eq!(votes.order()[..9], [0, 0, 0, 0, 0, 0, 1, 2, 0]);
}

/// Answers that are awaited, and the classes of those that have come, in their order: one worker
/// answers in the order of verification.
#[derive(Default)]
pub(crate) struct Awaited {
    answers: Vec<Pending<Result<(), ServiceError>>>,
    order: Arc<Mutex<Vec<usize>>>,
}

impl Awaited {
    fn submit(
        &mut self,
        service: &VerificationService<MlDsa44>,
        class: usize,
        source: Source,
        vote: &OwnedVote,
    ) {
        let mut answer = service.submit(source, &vote.as_vote()).unwrap();
        self.watch(class, &mut answer);
        self.answers.push(answer);
    }

    /// Logs when an answer comes that the caller keeps.
    pub(crate) fn watch<T>(&self, class: usize, answer: &mut Pending<T>) {
        let waker = Waker::from(Arc::new(Log(class, Arc::clone(&self.order))));
        let mut context = Context::from_waker(&waker);
        assert!(Pin::new(answer).poll(&mut context).is_pending());
    }

    pub(crate) fn order(&self) -> Vec<usize> {
        self.order.lock().unwrap().clone()
    }
}

/// Writes its number when it is woken.
struct Log(usize, Arc<Mutex<Vec<usize>>>);

impl Wake for Log {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}

/// A member that signs without end displaces only its own votes from the cache.
#[test]
fn a_member_fills_its_own_share_of_the_cache() {
    let service = VerificationService::builder(COMMITTEE.clone()).threads(1);
    let service = service.cache_bytes(40 * 3000).build().unwrap();
    let honest: Vec<OwnedVote> = (1..MEMBERS)
        .map(|n| OwnedVote::new(member(n), b"height 7", sign(&KEYS[n], b"height 7")))
        .collect();
    for vote in &honest {
        assert_eq!(service.verify(&vote.as_vote()), Ok(()));
    }
    for height in 0..200_u64 {
        let message = height.to_le_bytes();
        let vote = OwnedVote::new(member(0), &message, sign(&KEYS[0], &message));
        assert_eq!(service.verify(&vote.as_vote()), Ok(()));
        assert!(service.stats().cached_bytes <= 40 * 3000);
    }
    assert!(service.stats().cached_votes > 30);
    assert!(honest.iter().all(|vote| service.is_cached(&vote.as_vote())));
}

/// Peers whose last vote was rejected are served in one turn of eight while others wait. The
/// replay of a cached vote does not clear them.
#[test]
fn suspected_peers_yield() {
    let (service, worker) = held(|builder| builder.batch(8));
    assert_eq!(service.verify(&VOTES[1].as_vote()), Ok(()));
    // Malformed votes are answered at once, and make their senders suspects.
    for peer in 100..200 {
        let vote = OwnedVote::new(member(0), b"x", vec![0; 3]);
        assert!(service.submit(from_peer(peer), &vote.as_vote()).is_err());
        let replay = service
            .submit(from_peer(peer), &VOTES[1].as_vote())
            .unwrap();
        assert_eq!(replay.wait(), Ok(()));
    }
    let mut votes = Awaited::default();
    let mut submit = |class, peer, vote: &OwnedVote| {
        votes.submit(&service, class, from_peer(peer), vote);
    };
    (0..400).for_each(|n| submit(0, 100 + n % 100, &forged(n)));
    (0..21).for_each(|n| submit(1, 1, &VOTES[7 * (n % 8)]));
    worker.start();
    service.drain().wait();
    let order = votes.order();
    assert_eq!(order[..24].iter().sum::<usize>(), 21);
}

/// Thousands of other peers do not displace a suspect.
#[test]
fn suspects_are_kept_beyond_thousands_of_others() {
    let (service, worker) = held(|builder| builder.batch(8));
    for peer in 0..5000 {
        let vote = OwnedVote::new(member(0), b"x", vec![0; 3]);
        assert!(service.submit(from_peer(peer), &vote.as_vote()).is_err());
    }
    let mut votes = Awaited::default();
    let mut submit = |class, peer, vote: &OwnedVote| {
        votes.submit(&service, class, from_peer(peer), vote);
    };
    (0..40).for_each(|n| submit(0, 0, &forged(n)));
    (0..21).for_each(|n| submit(1, 5000, &forged(100 + n)));
    worker.start();
    service.drain().wait();
    // Of eight turns one is of the suspect.
    assert_eq!(votes.order()[..8].iter().sum::<usize>(), 7);
}

/// Votes of earlier heights, replayed by a peer without a key, displace no votes of the current one
/// from the cache.
#[test]
fn replays_leave_the_cache_first() {
    let service = VerificationService::builder(COMMITTEE.clone()).threads(1);
    let service = service.cache_bytes(20 * 3000).build().unwrap();
    let vote = |n: usize, message: &[u8]| {
        OwnedVote::new(
            member(n % MEMBERS),
            message,
            sign(&KEYS[n % MEMBERS], message),
        )
    };
    let submit = |source, vote: &OwnedVote| {
        let answer = service.submit(source, &vote.as_vote()).unwrap();
        assert_eq!(answer.wait(), Ok(()));
    };
    let current: Vec<_> = (0..MEMBERS).map(|n| vote(n, b"height 9")).collect();
    current.iter().for_each(|vote| submit(from_peer(1), vote));
    for old in 0..100_usize {
        let old = vote(old, &old.to_le_bytes());
        // Twice, so that it is looked up.
        submit(from_peer(3).catch_up(), &old);
        submit(from_peer(3).catch_up(), &old);
    }
    assert!(
        current
            .iter()
            .all(|vote| service.is_cached(&vote.as_vote()))
    );
    assert!(service.stats().cached_bytes <= 20 * 3000);
    // Later votes displace the old ones.
    let next: Vec<_> = (0..MEMBERS).map(|n| vote(n, b"height 10")).collect();
    next.iter().for_each(|vote| submit(from_peer(1), vote));
    let recent = current.iter().chain(&next);
    assert!(
        recent
            .into_iter()
            .all(|vote| service.is_cached(&vote.as_vote()))
    );
}

/// A replay that the cache answers is no merit of its sender.
#[test]
fn replays_earn_nothing() {
    #[derive(Clone, Default)]
    struct Merits(Arc<Mutex<Vec<u64>>>);

    impl RateLimiter for Merits {
        fn try_acquire(&self, _: u64, _: usize) -> bool {
            true
        }

        fn on_verdict(&self, peer: u64, _: Result<(), RejectReason>) {
            self.0.lock().unwrap().push(peer);
        }
    }

    let merits = Merits::default();
    let builder = VerificationService::builder(COMMITTEE.clone()).threads(1);
    let service = builder.rate_limiter(merits.clone()).build().unwrap();
    for peer in [1, 2, 2, 2] {
        let answer = service.submit(from_peer(peer), &VOTES[0].as_vote());
        assert_eq!(answer.unwrap().wait(), Ok(()));
    }
    service.drain().wait();
    assert_eq!(*merits.0.lock().unwrap(), [1]);
}

/// A vote that arrives waits for no more than eight votes of the peer that floods the queue.
#[test]
fn a_flooding_peer_fills_no_batch() {
    let (service, worker) = held(|builder| builder.cache_bytes(0));
    for n in 0..64 {
        let answer = service.submit(from_peer(9), &forged(n).as_vote()).unwrap();
        answer.detach();
    }
    worker.start();
    service.drain().wait();
    assert_eq!(service.stats().batches, 8);
}

/// Nor does one whose votes are valid fill the batch of the votes of others.
#[test]
fn a_peer_of_valid_votes_fills_no_batch() {
    let (service, worker) = held(|builder| builder.cache_bytes(0));
    let submit = |peer, n: u64| {
        let message = n.to_le_bytes();
        let signature = sign(&KEYS[0], &message);
        let vote = Vote::new(member(0), &message, &signature);
        service.submit(from_peer(peer), &vote).unwrap()
    };
    let flood: Vec<_> = (0..40).map(|n| submit(9, n)).collect();
    let others: Vec<_> = (100..109).map(|n| submit(n, n)).collect();
    worker.start();
    service.drain().wait();
    for answer in flood.into_iter().chain(others) {
        assert_eq!(answer.wait(), Ok(()));
    }
    // Nine and eight votes, then eight in each.
    assert_eq!(service.stats().batches, 5);
}
