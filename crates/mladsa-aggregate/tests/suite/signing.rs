//! Signing with offset commitments, from a committee to verification.

use std::sync::Arc;

use mladsa_aggregate::errors::{AggregateError, RoundError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;

use crate::committee::*;
use crate::peer;

fn verify(
    group: &Group,
    aggregate: &Aggregate,
    keys: &[AuthenticatedKey],
    task: &SigningTask,
) -> Result<(), AggregateError> {
    aggregate
        .verify(group.committee.view(), keys, task)
        .map(drop)
}

/// Verifies an aggregate here and with an independent implementation, and its rejection with
/// another signer set.
fn check(group: &mut Group, aggregate: &Aggregate, round: &Round, task: &SigningTask) {
    let keys = group.keys(&group.all(), round.attempt_id());
    let read = Aggregate::from_bytes(&aggregate.to_bytes()).unwrap();
    assert_eq!(&read, aggregate);
    let verified = read.verify(group.committee.view(), &keys, task).unwrap();
    let key = verified.aggregate_key().as_bytes();
    assert_eq!(key, round.aggregate_key().as_bytes());
    let signature = aggregate.signature().as_bytes();
    peer::check(key, verified.message(), verified.context(), signature);
    let n = group.committee.len();
    let bytes = aggregate.to_bytes();
    let set = bytes.len() - 4627 - (n / 8 + 1);
    for member in [0, n / 2, n - 1] {
        let mut changed = bytes.clone();
        changed[set + member / 8] ^= 1 << (member % 8);
        let changed = Aggregate::from_bytes(&changed).unwrap();
        assert!(
            verify(group, &changed, &keys, task).is_err(),
            "bit {member}"
        );
    }
}

fn sign_with(n: usize) {
    let epoch = Epoch::new(DOMAIN, EPOCH, 1, 4).unwrap();
    let mut group = Group::with(&epoch, &vec![1; n], 1);
    let (aggregate, round) = group.sign(&group.all(), 0, b"payload");
    let task = SigningTask::decision(0, b"payload");
    check(&mut group, &aggregate, &round, &task);
    let signers = aggregate.signers(&group.committee).unwrap();
    assert_eq!(signers.len(), n);
    assert!(aggregate.hint_weight() <= 75);
}

#[test]
fn committees_of_1_to_128_sign() {
    for n in [1, 2, 3, 16, 64, 128] {
        sign_with(n);
    }
}

#[test]
fn committee_of_1024_signs() {
    sign_with(1024);
}

#[test]
fn signer_set_names_the_signers() {
    let mut group = Group::new(9);
    let (aggregate, round) = group.sign(&[8, 3, 0], 1, b"payload");
    let ids = aggregate.signers(&group.committee).unwrap();
    assert_eq!(ids, [id(0), id(3), id(8)]);
    let task = SigningTask::decision(1, b"payload");
    check(&mut group, &aggregate, &round, &task);

    // Every other signer set has another key.
    let keys = group.keys(&group.all(), round.attempt_id());
    let bytes = aggregate.to_bytes();
    let at = bytes.len() - 4627 - 2;
    assert_eq!(bytes[at..at + 2], [0x09, 0x03]);
    for bit in 0..16 {
        let mut changed = bytes.clone();
        changed[at + bit / 8] ^= 1 << (bit % 8);
        let changed = Aggregate::from_bytes(&changed).unwrap();
        let error = verify(&group, &changed, &keys, &task).unwrap_err();
        if bit < 9 {
            assert_eq!(error, AggregateError::InvalidSignature, "bit {bit}");
        } else {
            assert!(matches!(error, AggregateError::Encoding(_)), "bit {bit}");
        }
    }
    let missing = verify(&group, &aggregate, &keys[1..], &task);
    assert_eq!(missing.unwrap_err(), AggregateError::MissingKey);
}

/// The identity covers the roots: a member with other one-time keys makes another committee, whose keys
/// do not count.
#[test]
fn verdict_depends_on_the_key_of_every_signer() {
    let mut group = Group::new(9);
    let all = group.all();
    let (aggregate, round) = group.sign(&all, 0, b"payload");
    let task = SigningTask::decision(0, b"payload");
    let epoch = epoch(EPOCH);
    for changed in [0, 4, 8] {
        let mut members = group.members.clone();
        let seed = MasterSeed::from_bytes(&bytes32("another seed", changed));
        members[changed] = Arc::new(Member::new(id(changed), seed, &epoch).unwrap());
        let mut other = Group::of(members, &[1; 9], 1, &epoch);
        assert_ne!(other.committee.identity(), group.committee.identity());
        let keys = other.keys(&all, round.attempt_id());
        let result = verify(&other, &aggregate, &keys, &task);
        assert_eq!(result.unwrap_err(), AggregateError::InvalidSignature);
        // One key of the other committee among the right ones.
        let mut mixed = group.keys(&all, round.attempt_id());
        mixed[changed] = keys[changed].clone();
        let result = verify(&group, &aggregate, &mixed, &task);
        assert_eq!(result.unwrap_err(), AggregateError::MissingKey);
    }
}

#[test]
fn every_order_of_responses_gives_the_same_bytes() {
    let mut group = Group::new(5);
    let all = group.all();
    let (aggregate, round) = group.sign(&all, 0, b"payload");
    group = Group::new(5);
    for attempt in 0..round.attempt_id().number {
        group.keys(&all, at(0, 0));
        for (member, journal) in group.members.iter().zip(&mut group.journals) {
            member.retire(at(0, attempt), journal).unwrap();
        }
    }
    group.keys(&all, round.attempt_id());
    let (pending, hashes) = group.commit(&round, &all);
    let (mut set, commitments) = group.reveal(&all, &pending, &round, &hashes);
    for commitment in commitments.iter().rev() {
        set.add(commitment).unwrap();
        // A repeated message is ignored.
        set.add(commitment).unwrap();
    }
    let challenge = set.challenge().unwrap();
    let members = group.members.iter().zip(&mut group.journals);
    let responses = members.zip(pending).map(|((member, journal), pending)| {
        let response = member.respond(pending, &challenge, journal);
        response.unwrap()
    });
    let responses: Vec<_> = responses.collect();
    let mut orders = vec![vec![]];
    for n in 0..5 {
        let insert = |order: &Vec<usize>, at| [&order[..at], &[n], &order[at..]].concat();
        orders = orders
            .iter()
            .flat_map(|order| (0..=order.len()).map(move |at| insert(order, at)))
            .collect();
    }
    assert_eq!(orders.len(), 120);
    for order in orders {
        let mut combiner = Combiner::new(&challenge);
        order
            .iter()
            .for_each(|n| combiner.add(&responses[*n]).unwrap());
        assert_eq!(combiner.finish().unwrap(), aggregate);
    }
}

#[test]
fn consensus_payload_is_the_message() {
    let mut group = Group::new(3);
    let task = SigningTask::consensus(0, b"signing root");
    let keys = group.keys(&[0, 1, 2], at(0, 0));
    let round = Round::new(group.committee.view(), &task, 0, keys).unwrap();
    assert_eq!(round.message(), b"signing root");
    let context = [DOMAIN, &round.participants_root()[..]].concat();
    assert_eq!(round.context(), context);
    // This task succeeds in the first attempt.
    let aggregate = group.run_attempt(&[0, 1, 2], &round).unwrap();
    check(&mut group, &aggregate, &round, &task);
}

/// A silent member is excluded from the next attempt, which reuses nothing of the last one.
#[test]
fn next_attempt_excludes_a_silent_member() {
    let mut group = Group::new(3);
    let round = group.round(&[0, 1, 2], at(0, 0), b"payload");
    let (mut pending, hashes) = group.commit(&round, &[0, 1, 2]);
    let (mut set, commitments) = group.reveal(&[0, 1, 2], &pending, &round, &hashes);
    commitments.iter().for_each(|c| set.add(c).unwrap());
    let challenge = set.challenge().unwrap();
    let mut combiner = Combiner::new(&challenge);
    let silent = pending.pop().unwrap();
    for (n, pending) in pending.into_iter().enumerate() {
        let journal = &mut group.journals[n];
        let response = group.members[n].respond(pending, &challenge, journal);
        combiner.add(&response.unwrap()).unwrap();
    }
    assert!(combiner.missing().eq(&[id(2)]));
    assert_eq!(combiner.finish().unwrap_err(), RoundError::Incomplete);

    for (member, journal) in group.members.iter().zip(&mut group.journals) {
        member.retire(at(0, 0), journal).unwrap();
    }
    // Neither a late response nor the old keys with fewer signers.
    let late = group.members[2].respond(silent, &challenge, &mut group.journals[2]);
    assert_eq!(late.unwrap_err(), crate::contributions::KEY_REUSED);
    let smaller = group.round(&[0, 1], at(0, 0), b"payload");
    let result = group.run_attempt(&[0, 1], &smaller);
    assert_eq!(result.unwrap_err(), crate::contributions::KEY_REUSED);

    let (aggregate, round) = group.sign_from(&[0, 1], at(0, 1), b"payload");
    assert!(aggregate.attempt_id().number > 0);
    let task = SigningTask::decision(0, b"payload");
    check(&mut group, &aggregate, &round, &task);
}

/// A verifier may keep the keys of several epochs, in which slots recur.
#[test]
fn keys_of_another_epoch_are_ignored() {
    let mut group = Group::new(2);
    let (aggregate, round) = group.sign(&[0, 1], 0, b"payload");
    let attempt = round.attempt_id();
    let keys = group.keys(&[0, 1], attempt);
    let others = Group::with(&epoch(EPOCH + 1), &[1, 1], 1).keys(&[0, 1], attempt);
    let task = SigningTask::decision(0, b"payload");
    for all in [[&keys[..], &others].concat(), [&others[..], &keys].concat()] {
        verify(&group, &aggregate, &all, &task).unwrap();
    }
    let result = verify(&group, &aggregate, &others, &task);
    assert_eq!(result.unwrap_err(), AggregateError::MissingKey);
}

#[test]
fn verification_requires_the_expected_task() {
    let mut group = Group::new(4);
    let (aggregate, round) = group.sign(&[1, 3], 0, b"payload");
    let keys = group.keys(&[1, 3], round.attempt_id());
    let expected = SigningTask::decision(0, b"payload");
    verify(&group, &aggregate, &keys, &expected).unwrap();
    for other in [
        SigningTask::decision(1, b"payload"),
        SigningTask::consensus(0, b"payload"),
        SigningTask::decision(0, b"other"),
    ] {
        let result = verify(&group, &aggregate, &keys, &other);
        assert_eq!(result.unwrap_err(), AggregateError::OtherTask);
    }
    // Another domain or epoch has other keys.
    for other in [Epoch::new(b"OTHER", EPOCH, 4, 4).unwrap(), epoch(EPOCH + 1)] {
        let other = Group::with(&other, &[1; 4], 1);
        assert!(verify(&other, &aggregate, &keys, &expected).is_err());
    }
}
