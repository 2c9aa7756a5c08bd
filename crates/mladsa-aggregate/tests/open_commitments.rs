//! Rounds with open commitments, interactive and by one party.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;
mod peer;

use committee::*;
use mladsa_aggregate::errors::{EncodingError, JournalError, RoundError, VerifyError};
use mladsa_aggregate::open_commitments::OpenCommitments;
use mladsa_aggregate::steps::*;
use mladsa_aggregate::test_util::Commitment;
use mladsa_aggregate::*;
use mldsa_core::Randomness;

const HEDGE: Randomness<'static> = Randomness::Deterministic;

/// The authenticated keys of all members for the attempt.
fn keys(open: &OpenCommitments, members: &[Member], attempt: &AttemptId) -> Vec<AuthenticatedKey> {
    let key = |member: &Member| {
        let mut journal = journal(member);
        let signed = member.sign_one_time_key(open, attempt, &mut journal, HEDGE, &[3; 64]);
        open.authenticate(member.id(), attempt, &signed.unwrap())
            .unwrap()
    };
    members.iter().map(key).collect()
}

#[test]
fn task_is_consumed_by_one_payload() {
    let members: Vec<Member> = (0..4).map(member).collect();
    let registry = registry(&members);
    let open = OpenCommitments::new(&registry, EPOCH);
    let (first, second) = (task("slot 1", b"first"), task("slot 1", b"second"));
    let one_party = |task| open.aggregate_one_party(&members, task).unwrap();
    let aggregate = one_party(&first);
    let keys_of = |aggregate: &Aggregate| keys(&open, &members, aggregate.attempt_id());
    let known = keys_of(&aggregate);
    let mut consumed = MemoryWriteOnceStore::default();
    let mut verify = |aggregate: &Aggregate, keys: &[AuthenticatedKey], task| {
        open.verify(aggregate, keys, task, &mut consumed)
    };
    let round = verify(&aggregate, &known, &first).unwrap();
    verify(&aggregate, &known, &first).unwrap();
    let pk = round.aggregate_key().as_bytes();
    let signature = aggregate.signature().as_ref();
    peer::check(pk, round.message(), round.context(), signature);
    let read = Aggregate::from_bytes(&aggregate.to_bytes());
    assert_eq!(read.as_ref(), Ok(&aggregate));

    // The interactive protocol gives the same bytes.
    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    let mut journals: Vec<_> = members.iter().map(journal).collect();
    for (member, journal) in members.iter().zip(&mut journals) {
        // There is no list of roots: publishing the key binds the seed instead.
        let error = RoundError::Journal(JournalError::RootsNotAcknowledged);
        assert_eq!(member.commit(&round, journal).unwrap_err(), error);
        let attempt = round.attempt_id();
        let _ = member
            .sign_one_time_key(&open, attempt, journal, HEDGE, &[3; 64])
            .unwrap();
        let (response, hash) = member.commit(&round, journal).unwrap();
        set.add(&open.receive(&hash.to_bytes()).unwrap()).unwrap();
        pending.push(response);
    }
    for ((member, pending), journal) in members.iter().zip(&pending).zip(&mut journals) {
        let message = member.reveal(pending, &set, journal).unwrap();
        set.add(&open.receive(&message.to_bytes()).unwrap())
            .unwrap();
    }
    let challenge = set.challenge().unwrap();
    let mut combiner = Combiner::new(&challenge);
    for ((member, pending), journal) in members.iter().zip(pending).zip(&mut journals) {
        let message = member.respond(pending, &challenge, journal).unwrap();
        combiner.add(&message).unwrap();
    }
    assert_eq!(combiner.finish().unwrap(), aggregate);
    // A coefficient of w that is not reduced.
    let result = Commitment::from_bytes(&round, [0xff; Commitment::LEN]);
    assert_eq!(result, Err(EncodingError::Range));

    // A second payload for the same task.
    let other = one_party(&second);
    let result = verify(&other, &keys_of(&other), &second);
    assert_eq!(result.unwrap_err(), VerifyError::TaskConsumed);
    // The keys of the first payload neither make a round for another one nor verify one.
    let result = open.round(&second, aggregate.attempt_id().attempt(), known.clone());
    assert_eq!(result.unwrap_err(), RoundError::OtherKey);
    let mut bytes = aggregate.to_bytes();
    let at = bytes.windows(5).position(|window| window == b"first");
    bytes[at.unwrap()] ^= 1;
    let changed = Aggregate::from_bytes(&bytes).unwrap();
    let result = verify(&changed, &known, &first);
    assert_eq!(result.unwrap_err(), VerifyError::OtherTask);
    // Another task.
    let elsewhere = task("slot 2", b"first");
    let result = verify(&aggregate, &known, &elsewhere);
    assert_eq!(result.unwrap_err(), VerifyError::OtherTask);
    // The two modes reject each other.
    let mut committee = Committee::new(4, &["x"]);
    let result = committee.verify(&aggregate, &known, &first);
    assert_eq!(result.unwrap_err(), VerifyError::OpenCommitments);
    let (offset, _) = committee.sign(&[0, 1, 2, 3], "x", b"first");
    let result = verify(&offset, &known, &first);
    assert_eq!(result.unwrap_err(), VerifyError::OtherTask);
}

#[test]
fn key_signatures_bind_member_and_attempt() {
    let members: Vec<Member> = (0..2).map(member).collect();
    let open = OpenCommitments::new(&registry(&members), EPOCH);
    let attempt = |payload| open.attempt_id(&task("slot 1", payload), 0).unwrap();
    let (own, other) = (attempt(b"payload"), attempt(b"other"));
    let journal = &mut journal(&members[0]);
    let signed = members[0].sign_one_time_key(&open, &own, journal, HEDGE, &[3; 64]);
    let signed = signed.unwrap();
    open.authenticate(&id(0), &own, &signed).unwrap();
    for (id, attempt) in [(id(1), &own), (id(0), &other)] {
        let error = open.authenticate(&id, attempt, &signed).unwrap_err();
        assert_eq!(error, RoundError::InvalidKeyProof);
    }
}

#[test]
fn one_party_aggregates_of_1_to_1024_members_verify() {
    for n in [1, 2, 3, 16, 64, 128, 1024] {
        let members: Vec<Member> = (0..n).map(member).collect();
        let registry = registry(&members);
        let open = OpenCommitments::new(&registry, EPOCH);
        let task = SigningTask::consensus(task_id("slot 1"), b"TEST", b"payload").unwrap();
        let aggregate = open.aggregate_one_party(&members, &task).unwrap();
        let keys = keys(&open, &members, aggregate.attempt_id());
        let mut consumed = MemoryWriteOnceStore::default();
        let round = open.verify(&aggregate, &keys, &task, &mut consumed);
        let round = round.unwrap();
        let pk = round.aggregate_key().as_bytes();
        peer::check(
            pk,
            b"payload",
            round.context(),
            aggregate.signature().as_ref(),
        );
        println!(
            "n = {n}: attempts {}, hints {}",
            aggregate.attempt_id().attempt() + 1,
            aggregate.hint_weight()
        );
    }
}
