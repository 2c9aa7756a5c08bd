//! Misuse and attacks that once succeeded, one test each. Those that do not compile any more
//! are in `tests/forbidden`; floods are in `service_flood`.

use std::sync::{Arc, Barrier, mpsc};

use batch_verify::{
    Committee, QuorumError, QuorumRule, RejectReason, ServiceError, Threads, Threshold,
    VerificationService, Vote,
};
use mldsa_core::{Context, MlDsa44, Randomness};

use crate::fixture::{
    COMMITTEE, CONTEXT, KEYS, MEMBERS, OwnedVote, VOTES, attestation, attestations, block_on,
    committee, context, expected, from_peer, held, member, own, public, returns, service, sign,
};

const BLOCK: &[u8] = b"block 7";

fn signatures() -> Vec<Vec<u8>> {
    KEYS.iter().map(|key| sign(key, BLOCK)).collect()
}

/// A vote of 256 KiB + 1 byte in a member's name stops no quorum, whichever call counts it.
#[test]
fn an_oversized_vote_stops_no_quorum() {
    let signatures = signatures();
    let long = vec![0; (256 << 10) + 1];
    let service = service();
    for n in 0..MEMBERS {
        let mut votes = vec![attestation(member(n), &long)];
        votes.extend(attestations(0..MEMBERS, &signatures));
        let rule = QuorumRule::AnyValid;
        let counted = COMMITTEE
            .verifier()
            .verify_quorum(BLOCK, &votes, rule)
            .unwrap();
        assert_eq!(
            service
                .verify_quorum(&COMMITTEE, BLOCK, &votes, rule)
                .unwrap(),
            counted
        );
        let owned = votes
            .iter()
            .map(|(member, signature)| (*member, Box::from(*signature)))
            .collect();
        let pending = service
            .submit_quorum(own(), &COMMITTEE, BLOCK, owned, rule)
            .unwrap();
        assert_eq!(block_on(pending).unwrap(), counted);
        assert!(!counted.carried_by().contains(&0));
    }
}

/// A vote that was signed for one chain or kind of message is invalid for another under the
/// same keys, and nothing in a vote can change that.
#[test]
fn a_vote_does_not_bring_its_context() {
    let other = COMMITTEE.with_context(b"other chain").unwrap();
    let signature = sign(&KEYS[0], BLOCK);
    let id = other.member(0).unwrap();
    let vote = Vote::new(id, BLOCK, &signature);
    assert_eq!(other.verify(&vote), Err(RejectReason::ChallengeMismatch));
    assert_eq!(COMMITTEE.verify(&vote), Err(RejectReason::UnknownMember));
    let there = KEYS[0].sign_with_context(
        BLOCK,
        Context::new(b"other chain").unwrap(),
        Randomness::Deterministic,
    );
    let there = there.unwrap();
    assert_eq!(other.verify(&Vote::new(id, BLOCK, there.as_ref())), Ok(()));
    let here = Vote::new(member(0), BLOCK, there.as_ref());
    assert_eq!(
        COMMITTEE.verify(&here),
        Err(RejectReason::ChallengeMismatch)
    );
}

/// An index that was read under the old order is never verified under another member's key.
#[test]
fn ids_are_bound_to_their_epoch() {
    let reversed = (0..MEMBERS).rev().map(|n| (public(&KEYS[n]), 1));
    let next = COMMITTEE.successor_ordered(2, reversed).unwrap();
    let (service, worker) = held(|builder| builder.retained_committees(1));
    let in_flight: Vec<_> = (0..MEMBERS)
        .map(|n| {
            service
                .submit(from_peer(n as u64), &VOTES[n].as_vote())
                .unwrap()
        })
        .collect();
    service.set_committee(next.clone()).unwrap();
    // Submitted later under an old id: an error that blames no peer.
    let late = service.submit(from_peer(0), &VOTES[0].as_vote());
    assert_eq!(late.unwrap_err(), ServiceError::OtherEpoch);
    worker.start();
    for (n, answer) in in_flight.into_iter().enumerate() {
        assert_eq!(answer.wait(), expected(n).map_err(ServiceError::Rejected));
    }
    // The signer at index 0 of the new order is the last one.
    let vote = Vote::new(
        next.member(0).unwrap(),
        &*VOTES[0].message,
        &VOTES[0].signature,
    );
    assert_eq!(next.verify(&vote), Err(RejectReason::ChallengeMismatch));
}

/// Weights and thresholds come from the committee of the votes: after a reordering a vote of
/// weight 1 of 100 is no quorum.
#[test]
fn weights_and_thresholds_belong_to_the_keys() {
    let weights: [u64; 4] = [97, 1, 1, 1];
    let list = |order: [usize; 4]| order.map(|n| (public(&KEYS[n]), weights[n]));
    let builder = || Committee::<MlDsa44>::builder(CONTEXT).threads(Threads::Inline);
    let first = builder().build(list([0, 1, 2, 3])).unwrap();
    let next = first.successor_ordered(1, list([1, 0, 2, 3])).unwrap();
    let signatures = signatures();
    let quorum = |committee: &Committee<MlDsa44>, signer: usize| {
        let member = committee.member_of(public(&KEYS[signer])).unwrap();
        let vote = [attestation(member, &signatures[signer])];
        committee
            .verifier()
            .verify_quorum(BLOCK, &vote, QuorumRule::Certificate)
    };
    for committee in [&first, &next] {
        assert_eq!(quorum(committee, 0).unwrap().weight(), 97);
        assert!(matches!(
            quorum(committee, 1),
            Err(QuorumError::Insufficient { .. })
        ));
    }
    // A third and one are there too, and every threshold is a fraction of the same total.
    assert_eq!(
        Threshold::ONE_THIRD.required_weight(next.total_weight()),
        34
    );
    assert_eq!(
        Threshold::TWO_THIRDS.required_weight(next.total_weight()),
        67
    );
}

/// A vote that the engine asks for is verified alone: the queue stays as it is.
#[test]
fn a_lone_vote_takes_nothing_along() {
    let (service, _worker) = held(|builder| builder.max_message_bytes(256 << 10));
    for n in 0..7_u64 {
        let costly = OwnedVote::new(member(0), &[n as u8; 256 << 10], vec![1; 2420]);
        service
            .submit(from_peer(9), &costly.as_vote())
            .unwrap()
            .detach();
    }
    let before = service.stats();
    assert_eq!(service.verify(&VOTES[0].as_vote()), Ok(()));
    let after = service.stats();
    assert_eq!(
        (after.verified, after.queued_votes),
        (before.verified + 1, 7)
    );
}

/// Large messages do not fill a batch: a small vote waits for one of them at most.
#[test]
fn large_messages_end_a_batch() {
    let (service, worker) = held(|builder| builder.max_message_bytes(256 << 10));
    for n in 0..9_u64 {
        let costly = OwnedVote::new(member(0), &[n as u8; 256 << 10], vec![1; 2420]);
        service
            .submit(from_peer(9 + n), &costly.as_vote())
            .unwrap()
            .detach();
    }
    worker.start();
    service.drain().wait();
    assert_eq!(service.stats().batches, 9);
}

/// The service does not wait for rayon's global pool.
#[test]
fn the_nodes_own_work_delays_no_vote() {
    let workers = rayon::current_num_threads();
    let (occupied, release) = (
        Arc::new(Barrier::new(workers + 1)),
        Arc::new(Barrier::new(workers + 1)),
    );
    for _ in 0..workers {
        let (occupied, release) = (Arc::clone(&occupied), Arc::clone(&release));
        rayon::spawn(move || {
            occupied.wait();
            release.wait();
        });
    }
    occupied.wait();
    let service = service();
    let answer = service.submit(own(), &VOTES[0].as_vote()).unwrap();
    assert_eq!(block_on(answer), Ok(()));
    assert_eq!(service.verify(&VOTES[1].as_vote()), Ok(()));
    release.wait();
}

/// A committee verifier is never asked about a key that is no member's.
#[test]
fn strangers_are_no_members() {
    let stranger = &KEYS[MEMBERS];
    assert_eq!(COMMITTEE.member_of(public(stranger)), None);
    let theirs = committee(core::slice::from_ref(stranger));
    let signature = sign(stranger, BLOCK);
    let vote = Vote::new(theirs.member(0).unwrap(), BLOCK, &signature);
    assert_eq!(theirs.verify(&vote), Ok(()));
    let verifier = COMMITTEE.verifier();
    assert_eq!(verifier.verify(&vote), Err(RejectReason::UnknownMember));
    assert_eq!(service().verify(&vote), Err(RejectReason::UnknownMember));
}

/// Replays and junk that is sent twice harm no quorum of arriving votes.
#[test]
fn a_replay_stops_no_quorum() {
    let signatures = signatures();
    let forged = sign(&KEYS[0], b"another block");
    let foreign = committee(&KEYS[..2]).member(0).unwrap();
    let junk = attestation(foreign, &forged);
    let mut votes = vec![junk, junk, attestation(member(0), &forged)];
    votes.push(votes[2]);
    votes.extend(attestations([1, 1, 2, 3, 4, 5, 5], &signatures));
    let report = COMMITTEE
        .verifier()
        .verify_quorum(BLOCK, &votes, QuorumRule::AnyValid);
    assert_eq!(report.unwrap().weight(), 5);
}

/// A forged second vote in a member's name is a conflict of claims, and no evidence.
#[test]
fn unverified_conflicts_are_no_evidence() {
    let signatures = signatures();
    let forged = sign(&KEYS[1], b"another block");
    let mut votes = attestations(0..5, &signatures);
    votes.push(attestation(member(0), &forged));
    let verifier = COMMITTEE.verifier();
    let error = verifier
        .verify_quorum(BLOCK, &votes, QuorumRule::Certificate)
        .unwrap_err();
    assert_eq!(
        error,
        QuorumError::ConflictingClaims {
            first: 0,
            second: 5
        }
    );
    assert!(error.to_string().contains("neither was verified"));
    let accused = COMMITTEE.equivocation(
        member(0),
        |_| Some(b"height 7"),
        (BLOCK, &signatures[0]),
        (b"another block", &forged),
    );
    assert_eq!(accused, Err(Some(RejectReason::ChallengeMismatch)));
}

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

/// One member's vote, its copy and its hedged second are three valid items and one member.
#[test]
fn a_member_counts_once() {
    let signature = sign(&KEYS[0], BLOCK);
    let hedged = KEYS[0]
        .sign_with_context(BLOCK, context(), Randomness::Hedged(&[5; 32]))
        .unwrap();
    let votes = [&signature[..], &signature, hedged.as_ref()];
    let mut votes = votes
        .map(|signature| attestation(member(0), signature))
        .to_vec();
    let count = |votes: &[_]| {
        let verifier = COMMITTEE.verifier().with_threshold(Threshold::ONE_THIRD);
        verifier.verify_quorum(BLOCK, votes, QuorumRule::AnyValid)
    };
    let missing = |claimed, verified| QuorumError::Insufficient {
        needed: 3,
        claimed,
        verified,
    };
    assert_eq!(count(&votes), Err(missing(1, 0)));
    // Three members have votes, four of these are valid, and they are of two members.
    let second = sign(&KEYS[1], BLOCK);
    let forged = sign(&KEYS[2], b"another block");
    votes.extend([
        attestation(member(1), &second),
        attestation(member(2), &forged),
    ]);
    assert_eq!(count(&votes), Err(missing(3, 2)));
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
