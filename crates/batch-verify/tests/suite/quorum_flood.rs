//! Floods of quorums: order, room and loss, by counts and not by time.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, LazyLock, Mutex, mpsc};

use batch_verify::{
    Committee, MemberId, Pending, QuorumError, QuorumRule, RateLimiter, RejectReason, ServiceError,
    VerificationService,
};
use mldsa_core::MlDsa44;

use crate::fixture::{CONTEXT, KEYS, MEMBERS, VOTES, forgery, from_peer, held, own, public, sign};
use crate::service_flood::Awaited;

/// Six voters, of whom five are a quorum, and others of little weight: a peer's quorum may have two
/// votes for each of the hundred.
pub(crate) static LARGE: LazyLock<Committee<MlDsa44>> = LazyLock::new(|| {
    let voters = KEYS[..MEMBERS]
        .iter()
        .map(|key| (public(key).to_vec(), 1000));
    let others = (0..100 - MEMBERS as u8).map(|n| (vec![n; 1312], 1));
    Committee::builder(CONTEXT)
        .build(voters.chain(others))
        .unwrap()
});

pub(crate) fn voter(n: usize) -> MemberId {
    LARGE.member(n as u32).unwrap()
}

/// Bytes of a queued quorum of [`LARGE`] with a message of one byte.
pub(crate) const fn quorum_bytes(votes: usize) -> usize {
    1024 + 1 + votes * (2420 + 120) + 100 * 32
}

/// Quorums and batches of votes are taken in turn: certificates without end delay no vote.
#[test]
fn quorums_starve_no_vote() {
    let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0));
    let order = Awaited::default();
    let mut quorums: Vec<_> = (0..4)
        .map(|_| {
            let forged = (0..MEMBERS).map(|n| (voter(n), [0; 2420].into()));
            let rule = QuorumRule::AnyValid;
            let quorum = service.submit_quorum(own(), &LARGE, *b"b", forged.collect(), rule);
            quorum.unwrap()
        })
        .collect();
    let mut votes: Vec<_> = (0..16)
        .map(|n| service.submit(own(), &VOTES[n].as_vote()).unwrap())
        .collect();
    quorums.iter_mut().for_each(|quorum| order.watch(0, quorum));
    votes.iter_mut().for_each(|vote| order.watch(1, vote));
    worker.start();
    service.drain().wait();
    let expected = [&[0][..], &[1; 8], &[0], &[1; 8], &[0, 0]].concat();
    assert_eq!(order.order(), expected);
}

/// A large quorum makes way for queued votes after each batch of its own.
#[test]
fn large_quorums_delay_no_vote() {
    let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0));
    let forged = (0..100_usize).map(|n| {
        let vote = forgery(voter(n % MEMBERS), &n.to_le_bytes());
        (vote.member, vote.signature.into())
    });
    let rule = QuorumRule::AnyValid;
    let quorum = service.submit_quorum(own(), &LARGE, *b"b", forged.collect(), rule);
    let mut quorum = quorum.unwrap();
    let votes = VOTES[..16].iter();
    let mut votes: Vec<_> = votes
        .map(|vote| service.submit(own(), &vote.as_vote()).unwrap())
        .collect();
    let order = Awaited::default();
    order.watch(1, &mut quorum);
    votes.iter_mut().for_each(|vote| order.watch(0, vote));
    worker.start();
    service.drain().wait();
    assert_eq!(order.order(), [&[0; 16][..], &[1]].concat());
}

/// Quorums in bounded memory: the one peer that submits without end displaces its own.
#[test]
fn quorums_displace_no_other_peers() {
    let (service, worker) = held(|builder| builder.queue_bytes(8 * quorum_bytes(100)));
    let rule = QuorumRule::AnyValid;
    let submit = |peer, votes: usize| {
        let votes = (0..votes).map(|n| (voter(n % MEMBERS), vec![0; 2420].into()));
        service.submit_quorum(from_peer(peer), &LARGE, *b"b", votes.collect(), rule)
    };
    let flood: Vec<_> = (0..100).flat_map(|_| submit(9, 100).ok()).collect();
    assert_eq!(flood.len(), 8);
    let honest = submit(1, 6).unwrap();
    let displaced = submit(2, 90).unwrap();
    assert_eq!(submit(9, 100).unwrap_err(), ServiceError::QueueFull);
    worker.start();
    for quorum in [honest, displaced] {
        assert!(matches!(
            quorum.wait(),
            Err(QuorumError::Insufficient { .. })
        ));
    }
    let flood = flood.into_iter().map(|quorum| quorum.wait().unwrap_err());
    assert_eq!(
        flood
            .filter(|error| *error == QuorumError::Abandoned)
            .count(),
        1
    );
}

/// Votes forged by turns in the name of every member, enough for a quorum if they were valid.
pub(crate) fn forged(count: usize) -> Vec<(MemberId, Box<[u8]>)> {
    let vote = |n: usize| forgery(voter(n % MEMBERS), &n.to_le_bytes()).signature;
    (0..count)
        .map(|n| (voter(n % MEMBERS), vote(n).into()))
        .collect()
}

/// The quorums of two peers are served in turn by signatures: a small one is not behind the whole
/// of a large one.
#[test]
fn small_quorums_do_not_wait_for_large_ones() {
    let (service, worker) = held(|builder| builder.cache_bytes(0));
    let submit = |peer, count| {
        let rule = QuorumRule::AnyValid;
        service.submit_quorum(from_peer(peer), &LARGE, *b"b", forged(count), rule)
    };
    let order = Awaited::default();
    let mut quorums = [submit(1, 200), submit(2, 16)].map(Result::unwrap);
    for (n, quorum) in quorums.iter_mut().enumerate() {
        order.watch(n, quorum);
    }
    worker.start();
    service.drain().wait();
    assert_eq!(order.order(), [1, 0]);
}

/// Forgeries in front of a known certificate make their sender a suspect, although the answer is
/// a quorum.
#[test]
fn forgeries_before_a_certificate_are_no_recommendation() {
    let (gate, keeper) = Gate::new();
    let (service, worker) =
        held(|builder| builder.queue_bytes(8 * quorum_bytes(14)).rate_limiter(gate));
    let known: Vec<(MemberId, Box<[u8]>)> = (0..MEMBERS)
        .map(|n| (voter(n), sign(&KEYS[n], b"b").into()))
        .collect();
    let submit =
        |peer, votes, rule| service.submit_quorum(from_peer(peer), &LARGE, *b"b", votes, rule);
    worker.start();
    let rule = QuorumRule::Certificate;
    assert!(submit(100, known.clone(), rule).unwrap().wait().is_ok());
    let mixed = [forged(8), known.clone()].concat();
    let answer = submit(7, mixed, QuorumRule::AnyValid).unwrap().wait();
    assert_eq!(answer.unwrap().weight(), 5000);
    // A repeated quorum, whose votes are cached, does not clear its sender.
    assert!(submit(7, known.clone(), rule).unwrap().wait().is_ok());

    // A worker is kept in the verdict on another vote.
    let held = service.submit(from_peer(GATE), &VOTES[0].as_vote());
    keeper.wait();
    let room = |peer| {
        (0..20)
            .map_while(|_| submit(peer, known.clone(), rule).ok())
            .collect::<Vec<_>>()
    };
    // The last eighth is not for suspects, all of whose quorums give way.
    let of_suspect = room(7);
    assert_eq!(of_suspect.len(), 14);
    let of_other = room(100);
    assert_eq!(of_other.len(), 16);
    keeper.open_once();
    assert_eq!(held.unwrap().wait(), Ok(()));
}

/// Work on a quorum ends within one slice of its end: the answer is dropped, or the service shut
/// down, or its last handle dropped.
#[test]
fn a_running_quorum_ends_within_a_slice() {
    for how in 0..3 {
        let (gate, mut keeper) = Gate::new();
        let (service, worker) = held(|builder| builder.rate_limiter(gate));
        let rule = QuorumRule::AnyValid;
        let quorum = service.submit_quorum(from_peer(GATE), &LARGE, *b"b", forged(200), rule);
        let mut quorum = Some(quorum.unwrap());
        let worker = worker.start();
        // The worker has verified the first slice.
        keeper.wait();
        let mut service = Some(service);
        match how {
            0 => drop(quorum.take()),
            1 => service.iter().for_each(|service| service.shutdown()),
            _ => drop(service.take()),
        }
        keeper.open();
        if let Some(service) = service {
            service.drain().wait();
            let verified = service.stats().verified;
            assert!((1..=8).contains(&verified), "{how}: {verified}");
        }
        worker.join().unwrap();
        if let Some(quorum) = quorum {
            assert_eq!(quorum.wait(), Err(QuorumError::Abandoned));
        }
    }
}

/// Forgeries of which the first two decide: each is the only vote of its member.
fn decided(count: usize) -> Vec<(MemberId, Box<[u8]>)> {
    let members = [4, 5].into_iter().chain((0..).map(|n| n % 4));
    let votes = forged(count).into_iter().zip(members);
    votes.map(|((_, vote), n)| (voter(n), vote)).collect()
}

/// A quorum is answered when its count ends, with its place in the budget. Its memory is freed
/// in pieces, between which votes are verified.
#[test]
fn answered_quorums_are_freed_in_pieces() {
    for is_cancelled in [true, false] {
        let (gate, keeper) = Gate::new();
        let left = Arc::clone(&gate.2);
        let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0).rate_limiter(gate));
        let rule = QuorumRule::AnyValid;
        let quorum = service.submit_quorum(from_peer(1), &LARGE, *b"b", decided(200), rule);
        let mut quorum = (!is_cancelled).then_some(quorum.unwrap());
        let votes = four_batches(&service);
        let worker = worker.start();
        // 136, 72 and 8 votes are left.
        for queued in [1, 1, 1, 0] {
            keeper.wait();
            if let Some(quorum) = &mut quorum.take() {
                let answer = Pin::new(quorum).poll(&mut Context::from_waker(Waker::noop()));
                let Poll::Ready(Err(QuorumError::Insufficient { .. })) = answer else {
                    panic!("{answer:?}");
                };
            }
            assert_eq!(left.lock().unwrap()[0], 1);
            assert_eq!(service.stats().queued_quorums, queued, "{is_cancelled}");
            keeper.open_once();
            // The others of the batch.
            (1..8).for_each(|_| keeper.pass());
        }
        service.drain().wait();
        assert_eq!(service.stats().cancelled, u64::from(is_cancelled));
        drop((votes, service));
        worker.join().unwrap();
    }
}

/// Whatever happens to the memory of an answered quorum changes no answer and no counter.
#[test]
fn answered_quorums_are_not_lost() {
    for is_shut_down in [false, true] {
        let (gate, mut keeper) = Gate::new();
        let left = Arc::clone(&gate.2);
        let (service, worker) = held(|builder| {
            builder
                .batch(8)
                .queue_bytes(8 * quorum_bytes(200))
                .rate_limiter(gate)
        });
        let submit = |peer, votes| {
            let rule = QuorumRule::AnyValid;
            service.submit_quorum(from_peer(peer), &LARGE, *b"b", votes, rule)
        };
        let mut quorums = vec![submit(1, decided(200)).unwrap()];
        if !is_shut_down {
            // Before what is left of the first one, which is the one to be evicted.
            quorums.push(submit(1, decided(20)).unwrap());
            quorums.extend((3..9).map(|peer| submit(peer, decided(200)).unwrap()));
        }
        let vote = service.submit(from_peer(GATE), &VOTES[0].as_vote());
        let worker = worker.start();
        keeper.wait();
        match is_shut_down {
            true => service.shutdown(),
            false => quorums.push(submit(2, decided(200)).unwrap()),
        }
        let stats = service.stats();
        assert_eq!(stats.queued_quorums, quorums.len() - 1);
        assert_eq!((stats.evicted, stats.shutting_down), (0, 0));
        keeper.open();
        for quorum in quorums {
            let answer = quorum.wait();
            assert!(matches!(answer, Err(QuorumError::Insufficient { .. })));
        }
        assert_eq!(vote.unwrap().wait(), Ok(()));
        drop(service);
        worker.join().unwrap();
        // Each place in the budget was given back once.
        let mut left = left.lock().unwrap().clone();
        left.sort_unstable();
        let expected: &[u64] = match is_shut_down {
            true => &[1, GATE],
            false => &[1, 1, 2, 3, 4, 5, 6, 7, 8, GATE],
        };
        assert_eq!(left, expected);
    }
}

/// A peer's next quorum waits for one piece of each that has ended.
#[test]
fn the_memory_of_quorums_delays_no_quorum() {
    let (gate, keeper) = Gate::new();
    let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0).rate_limiter(gate));
    let submit = |votes| {
        let rule = QuorumRule::AnyValid;
        let quorum = service.submit_quorum(own(), &LARGE, *b"b", votes, rule);
        quorum.unwrap()
    };
    (0..3).for_each(|_| drop(submit(decided(200))));
    let mut last = submit(decided(8));
    let votes = four_batches(&service);
    let worker = worker.start();
    let answers = [(); 4].map(|()| {
        keeper.wait();
        let answer = Pin::new(&mut last).poll(&mut Context::from_waker(Waker::noop()));
        keeper.open_once();
        // The others of the batch.
        (1..8).for_each(|_| keeper.pass());
        answer.is_ready()
    });
    assert_eq!(answers, [false, false, false, true]);
    drop((votes, service));
    worker.join().unwrap();
}

/// The peer whose verdicts keep a worker.
pub(crate) const GATE: u64 = 1000;

/// Submits the votes of four batches of eight by this peer.
fn four_batches(service: &VerificationService<MlDsa44>) -> Vec<Pending<Result<(), ServiceError>>> {
    (0..32)
        .map(|n| service.submit(from_peer(GATE), &VOTES[n % 8].as_vote()))
        .map(Result::unwrap)
        .collect()
}

/// Has the peers of work in the order in which it leaves the queue.
pub(crate) struct Gate(
    mpsc::Sender<()>,
    Mutex<mpsc::Receiver<()>>,
    Arc<Mutex<Vec<u64>>>,
);

/// The test's side of a gate.
pub(crate) struct Keeper(mpsc::Receiver<()>, Option<mpsc::Sender<()>>);

impl Gate {
    pub(crate) fn new() -> (Self, Keeper) {
        let ((enter, entered), (release, released)) = (mpsc::channel(), mpsc::channel());
        let gate = Self(enter, Mutex::new(released), Arc::default());
        (gate, Keeper(entered, Some(release)))
    }
}

impl Keeper {
    /// Waits until a worker is in the gate.
    pub(crate) fn wait(&self) {
        self.0.recv().unwrap();
    }

    /// Lets the worker out.
    fn open_once(&self) {
        self.1.as_ref().unwrap().send(()).unwrap();
    }

    /// Lets the next worker through.
    fn pass(&self) {
        self.wait();
        self.open_once();
    }

    /// Lets all workers through from now on.
    pub(crate) fn open(&mut self) {
        self.1 = None;
    }
}

impl RateLimiter for Gate {
    fn try_acquire(&self, _: u64, _: usize) -> bool {
        true
    }

    fn on_verdict(&self, peer: u64, _: Result<(), RejectReason>) {
        if peer == GATE {
            self.0.send(()).unwrap();
            // The test has let go of it if there is no sender.
            let _ = self.1.lock().unwrap().recv();
        }
    }

    fn release(&self, peer: u64, _: usize) {
        self.2.lock().unwrap().push(peer);
    }
}
