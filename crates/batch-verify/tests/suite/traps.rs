//! Misuse and attacks that once succeeded and that no other suite has. Those that do not compile
//! any more are in `tests/forbidden`; floods are in `service_flood`.

use std::sync::mpsc;

use batch_verify::{Threads, VerificationService, Vote};

use crate::fixture::{
    COMMITTEE, MEMBERS, OwnedVote, VOTES, block_on, from_peer, held, member, own, returns,
};

const BLOCK: &[u8] = b"block 7";

/// Thousands of answers are dropped, in any order: a flag each, and none is verified.
#[test]
fn many_answers_are_cancelled() {
    let votes = 20_000_usize;
    let (service, worker) = held(|builder| builder.queue_bytes(usize::MAX).cache_bytes(0));
    let signature = vec![1; 2420];
    let mut answers: Vec<_> = (0..votes)
        .map(|n| {
            let vote = Vote::new(member(n % MEMBERS), BLOCK, &signature);
            Some(service.submit(from_peer(n as u64 % 10), &vote).unwrap())
        })
        .collect();
    for n in 0..votes {
        answers[n * 7919 % votes] = None;
    }
    assert_eq!(service.stats().queued_votes, votes);
    worker.start();
    service.drain().wait();
    let stats = service.stats();
    assert_eq!((stats.cancelled, stats.verified), (votes as u64, 0));
}

/// A rayon pool of the program whose only thread blocks on an answer gets it.
#[test]
fn a_blocked_pool_gets_its_answer() {
    returns(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let verifier = COMMITTEE.verifier();
        let builder = VerificationService::builder(COMMITTEE.clone()).threads(1);
        let service = builder.batch_threads(Threads::Shared).build().unwrap();
        let (send, receive) = mpsc::channel();
        pool.unwrap().spawn(move || {
            let answer = service.submit(own(), &VOTES[0].as_vote()).unwrap();
            let valid = block_on(answer).is_ok();
            let batch = service.verify_batch(VOTES.iter().map(OwnedVote::as_vote));
            let again = verifier.verify_batch(VOTES.iter().map(OwnedVote::as_vote));
            let same = batch.verdicts() == again.verdicts();
            send.send(valid && same).unwrap();
        });
        assert!(receive.recv().unwrap());
    });
}
