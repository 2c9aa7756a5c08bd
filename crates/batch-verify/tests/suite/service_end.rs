//! Ends of votes and of the service: drain, shutdown, cancellation.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::mpsc;
use std::thread;

use batch_verify::{QuorumError, QuorumRule, ServiceError, Source};

use crate::fixture::{
    COMMITTEE, MEMBERS, VOTES, answer, block_on, forgery, from_peer, held, is_forged, member, own,
    returns, service,
};

#[test]
fn a_drain_ends_at_its_boundary() {
    let (service, worker) = held(|builder| builder.batch(8));
    let mut context = Context::from_waker(Waker::noop());
    let mut empty = service.drain();
    assert!(Pin::new(&mut empty).poll(&mut context).is_ready());
    let first = service.submit(from_peer(1), &VOTES[0].as_vote()).unwrap();
    let mut drain = service.drain();
    assert!(Pin::new(&mut drain).poll(&mut context).is_pending());
    // A peer that never stops: after each answer it submits two more. The drain ends all the
    // same, because they came later.
    let flooding = service.clone();
    let (send, has_begun) = mpsc::channel();
    let flood = thread::spawn(move || {
        let mut answered = 0_u64;
        for n in 0_u64.. {
            let vote = forgery(member(1), &n.to_le_bytes());
            let submitted = flooding.submit(Source::peer(9).catch_up(), &vote.as_vote());
            if n == 0 {
                send.send(()).unwrap();
            }
            match submitted {
                Ok(pending) if n % 2 == 0 => answered += u64::from(pending.wait().is_err()),
                Ok(pending) => pending.detach(),
                Err(ServiceError::ShuttingDown) => return answered,
                Err(_) => {}
            }
        }
        answered
    });
    has_begun.recv().unwrap();
    worker.start();
    returns(move || drain.wait());
    assert_eq!(first.wait(), Ok(()));
    let second = service.clone();
    returns(move || second.drain().wait());
    service.shutdown();
    assert!(flood.join().unwrap() > 0);
}

#[test]
fn shutdown_answers_everything() {
    let (service, worker) = held(|builder| builder);
    let pending: Vec<_> = VOTES
        .iter()
        .map(|vote| service.submit(own(), &vote.as_vote()).unwrap())
        .collect();
    let forged = (0..MEMBERS).map(|n| (member(n), [0; 2420].into()));
    let quorum = service
        .submit_quorum(
            own(),
            &COMMITTEE,
            *b"b",
            forged.collect(),
            QuorumRule::AnyValid,
        )
        .unwrap();
    let drain = service.drain();
    service.shutdown();
    for pending in pending {
        assert_eq!(pending.wait(), Err(ServiceError::ShuttingDown));
    }
    assert_eq!(quorum.wait(), Err(QuorumError::Abandoned));
    drain.wait();
    assert_eq!(
        service.submit(own(), &VOTES[0].as_vote()).unwrap_err(),
        ServiceError::ShuttingDown
    );
    assert_eq!(service.stats().shutting_down, 62);
    // The worker ends, and synchronous calls go on.
    let worker = worker.start();
    returns(move || worker.join().unwrap());
    assert_eq!(service.verify(&VOTES[0].as_vote()), Ok(()));
}

#[test]
fn cancelled_votes_are_not_verified() {
    let (service, worker) = held(|builder| builder);
    let mut kept = Vec::new();
    for (n, vote) in VOTES.iter().enumerate() {
        let pending = service
            .submit(from_peer(n as u64 % 3), &vote.as_vote())
            .unwrap();
        match n % 3 {
            0 => drop(pending),
            1 => pending.detach(),
            _ => kept.push((n, pending)),
        }
    }
    worker.start();
    for (n, mut pending) in kept {
        // Polled first, then waited for.
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut pending).poll(&mut context) {
            Poll::Ready(found) => assert_eq!(found, answer(n)),
            Poll::Pending => assert_eq!(pending.wait(), answer(n)),
        }
    }
    service.drain().wait();
    let stats = service.stats();
    assert_eq!((stats.cancelled, stats.verified), (20, 40));
    for n in (1..60).step_by(3) {
        assert_eq!(service.is_cached(&VOTES[n].as_vote()), !is_forged(n));
    }
}

/// An answer is taken once; afterwards there is an error, and neither a hang nor a verdict.
#[test]
fn an_answer_is_taken_once() {
    let service = service();
    let mut pending = service.submit(own(), &VOTES[0].as_vote()).unwrap();
    assert_eq!(block_on(&mut pending), Ok(()));
    assert_eq!(block_on(&mut pending), Err(ServiceError::Abandoned));
    assert_eq!(pending.wait(), Err(ServiceError::Abandoned));
}
