//! Floods of quorums: order, room and loss, by counts and not by time.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Waker};
use std::sync::{Arc, Mutex, mpsc};

use batch_verify::{QuorumError, QuorumRule, RateLimiter, RejectReason, ServiceError};

use crate::fixture::{
    COMMITTEE, KEYS, MEMBERS, VOTES, forgery, from_peer, held, member, own, sign,
};
use crate::service_flood::Log;

/// Quorums and batches of votes are taken in turn: certificates without end delay no vote.
#[test]
fn quorums_starve_no_vote() {
    let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0));
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut quorums: Vec<_> = (0..4)
        .map(|_| {
            let rule = QuorumRule::AnyValid;
            let quorum = service.submit_quorum(own(), &COMMITTEE, *b"b", Vec::new(), rule);
            quorum.unwrap()
        })
        .collect();
    let mut votes: Vec<_> = (0..16)
        .map(|n| service.submit(own(), &VOTES[n].as_vote()).unwrap())
        .collect();
    let log = |class| Waker::from(Arc::new(Log(class, Arc::clone(&order))));
    for quorum in &mut quorums {
        assert!(
            Pin::new(quorum)
                .poll(&mut Context::from_waker(&log(0)))
                .is_pending()
        );
    }
    for vote in &mut votes {
        assert!(
            Pin::new(vote)
                .poll(&mut Context::from_waker(&log(1)))
                .is_pending()
        );
    }
    worker.start();
    service.drain().wait();
    let order = order.lock().unwrap().clone();
    let expected = [&[0][..], &[1; 8], &[0], &[1; 8], &[0, 0]].concat();
    assert_eq!(order, expected);
}

/// A large quorum makes way for queued votes after each batch of its own.
#[test]
fn large_quorums_delay_no_vote() {
    let (service, worker) = held(|builder| builder.batch(8).cache_bytes(0));
    let forged = (0..100_usize).map(|n| {
        let vote = forgery(member(n % MEMBERS), &n.to_le_bytes());
        (vote.member, vote.signature.into())
    });
    let rule = QuorumRule::AnyValid;
    let quorum = service.submit_quorum(own(), &COMMITTEE, *b"b", forged.collect(), rule);
    let mut quorum = quorum.unwrap();
    let votes = VOTES[..16].iter();
    let mut votes: Vec<_> = votes
        .map(|vote| service.submit(own(), &vote.as_vote()).unwrap())
        .collect();
    let order = Arc::new(Mutex::new(Vec::new()));
    let log = |class| Waker::from(Arc::new(Log(class, Arc::clone(&order))));
    let polled = Pin::new(&mut quorum).poll(&mut Context::from_waker(&log(1)));
    assert!(polled.is_pending());
    for vote in &mut votes {
        let polled = Pin::new(vote).poll(&mut Context::from_waker(&log(0)));
        assert!(polled.is_pending());
    }
    worker.start();
    service.drain().wait();
    assert_eq!(*order.lock().unwrap(), [&[0; 16][..], &[1]].concat());
}

/// Quorums in bounded memory: the one peer that submits without end displaces its own.
#[test]
fn quorums_displace_no_other_peers() {
    let (service, worker) = held(|builder| builder.queue_bytes(1 << 20));
    let rule = QuorumRule::AnyValid;
    let submit = |peer, votes: usize| {
        let votes = (0..votes).map(|n| (member(n % MEMBERS), vec![0; 2420].into()));
        service.submit_quorum(from_peer(peer), &COMMITTEE, *b"b", votes.collect(), rule)
    };
    let flood: Vec<_> = (0..100).flat_map(|_| submit(9, 100).ok()).collect();
    assert_eq!(flood.len(), 4);
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

/// Peers whose last quorum had invalid signatures leave room for others, however many they are. A
/// repeated quorum, whose votes are cached, does not clear them.
#[test]
fn suspects_leave_room_for_quorums() {
    let ((enter, entered), (release, released)) = (mpsc::channel(), mpsc::channel());
    let gate = Gate(enter, Mutex::new(released));
    let (service, worker) = held(|builder| builder.queue_bytes(80 << 10).rate_limiter(gate));
    let submit = |peer, message: &'static [u8], signed: &[u8]| {
        let votes = (0..MEMBERS).map(|n| (member(n), sign(&KEYS[n], signed).into()));
        let (votes, rule) = (votes.collect(), QuorumRule::Certificate);
        service.submit_quorum(from_peer(peer), &COMMITTEE, message, votes, rule)
    };
    let answer =
        |peer, message, signed: &[u8]| submit(peer, message, signed).unwrap().wait().is_ok();
    worker.start();
    assert!(answer(100, b"a", b"a"));
    for peer in 0..9 {
        assert!(!answer(peer, b"a", b"other"));
        assert!(answer(peer, b"a", b"a"));
    }
    // Six signatures that were not known before.
    assert!(answer(8, b"b", b"b"));

    // A worker is kept in the verdict on another vote.
    let held = service
        .submit(from_peer(GATE), &VOTES[0].as_vote())
        .unwrap();
    entered.recv().unwrap();
    let suspects = (0..8).filter_map(|peer| submit(peer, b"a", b"other").ok());
    let suspects: Vec<_> = suspects.collect();
    let cleared = submit(8, b"a", b"a");
    release.send(()).unwrap();
    assert_eq!(held.wait(), Ok(()));
    // Of 15,161 bytes each; the last eighth is for others.
    assert_eq!(suspects.len(), 4);
    assert!(cleared.unwrap().wait().is_ok());
}

/// The peer whose verdicts keep a worker.
const GATE: u64 = 1000;

struct Gate(mpsc::Sender<()>, Mutex<mpsc::Receiver<()>>);

impl RateLimiter for Gate {
    fn try_acquire(&self, _: u64, _: usize) -> bool {
        true
    }

    fn on_verdict(&self, peer: u64, _: Result<(), RejectReason>) {
        if peer == GATE {
            self.0.send(()).unwrap();
            self.1.lock().unwrap().recv().unwrap();
        }
    }
}
