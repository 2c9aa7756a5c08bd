//! Signing with offset commitments, from agreed roots to verification.

use std::sync::Arc;

use mladsa_aggregate::errors::{RegistrationError, RoundError, VerifyError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::*;
use mldsa_core::Randomness;

use crate::committee::*;
use crate::peer;

/// Verifies an aggregate here and with an independent implementation, and its rejection with
/// another signer set.
fn check(committee: &Committee, aggregate: &Aggregate, round: &Round, task: &SigningTask) {
    let keys = committee.keys(&committee.all(), round.attempt_id());
    let read = Aggregate::from_bytes(&aggregate.to_bytes()).unwrap();
    assert_eq!(&read, aggregate);
    let verified = committee.verify(&read, &keys, task).unwrap();
    let key = verified.aggregate_key().as_bytes();
    assert_eq!(key, round.aggregate_key().as_bytes());
    let signature = aggregate.signature().as_bytes();
    peer::check(key, verified.message(), verified.context(), signature);
    let n = committee.agreed.registry().len();
    let bytes = aggregate.to_bytes();
    let set = bytes.len() - 4627 - (n / 8 + 1);
    for member in [0, n / 2, n - 1] {
        let mut changed = bytes.clone();
        changed[set + member / 8] ^= 1 << (member % 8);
        let changed = Aggregate::from_bytes(&changed).unwrap();
        let result = committee.verify(&changed, &keys, task);
        assert!(result.is_err(), "bit {member}");
    }
}

fn sign_with(n: usize) {
    let mut committee = Committee::new(n, &["decision"]);
    let (aggregate, round) = committee.sign(&committee.all(), "decision", b"payload");
    check(
        &committee,
        &aggregate,
        &round,
        &task("decision", b"payload"),
    );
    let signers = aggregate.signers(committee.agreed.registry()).unwrap();
    assert_eq!(signers.len(), n);
    assert!(aggregate.hint_weight() <= 75);
    println!(
        "n = {n}: attempts {}, hints {}, object {} bytes",
        round.attempt_id().attempt() + 1,
        aggregate.hint_weight(),
        aggregate.to_bytes().len()
    );
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
    let mut committee = Committee::new(9, &["a", "b"]);
    let (aggregate, round) = committee.sign(&[8, 3, 0], "b", b"payload");
    let ids = aggregate.signers(committee.agreed.registry()).unwrap();
    assert_eq!(ids, [id(0), id(3), id(8)]);
    let task = task("b", b"payload");
    check(&committee, &aggregate, &round, &task);

    // Every other signer set has another key.
    let keys = committee.keys(&committee.all(), round.attempt_id());
    let bytes = aggregate.to_bytes();
    let at = bytes.len() - 4627 - 2;
    assert_eq!(bytes[at..at + 2], [0x09, 0x03]);
    for bit in 0..16 {
        let mut changed = bytes.clone();
        changed[at + bit / 8] ^= 1 << (bit % 8);
        let changed = Aggregate::from_bytes(&changed).unwrap();
        let error = committee.verify(&changed, &keys, &task).unwrap_err();
        if bit < 9 {
            assert_eq!(error, VerifyError::InvalidSignature, "bit {bit}");
        } else {
            assert!(matches!(error, VerifyError::Encoding(_)), "bit {bit}");
        }
    }
    let missing = committee.verify(&aggregate, &keys[1..], &task);
    assert_eq!(missing.unwrap_err(), VerifyError::MissingKey);
}

#[test]
fn verdict_depends_on_the_key_of_every_signer() {
    let mut committee = Committee::new(9, &["key"]);
    let all = committee.all();
    let (aggregate, round) = committee.sign(&all, "key", b"payload");
    let task = task("key", b"payload");
    for changed in [0, 4, 8] {
        // The same registration, another master seed.
        let mut members: Vec<Member> = (0..9).map(member).collect();
        let seed = MasterSeed::from_bytes(&bytes32("another seed", changed));
        members[changed] = Member::new(id(changed), seed, &bytes32("xi", changed));
        let other = Committee::of(members, &["key"]);
        let registry = committee.agreed.registry();
        assert_eq!(other.agreed.registry().root(), registry.root());
        let keys = other.keys(&all, round.attempt_id());
        let result = other.verify(&aggregate, &keys, &task);
        assert_eq!(result.unwrap_err(), VerifyError::InvalidSignature);
        // One key of the other list among the right ones.
        let mut mixed = committee.keys(&all, round.attempt_id());
        mixed[changed] = keys[changed].clone();
        let result = committee.verify(&aggregate, &mixed, &task);
        assert_eq!(result.unwrap_err(), VerifyError::MissingKey);
    }
}

/// The challenge and the responses, in member order, that led to an aggregate of `n` members.
fn responses(n: usize, name: &str, round: &Arc<Round>) -> (Arc<Challenge>, Vec<SignedMessage>) {
    let mut committee = Committee::new(n, &[name]);
    let all = committee.all();
    let (pending, hashes) = committee.commit(round, &all);
    let (mut set, commitments) = committee.reveal(&all, &pending, round, &hashes);
    for commitment in commitments.iter().rev() {
        set.add(commitment).unwrap();
        // A repeated message is ignored.
        set.add(commitment).unwrap();
    }
    let challenge = set.challenge().unwrap();
    let members = committee.members.iter().zip(&mut committee.journals);
    let responses = members.zip(pending).map(|((member, journal), pending)| {
        let response = member.respond(pending, &challenge, journal);
        response.unwrap()
    });
    let responses = responses.collect();
    (challenge, responses)
}

#[test]
fn every_order_and_grouping_of_responses_gives_the_same_bytes() {
    let mut committee = Committee::new(5, &["order"]);
    let (aggregate, round) = committee.sign(&committee.all(), "order", b"payload");
    let (challenge, responses) = responses(5, "order", &round);
    let mut orders = vec![vec![]];
    for n in 0..5 {
        let insert = |order: &Vec<usize>, at| [&order[..at], &[n], &order[at..]].concat();
        orders = orders
            .iter()
            .flat_map(|order| (0..=order.len()).map(move |at| insert(order, at)))
            .collect();
    }
    assert_eq!(orders.len(), 120);
    for (number, order) in orders.iter().enumerate() {
        // Two groups with a varying boundary.
        let mut groups = [Combiner::new(&challenge), Combiner::new(&challenge)];
        for (at, &n) in order.iter().enumerate() {
            let group = usize::from(at >= number % 6);
            groups[group].add(&responses[n]).unwrap();
        }
        let [mut left, right] = groups;
        left.merge(right).unwrap();
        assert_eq!(left.finish().unwrap(), aggregate);
    }
}

#[test]
fn seven_groups_of_32_responses_merge() {
    let mut committee = Committee::new(32, &["grouping"]);
    let (aggregate, round) = committee.sign(&committee.all(), "grouping", b"payload");
    let (challenge, responses) = responses(32, "grouping", &round);
    let mut groups: Vec<Combiner> = (0..7).map(|_| Combiner::new(&challenge)).collect();
    for (n, response) in responses.iter().enumerate() {
        groups[n * n % 7].add(response).unwrap();
    }
    let mut whole = Combiner::new(&challenge);
    for group in groups.into_iter().rev() {
        whole.merge(group).unwrap();
    }
    assert_eq!(whole.missing().count(), 0);
    assert_eq!(whole.finish().unwrap(), aggregate);
}

#[test]
fn consensus_payload_is_the_message() {
    let mut committee = Committee::new(3, &["block"]);
    let attempt = attempt_id("block", 0);
    let task = SigningTask::consensus(task_id("block"), b"ZOND", b"signing root").unwrap();
    let keys = committee.keys(&[0, 1, 2], &attempt);
    let round = Round::new(&committee.agreed, &task, 0, keys).unwrap();
    assert_eq!(round.message(), b"signing root");
    let context = [b"ZOND", &round.participants_root()[..]].concat();
    assert_eq!(round.context(), context);
    // This task succeeds in the first attempt.
    let aggregate = committee.run_attempt(&[0, 1, 2], &round).unwrap();
    check(&committee, &aggregate, &round, &task);
}

/// A silent member is excluded from the next attempt, which reuses nothing of the last one.
#[test]
fn next_attempt_excludes_a_silent_member() {
    let mut committee = Committee::new(3, &["silent"]);
    let attempt = attempt_id("silent", 0);
    let round = committee.round(&[0, 1, 2], &attempt, b"payload");
    let (mut pending, hashes) = committee.commit(&round, &[0, 1, 2]);
    let (mut set, commitments) = committee.reveal(&[0, 1, 2], &pending, &round, &hashes);
    commitments.iter().for_each(|c| set.add(c).unwrap());
    let challenge = set.challenge().unwrap();
    let mut combiner = Combiner::new(&challenge);
    let silent = pending.pop().unwrap();
    for (n, pending) in pending.into_iter().enumerate() {
        let journal = &mut committee.journals[n];
        let response = committee.members[n].respond(pending, &challenge, journal);
        combiner.add(&response.unwrap()).unwrap();
    }
    assert!(combiner.missing().eq(&[id(2)]));
    assert_eq!(combiner.finish().unwrap_err(), RoundError::Incomplete);

    let agreed = committee.agreed.clone();
    for (member, journal) in committee.members.iter().zip(&mut committee.journals) {
        member.retire(&agreed, &attempt, journal).unwrap();
    }
    // Neither a late response nor the old keys with fewer signers.
    let late = committee.members[2].respond(silent, &challenge, &mut committee.journals[2]);
    assert_eq!(late.unwrap_err(), crate::contributions::KEY_REUSED);
    let smaller = committee.round(&[0, 1], &attempt, b"payload");
    let result = committee.run_attempt(&[0, 1], &smaller);
    assert_eq!(result.unwrap_err(), crate::contributions::KEY_REUSED);

    let next = attempt.next().unwrap();
    let (aggregate, round) = committee.sign_from(&[0, 1], next, b"payload");
    assert!(aggregate.attempt_id().attempt() > 0);
    check(&committee, &aggregate, &round, &task("silent", b"payload"));
}

/// A verifier may keep the keys of several epochs, in which task identifiers recur.
#[test]
fn keys_of_another_epoch_are_ignored() {
    let mut committee = Committee::new(2, &["x"]);
    let (aggregate, round) = committee.sign(&[0, 1], "x", b"payload");
    let attempt = round.attempt_id();
    let keys = committee.keys(&[0, 1], attempt);
    let registry = Arc::clone(committee.agreed.registry());
    let next = EpochPlan::new(EPOCH + 1, vec![task_id("x")]).unwrap();
    let (members, journals) = (&committee.members, &mut committee.journals);
    let (trees, agreed) = agree(members, journals, &registry, &next);
    let others: Vec<AuthenticatedKey> = (0..2)
        .map(|n| {
            let opening = members[n].open(&agreed, &trees[n], attempt, &journals[n]);
            agreed.authenticate(&opening.unwrap()).unwrap()
        })
        .collect();
    let task = task("x", b"payload");
    for all in [[&keys[..], &others].concat(), [&others[..], &keys].concat()] {
        committee.verify(&aggregate, &all, &task).unwrap();
    }
    let result = committee.verify(&aggregate, &others, &task);
    assert_eq!(result.unwrap_err(), VerifyError::MissingKey);
}

#[test]
fn verification_requires_the_expected_task_and_a_quorum() {
    let mut committee = Committee::new(4, &["quorum"]);
    let (aggregate, round) = committee.sign(&[1, 3], "quorum", b"payload");
    let keys = committee.keys(&[1, 3], round.attempt_id());
    let expected = task("quorum", b"payload");
    let result = committee.verify(&aggregate, &keys, &expected);
    assert_eq!(result.map(drop), Ok(()));

    let id = || task_id("quorum");
    for other in [
        SigningTask::decision(id(), b"other", b"payload"),
        SigningTask::decision(task_id("another"), b"TEST", b"payload"),
        SigningTask::consensus(id(), b"TEST", b"payload"),
        SigningTask::decision(id(), b"TEST", b"other"),
    ] {
        let result = committee.verify(&aggregate, &keys, &other.unwrap());
        assert_eq!(result.unwrap_err(), VerifyError::OtherTask);
    }
}

/// The threshold is part of the identity: a verifier of one committee cannot be made to apply that
/// of another.
#[test]
fn threshold_is_checked_and_part_of_the_identity() {
    let weights = |weights: &[(usize, u64)], threshold| Threshold::Weights {
        weights: weights.iter().map(|(n, w)| (id(*n), *w)).collect(),
        threshold,
    };
    let three = [(0, 10), (1, 3), (3, 4)];
    let mut identities = Vec::new();
    for (rule, is_quorum) in [
        (Threshold::Count(2), true),
        (Threshold::Count(4), false),
        (Threshold::TwoThirds, false),
        (weights(&three, 7), true),
        (weights(&three, 8), false),
    ] {
        let members = (0..4).map(member).collect();
        let mut committee = Committee::with_threshold(members, &["quorum"], &rule);
        let (aggregate, round) = committee.sign(&[1, 3], "quorum", b"payload");
        let keys = committee.keys(&[1, 3], round.attempt_id());
        let result = committee.verify(&aggregate, &keys, &task("quorum", b"payload"));
        let expected = if is_quorum {
            Ok(())
        } else {
            Err(VerifyError::QuorumMissed)
        };
        assert_eq!(result.map(drop), expected);
        assert!(!identities.contains(&committee.agreed.identity()));
        identities.push(committee.agreed.identity());
    }
    let entries: Vec<_> = (0..4)
        .map(|n| member(n).register(Randomness::Deterministic).unwrap())
        .collect();
    let double = weights(&[(0, 1), (0, 1)], 1);
    for (rule, error) in [
        (Threshold::Count(0), RegistrationError::Threshold),
        (Threshold::Count(5), RegistrationError::Threshold),
        (weights(&three, 0), RegistrationError::Threshold),
        (weights(&three, 18), RegistrationError::Threshold),
        (double, RegistrationError::DuplicateMember),
        (weights(&[(9, 1)], 1), RegistrationError::UnknownMember),
        (
            weights(&[(0, u64::MAX), (1, 1)], 1),
            RegistrationError::Threshold,
        ),
    ] {
        let result = Registry::new(&RHO, entries.clone(), &rule);
        assert_eq!(result.unwrap_err(), error);
    }
}
