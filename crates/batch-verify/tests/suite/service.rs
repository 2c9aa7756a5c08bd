//! The verification service: answers, cache, epochs, quorums.

use batch_verify::{
    BuildError, MemberId, Message, Origin, QuorumError, QuorumRule, RejectReason, ServiceError,
    Source, VerificationService, Vote,
};
use mldsa_core::{MlDsa44, PreHash, PreHashed, Randomness};

use crate::fixture::{
    COMMITTEE, KEYS, MEMBERS, OwnedVote, VOTES, answer, attestations, block_on, committee, context,
    expected, forgery, from_peer, held, is_forged, keys, member, own, public, service, sign,
};

#[test]
fn every_vote_has_the_verdict_of_the_committee() {
    for threads in [1, 2, 5] {
        let builder = VerificationService::builder(COMMITTEE.clone());
        let service = builder.threads(threads).build().unwrap();
        let all = (0..60).map(|n| {
            let source = match n % 4 {
                0 => Source::own(),
                peer => Source::peer(peer as u64),
            };
            let source = [source, source.next_round(), source.catch_up()][n % 3];
            (source, VOTES[n].as_vote())
        });
        let (single, list): (Vec<_>, Vec<_>) = all.enumerate().partition(|(n, _)| n % 2 == 0);
        let single: Vec<_> = single
            .into_iter()
            .map(|(n, (source, vote))| (n, service.submit(source, &vote)))
            .collect();
        let places: Vec<usize> = list.iter().map(|(n, _)| *n).collect();
        let list = service.submit_batch(list.into_iter().map(|(_, vote)| vote));
        for (n, pending) in single.into_iter().chain(places.into_iter().zip(list)) {
            let pending = pending.unwrap();
            let found = match n % 3 {
                0 => pending.wait(),
                _ => block_on(pending),
            };
            assert_eq!(found, answer(n), "{n}");
        }
        let stats = service.stats();
        assert_eq!(
            (stats.votes, stats.verified, stats.queued_votes),
            (60, 60, 0)
        );
        assert_eq!(
            stats.rejected,
            (0..60).filter(|&n| is_forged(n)).count() as u64
        );
        assert!(stats.batches >= 1 && stats.batches <= 60);
    }
}

#[test]
fn synchronous_calls() {
    // No worker runs: nothing of this needs one.
    let (service, _worker) = held(|builder| builder);
    let report = service.verify_batch(VOTES.iter().take(30).map(OwnedVote::as_vote));
    for (n, found) in report.verdicts().iter().enumerate() {
        assert_eq!(*found, expected(n));
    }
    for (n, vote) in VOTES.iter().enumerate() {
        assert_eq!(service.is_cached(&vote.as_vote()), n < 30 && !is_forged(n));
        assert_eq!(service.verify(&vote.as_vote()), expected(n));
        assert_eq!(service.is_cached(&vote.as_vote()), !is_forged(n));
    }
    // From the cache, in one piece or in parts, whatever the queue does.
    let verified = service.stats().verified;
    for vote in VOTES
        .iter()
        .filter(|vote| service.is_cached(&vote.as_vote()))
    {
        let parts = [&vote.message[..3], &vote.message[3..]];
        let message = batch_verify::Message::Parts(&parts);
        let in_parts = Vote::new(vote.member, message, &vote.signature);
        assert_eq!(service.verify(&in_parts), Ok(()));
        assert_eq!(
            service.submit(own(), &vote.as_vote()).unwrap().wait(),
            Ok(())
        );
    }
    let stats = service.stats();
    assert_eq!(stats.verified, verified);
    assert!(stats.cache_hits > 0 && stats.cached_votes == 51);
    // A cached vote with one bit changed anywhere is not cached.
    let vote = &VOTES[0];
    for at in [0, 63, 64, 1000, 2419] {
        let mut signature = vote.signature.clone();
        signature[at] ^= 1;
        let changed = OwnedVote::new(vote.member, &vote.message, signature);
        assert!(!service.is_cached(&changed.as_vote()));
        assert!(service.verify(&changed.as_vote()).is_err());
    }
    let other_member = Vote::new(member(1), &vote.message, &vote.signature);
    let other_message = Vote::new(vote.member, b"other", &vote.signature);
    for changed in [other_member, other_message] {
        assert!(!service.is_cached(&changed) && service.verify(&changed).is_err());
    }
}

/// Every form of message is queued with the verdict of the committee.
#[test]
fn forms_in_the_queue() {
    let service = service();
    let digest = [7; 64];
    let prehashed = PreHashed::<MlDsa44>::new(PreHash::Sha2_512, &digest).unwrap();
    let signature = KEYS[0].sign_prehashed(&prehashed, context(), Randomness::Deterministic);
    let signature = signature.unwrap();
    let whole = sign(&KEYS[0], &digest);
    let message = |hash, digest| Message::PreHashed { hash, digest };
    let parts = [&digest[..10], &[], &digest[10..]];
    let mismatch = Err(ServiceError::Rejected(RejectReason::ChallengeMismatch));
    let weak = Err(ServiceError::Rejected(RejectReason::WeakPreHash));
    let length = Err(ServiceError::Rejected(RejectReason::DigestLength));
    for (message, signature, expected) in [
        (Message::Bytes(&digest), &whole[..], Ok(())),
        (Message::Parts(&parts), &whole, Ok(())),
        (message(PreHash::Sha2_512, &digest), &whole, mismatch),
        (
            message(PreHash::Sha2_512, &digest),
            signature.as_ref(),
            Ok(()),
        ),
        (
            message(PreHash::Sha3_512, &digest),
            signature.as_ref(),
            mismatch,
        ),
        (
            message(PreHash::Sha2_512, &digest[1..]),
            signature.as_ref(),
            length,
        ),
        (
            message(PreHash::Sha2_224, &digest[..28]),
            signature.as_ref(),
            weak,
        ),
        (Message::Bytes(&digest), signature.as_ref(), mismatch),
    ] {
        let vote = Vote::new(member(0), message, signature);
        let answer = service.submit(own(), &vote).unwrap();
        assert_eq!(answer.wait(), expected, "{message:?}");
        assert_eq!(
            service.verify(&vote).map_err(ServiceError::Rejected),
            expected
        );
    }
}

#[test]
fn epochs() {
    let (service, worker) = held(|builder| builder.retained_committees(1));
    let reversed: Vec<(&[u8], u64)> = (0..MEMBERS).rev().map(|n| (public(&KEYS[n]), 1)).collect();
    let second = COMMITTEE
        .successor_ordered(2, reversed.iter().copied())
        .unwrap();
    let third = second
        .successor_ordered(3, reversed.iter().copied())
        .unwrap();
    // In flight while the committee changes, and after it: verified by its own.
    let early = service.submit(from_peer(1), &VOTES[0].as_vote()).unwrap();
    service.set_committee(second.clone()).unwrap();
    assert_eq!(service.committee(), second);
    let late = service.submit(from_peer(1), &VOTES[1].as_vote()).unwrap();
    let new = second.member(0).unwrap();
    let vote = OwnedVote::new(new, b"new", sign(&KEYS[MEMBERS - 1], b"new"));
    let current = service.submit(from_peer(1), &vote.as_vote()).unwrap();
    // The current committee again changes nothing.
    service.set_committee(second.clone()).unwrap();
    service.set_committee(third).unwrap();
    // No longer retained: no fault of the sender, and no verdict.
    let gone = service.submit(from_peer(1), &VOTES[2].as_vote());
    assert_eq!(gone.unwrap_err(), ServiceError::OtherEpoch);
    assert_eq!(
        service.verify(&VOTES[2].as_vote()),
        Err(RejectReason::UnknownMember)
    );
    worker.start();
    for pending in [early, late, current] {
        assert_eq!(pending.wait(), Ok(()));
    }
    let stats = service.stats();
    assert_eq!((stats.other_epoch, stats.verified), (1, 4));
    // Certificates of an earlier epoch are checked by its committee, by name.
    let signatures: Vec<Vec<u8>> = KEYS.iter().map(|key| sign(key, b"old")).collect();
    let votes = crate::fixture::attestations(0..5, &signatures);
    let old = service.verify_quorum(&COMMITTEE, b"old", &votes, QuorumRule::Certificate);
    assert_eq!(old.unwrap().weight(), 5);
    let wrong = service.verify_quorum(&second, b"old", &votes, QuorumRule::Certificate);
    assert_eq!(wrong, Err(QuorumError::UnknownMember { vote: 0 }));
    assert_eq!(service.stats().quorums, 2);
}

/// Cached votes of members that stay are cached in the next epoch, those of others dropped, and
/// what those sign later is not cached.
#[test]
fn the_cache_follows_the_committee() {
    let (service, worker) = held(|builder| builder.retained_committees(0));
    let in_flight = service.submit(own(), &VOTES[0].as_vote()).unwrap();
    for n in 0..MEMBERS {
        let vote = OwnedVote::new(member(n), b"v", sign(&KEYS[n], b"v"));
        assert_eq!(service.verify(&vote.as_vote()), Ok(()));
    }
    let next = COMMITTEE.successor(2, [(public(&KEYS[0]), 0)]).unwrap();
    service.set_committee(next.clone()).unwrap();
    worker.start();
    assert_eq!(in_flight.wait(), Ok(()));
    assert_eq!(service.stats().cached_votes, MEMBERS - 1);
    let signatures: Vec<_> = KEYS[..MEMBERS].iter().map(|key| sign(key, b"w")).collect();
    let votes = attestations(0..MEMBERS, &signatures);
    let earlier = service.verify_quorum(&COMMITTEE, b"w", &votes, QuorumRule::Certificate);
    assert_eq!(earlier.unwrap().carried_by().len(), MEMBERS);
    assert_eq!(service.stats().cached_votes, 2 * (MEMBERS - 1));
    let signature = sign(&KEYS[1], b"v");
    let vote = Vote::new(next.member(0).unwrap(), b"v", &signature);
    assert!(service.is_cached(&vote));
    // Under another context it is another vote.
    service
        .set_committee(next.with_context(b"other").unwrap())
        .unwrap();
    let vote = Vote::new(service.committee().member(0).unwrap(), b"v", &signature);
    assert!(!service.is_cached(&vote) && service.verify(&vote).is_err());
}

/// A forged vote that begins like a cached one is no use of it.
#[test]
fn only_equal_votes_use_the_cache() {
    let votes = [0, 1, 2, 3, 4, 5, 6, 7, 8_u8]
        .map(|n| OwnedVote::new(member(0), &[n], sign(&KEYS[0], &[n])));
    // Room for eight votes, each of exactly the most that one may take, or of one byte more.
    const VOTE_BYTES: usize = 2420 + 64 + 8 + 1 + 88;
    for (cache_bytes, is_cached) in [(8 * VOTE_BYTES, true), (8 * VOTE_BYTES - 1, false)] {
        let (service, _worker) = held(|builder| builder.cache_bytes(cache_bytes));
        let verify = |vote: &OwnedVote| service.verify(&vote.as_vote());
        votes[..8]
            .iter()
            .for_each(|vote| assert_eq!(verify(vote), Ok(())));
        let mut forged = votes[0].clone();
        forged.signature[1000] ^= 1;
        assert!(verify(&forged).is_err());
        assert_eq!(verify(&votes[8]), Ok(()));
        let cached = votes
            .each_ref()
            .map(|vote| service.is_cached(&vote.as_vote()));
        assert!(!cached[0] && cached[1..].iter().all(|cached| *cached == is_cached));
    }
}

#[test]
fn quorums_on_the_workers() {
    let (service, worker) = held(|builder| builder.queue_bytes(60_000));
    let owned = |indices: core::ops::Range<usize>| -> Vec<(MemberId, Box<[u8]>)> {
        let vote = |n: usize| (member(n), sign(&KEYS[n], b"b").into());
        indices.map(vote).collect()
    };
    let submit =
        |votes| service.submit_quorum(own(), &COMMITTEE, *b"b", votes, QuorumRule::Certificate);
    let enough = submit(owned(0..5)).unwrap();
    // Too few votes need no worker.
    let few = submit(owned(0..4)).unwrap();
    assert!(matches!(few.wait(), Err(QuorumError::Insufficient { .. })));
    let dropped = submit(owned(0..5)).unwrap();
    drop(dropped);
    // Bounded: five of 13,917 bytes do not fit.
    let more = [(); 2].map(|()| submit(owned(0..5)).unwrap());
    assert_eq!(submit(owned(0..5)).unwrap_err(), ServiceError::QueueFull);
    let stats = service.stats();
    assert_eq!((stats.quorums, stats.queued_quorums), (6, 4));
    assert_eq!((stats.queued_bytes, stats.queue_full), (4 * 13_917, 1));
    worker.start();
    assert_eq!(block_on(enough).unwrap().carried_by(), [0, 1, 2, 3, 4]);
    for pending in more {
        assert_eq!(pending.wait().unwrap().weight(), 5);
    }
    service.drain().wait();
    let stats = service.stats();
    assert_eq!((stats.queued_quorums, stats.queued_bytes), (0, 0));
    assert_eq!(
        (stats.cancelled, stats.verified, stats.cache_hits),
        (1, 5, 10)
    );
    service.shutdown();
    assert_eq!(submit(owned(0..5)).unwrap_err(), ServiceError::ShuttingDown);
}

/// Votes that an early exit leaves out are not counted as verified.
#[test]
fn an_early_exit_is_counted() {
    let service = service();
    let committee = committee(&keys::<MlDsa44>(40));
    let votes: Vec<_> = committee.members().map(|id| (id, &[0; 2420][..])).collect();
    let quorum = service.verify_quorum(&committee, b"b", &votes, QuorumRule::Certificate);
    let reason = RejectReason::ResponseNorm;
    assert_eq!(quorum, Err(QuorumError::Rejected { vote: 0, reason }));
    let stats = service.stats();
    assert_eq!((stats.votes, stats.verified, stats.rejected), (40, 1, 1));
}

#[test]
fn cancelled_quorums_are_not_verified() {
    let (service, worker) = held(|builder| builder);
    let signed = |message: &[u8]| -> Vec<(MemberId, Box<[u8]>)> {
        let vote = |n: usize| (member(n), sign(&KEYS[n], message).into());
        (0..5).map(vote).collect()
    };
    let submit = |message: [u8; 1]| {
        let rule = QuorumRule::Certificate;
        service.submit_quorum(own(), &COMMITTEE, message, signed(&message), rule)
    };
    drop(submit(*b"b").unwrap());
    submit(*b"c").unwrap().detach();
    worker.start();
    service.drain().wait();
    assert_eq!(service.stats().verified, 5);
    for (member, signature) in signed(b"c") {
        assert!(service.is_cached(&Vote::new(member, b"c", &signature)));
    }
}

#[test]
fn votes_that_are_rejected_at_once() {
    let (service, _worker) = held(|builder| builder.max_message_bytes(10));
    let submit = |vote: OwnedVote| service.submit(from_peer(3), &vote.as_vote()).map(drop);
    let vote = |message: &[u8], len: usize| OwnedVote::new(member(0), message, vec![0; len]);
    let length = Err(ServiceError::Rejected(RejectReason::SignatureLength));
    for len in [0, 2419, 2421, 300_000] {
        assert_eq!(submit(vote(b"short", len)), length);
    }
    // The signature first: a verdict needs no room.
    assert_eq!(submit(vote(&[0; 11], 1)), length);
    assert_eq!(submit(vote(&[0; 11], 2420)), Err(ServiceError::TooLarge));
    assert_eq!(submit(vote(&[0; 10], 2420)), Ok(()));
    let other = committee(&KEYS[..2]).member(0).unwrap();
    let vote = OwnedVote::new(other, b"x", vec![0; 2420]);
    assert_eq!(submit(vote), Err(ServiceError::OtherEpoch));
    let stats = service.stats();
    assert_eq!(
        (stats.rejected, stats.too_large, stats.other_epoch),
        (5, 1, 1)
    );
    assert_eq!(stats.votes, 8);
    let zero = VerificationService::builder(COMMITTEE.clone())
        .threads(0)
        .build();
    assert_eq!(zero.unwrap_err(), BuildError::ThreadPool);
}

#[test]
fn figures_in_the_format_of_prometheus() {
    let service = service();
    let report = service.verify_batch(VOTES.iter().map(OwnedVote::as_vote));
    assert_eq!(report.verdicts().len(), 60);
    let text = service.stats().to_string();
    let line = |name: &str, value: u64| format!("mldsa_verification_{name} {value}\n");
    assert!(text.contains(&line("votes_total", 60)));
    assert!(text.contains(&line("verified_total", 60)));
    assert!(text.contains(&line("cached_votes", 51)));
    for (n, line) in text.lines().enumerate() {
        let name = line.split(' ').nth(if n % 2 == 0 { 2 } else { 0 }).unwrap();
        assert!(name.starts_with("mldsa_verification_"), "{line}");
        assert_eq!(line.starts_with("# TYPE "), n % 2 == 0, "{line}");
    }
}

/// An earlier epoch never becomes the current one again, and two committees never share an epoch.
/// Other contexts are independent.
#[test]
fn epochs_do_not_go_back() {
    let (service, _worker) = held(|builder| builder);
    let epoch = |epoch| COMMITTEE.successor(epoch, None::<(&[u8], u64)>).unwrap();
    let [second, third] = [epoch(2), epoch(3)];
    let twin = COMMITTEE.successor(3, [(public(&KEYS[0]), 9)]).unwrap();
    service.set_committee(third.clone()).unwrap();
    let refused = Err(BuildError::Epoch { current: 3 });
    for earlier in [&second, &COMMITTEE, &twin] {
        assert_eq!(service.set_committee(earlier.clone()), refused);
        assert_eq!(service.committee(), third);
    }
    let other = second.with_context(b"other").unwrap();
    service.set_committee(other.clone()).unwrap();
    assert_eq!(service.committee(), other);
    assert_eq!(service.set_committee(second), refused);
    service.set_committee(third.clone()).unwrap();
    assert_eq!(service.committee(), third);
}

/// Rejections are counted by origin and reason.
#[test]
fn rejections_by_origin_and_reason() {
    let (service, worker) = held(|builder| builder);
    let forged = |n: usize| forgery(member(n), b"forged");
    let short = OwnedVote::new(member(0), b"x", vec![0; 3]);
    assert!(service.submit(from_peer(1), &short.as_vote()).is_err());
    for (n, source) in [own(), from_peer(1), from_peer(2)].into_iter().enumerate() {
        service
            .submit(source, &forged(n).as_vote())
            .unwrap()
            .detach();
    }
    assert!(service.verify(&short.as_vote()).is_err());
    worker.start();
    service.drain().wait();
    let stats = service.stats();
    let length = RejectReason::SignatureLength;
    let wrong = forged(0).as_vote().signature.to_vec();
    let wrong = COMMITTEE
        .verify(&Vote::new(member(0), b"forged", &wrong))
        .unwrap_err();
    for (origin, reason, count) in [
        (Origin::Peer, length, 1),
        (Origin::Peer, wrong, 2),
        (Origin::Own, length, 0),
        (Origin::Own, wrong, 1),
        (Origin::Synchronous, length, 1),
        (Origin::Synchronous, wrong, 0),
    ] {
        assert_eq!(
            stats.rejections(origin, reason),
            count,
            "{origin:?} {reason}"
        );
    }
    assert_eq!(stats.rejected, 5);
    let line =
        format!("mldsa_verification_rejections_total{{source=\"peer\",reason=\"{wrong}\"}} 2\n");
    assert!(stats.to_string().contains(&line), "{stats}");
}
