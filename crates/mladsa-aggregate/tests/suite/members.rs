//! Committees, their weights, and the view of a light client.

use std::sync::Arc;

use mladsa_aggregate::errors::{
    AggregateError, CommitteeError, EncodingError, JournalError, RoundError,
};
use mladsa_aggregate::*;
use mldsa_core::Randomness::Deterministic;

use crate::committee::*;
use crate::simulation::draw;

fn registration(n: usize, epoch: &Arc<Epoch>) -> Registration {
    member(n, epoch).register(Deterministic).unwrap()
}

#[test]
fn committee_requires_proofs_and_weights() {
    let epoch = epoch(EPOCH);
    let entries: Vec<_> = (0..3).map(|n| registration(n, &epoch)).collect();
    let new = |members: &[(usize, u64)], threshold| {
        let members = members
            .iter()
            .map(|(n, weight)| (entries[*n].clone(), *weight));
        SigningCommittee::new(&epoch, members, threshold).map(|committee| *committee.identity())
    };
    assert_eq!(new(&[], 1), Err(CommitteeError::NoMembers));
    let twice = new(&[(0, 1), (1, 1), (0, 1)], 1);
    assert_eq!(twice, Err(CommitteeError::DuplicateMember));
    // One seed under two names has one registration key.
    let twin = Member::new(id(9), seed(0), &epoch).unwrap();
    let twin = twin.register(Deterministic).unwrap();
    let result = SigningCommittee::new(&epoch, [(entries[0].clone(), 1), (twin, 1)], 1);
    assert_eq!(result.unwrap_err(), CommitteeError::DuplicateMember);
    for (weights, threshold) in [([1, 0], 1), ([u64::MAX, 1], 1), ([1, 1], 0), ([1, 1], 3)] {
        let members = [(0, weights[0]), (1, weights[1])];
        assert_eq!(new(&members, threshold), Err(CommitteeError::Weight));
    }
    // Key and proof of member 0 under another name; a changed proof; another epoch.
    let bytes = entries[0].to_bytes();
    for at in [12, bytes.len() - 4000] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        let changed = Registration::from_bytes(&bytes).unwrap();
        assert_eq!(changed.verify(&epoch), Err(CommitteeError::InvalidProof));
        let result = SigningCommittee::new(&epoch, [(changed, 1)], 1);
        assert_eq!(result.unwrap_err(), CommitteeError::InvalidProof);
    }
    let other = crate::committee::epoch(EPOCH + 1);
    assert_eq!(entries[0].verify(&other), Err(CommitteeError::InvalidProof));
    // The order of members does not matter; members, weights and threshold do.
    let all = [(0, 1), (1, 2), (2, 3)];
    let identity = new(&all, 4).unwrap();
    assert_eq!(new(&[all[2], all[0], all[1]], 4), Ok(identity));
    for (members, threshold) in [
        (&all[..2], 3),
        (&all[..], 5),
        (&[(0, 2), (1, 2), (2, 3)], 4),
    ] {
        assert_ne!(new(members, threshold), Ok(identity));
    }
}

#[test]
fn encoding_of_a_committee_is_canonical() {
    let group = Group::with(&epoch(EPOCH), &[3, 2, 1], 4);
    let bytes = group.committee.to_bytes();
    let read = SigningCommittee::from_bytes(&bytes).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    assert_eq!(read.identity(), group.committee.identity());
    assert!(read.members().eq(group.committee.members()));
    // Two members exchanged.
    let member = (bytes.len() - (8 + 4 + 4 + 8 + 4 + 1 + 8)) / 3;
    let (head, members) = bytes.split_at(bytes.len() - 3 * member);
    let (first, rest) = members.split_at(member);
    let (second, third) = rest.split_at(member);
    let swapped = [head, second, first, third].concat();
    let error = SigningCommittee::from_bytes(&swapped).unwrap_err();
    assert_eq!(error, CommitteeError::Encoding(EncodingError::Range));
    for at in (0..bytes.len()).step_by(bytes.len() / 90) {
        assert!(SigningCommittee::from_bytes(&bytes[..at]).is_err());
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        let changed = SigningCommittee::from_bytes(&changed);
        assert!(changed.is_err_and(|_| true) || at < 64, "byte {at}");
    }
    // A changed weight or threshold is another committee.
    for at in [head.len() + 7, head.len() - 1] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let changed = SigningCommittee::from_bytes(&changed).unwrap();
        assert_ne!(changed.identity(), group.committee.identity());
    }
}

/// A member opens keys for a committee that contains it, in its epoch, and for one only: of two
/// committees of an epoch, as after a fork of the ledger, the second one is refused.
#[test]
fn keys_are_opened_for_one_committee_in_an_epoch() {
    let mut group = Group::new(3);
    let epoch = epoch(EPOCH);
    let other = Group::with(&epoch, &[1, 1, 2], 1);
    let (member, journal) = (&group.members[0], &mut group.journals[0]);
    let _ = member.open(&group.committee, at(0, 0), journal).unwrap();
    assert_eq!(journal.committee(EPOCH), Some(*group.committee.identity()));
    let conflict = RoundError::Journal(JournalError::EpochConflict);
    let result = member.open(&other.committee, at(1, 0), journal);
    assert_eq!(result.unwrap_err(), conflict);
    let _ = member.open(&group.committee, at(1, 0), journal).unwrap();

    let refused = |member: &Member, committee: &SigningCommittee| {
        let mut journal = crate::committee::journal(member);
        member.open(committee, at(0, 0), &mut journal).unwrap_err()
    };
    let error = refused(&crate::committee::member(3, &epoch), &group.committee);
    assert_eq!(error, RoundError::Committee(CommitteeError::UnknownMember));
    // Another seed under its name; the same name in another epoch.
    let seed = MasterSeed::from_bytes(&[7; 32]);
    let stranger = Member::new(id(0), seed, &epoch).unwrap();
    let later = crate::committee::member(0, &crate::committee::epoch(EPOCH + 1));
    for member in [stranger, later] {
        let error = refused(&member, &group.committee);
        assert_eq!(error, RoundError::Committee(CommitteeError::OtherCommittee));
    }
    for (attempt, expected) in [
        (at(4, 0), CommitteeError::UnknownSlot),
        (at(0, 4), CommitteeError::AttemptsExhausted),
    ] {
        let member = &group.members[1];
        let result = member.open(&group.committee, attempt, &mut group.journals[1]);
        assert_eq!(result.unwrap_err(), expected.into());
    }
}

#[test]
fn openings_lead_to_the_root_of_their_member_and_attempt() {
    let mut group = Group::new(2);
    let opening = group.open(0, at(1, 2));
    let view = group.committee.view();
    assert!(view.authenticate(0, at(1, 2), opening.body()).is_ok());
    let invalid = CommitteeError::InvalidOpening;
    for (position, attempt) in [(1, at(1, 2)), (0, at(1, 1)), (0, at(2, 2))] {
        let result = view.authenticate(position, attempt, opening.body());
        assert_eq!(result.unwrap_err(), invalid);
    }
    let result = view.authenticate(2, at(1, 2), opening.body());
    assert_eq!(result.unwrap_err(), CommitteeError::UnknownMember);
    for byte in [0, 6_144, 6_147, 6_148, 6_148 + 32 * 4 - 1] {
        let mut changed = opening.body().to_vec();
        changed[byte] ^= 1;
        assert!(view.authenticate(0, at(1, 2), &changed).is_err(), "{byte}");
    }
}

/// A light client that holds an identity, and gets everything else from a stranger.
#[test]
fn light_client_verifies_with_an_identity() {
    let mut group = Group::with(&epoch(EPOCH), &[4, 3, 2, 2, 1], 7);
    let task = SigningTask::decision(2, b"checkpoint");
    let identity = *group.committee.identity();
    let parameters = group.committee.view().to_bytes();
    let other = CommitteeView::from_bytes(&parameters, &[0; 32]);
    assert_eq!(other.unwrap_err(), CommitteeError::OtherCommittee);
    for at in 0..parameters.len() {
        let mut changed = parameters.clone();
        changed[at] ^= 1;
        assert!(CommitteeView::from_bytes(&changed, &identity).is_err());
    }
    let mut light = CommitteeView::from_bytes(&parameters, &identity).unwrap();
    let (aggregate, round) = group.sign(&[0, 1], 2, b"checkpoint");
    let openings = [0, 1].map(|n| group.open(n, round.attempt_id()));
    let certificate = AggregateCertificate::new(aggregate, &openings);
    let error = certificate.verify(&light, &task).unwrap_err();
    assert_eq!(
        error,
        AggregateError::Committee(CommitteeError::UnknownMember)
    );
    for n in [0, 1] {
        let opening = group.committee.member_opening(&id(n)).unwrap();
        for at in 0..opening.len() {
            let mut changed = opening.clone();
            changed[at] ^= 1;
            assert!(light.add_member(&changed).is_err(), "byte {at}");
        }
        light.add_member(&opening).unwrap();
        light.add_member(&opening).unwrap();
    }
    assert_eq!(group.committee.member_opening(&id(9)), None);
    let verified = certificate.verify(&light, &task).unwrap();
    assert_eq!(verified.aggregate_key(), round.aggregate_key());
    // With the openings cached: the aggregate alone.
    let keys = [0, 1].map(|n| {
        light
            .authenticate(n, round.attempt_id(), openings[n].body())
            .unwrap()
    });
    let aggregate = certificate.aggregate();
    aggregate.verify(&light, &keys, &task).unwrap();
    let other = SigningTask::decision(2, b"another");
    let error = aggregate.verify(&light, &keys, &other).unwrap_err();
    assert_eq!(error, AggregateError::OtherTask);
}

/// For unequal weights and every signer set of five members: the aggregate verifies if and only if the
/// weights reach the threshold, in a full view and in a light one. The signer set decides the key, so
/// each set signs once.
#[test]
fn weights_decide_every_quorum() {
    let mut random = 0x9e37_79b9_7f4a_7c15;
    for case in 0..4 {
        let weights: Vec<u64> = match case {
            0 => vec![1, 1, 1, 1, 1],
            1 => vec![1 << 62, 1, 1, 1, 1],
            _ => (0..5).map(|_| 1 + draw(&mut random, 9)).collect(),
        };
        let total: u64 = weights.iter().sum();
        let threshold = match case {
            0 | 1 => SigningCommittee::two_thirds(total),
            _ => 1 + draw(&mut random, total),
        };
        for set in 1usize..32 {
            let signers: Vec<usize> = (0..5).filter(|n| set >> n & 1 == 1).collect();
            let mut group = Group::with(&epoch(EPOCH), &weights, threshold);
            let (aggregate, round) = group.sign(&signers, 0, b"payload");
            let keys = group.keys(&signers, round.attempt_id());
            let task = SigningTask::decision(0, b"payload");
            let verdict = aggregate.verify(group.committee.view(), &keys, &task);
            let weight: u64 = signers.iter().map(|n| weights[*n]).sum();
            match verdict {
                Ok(_) => assert!(weight >= threshold, "{weights:?} {threshold} {signers:?}"),
                Err(error) => {
                    assert_eq!(error, AggregateError::QuorumMissed);
                    assert!(weight < threshold, "{weights:?} {threshold} {signers:?}");
                }
            }
        }
    }
}

/// A later store keeps nothing that signs for an earlier epoch: registration keys and one-time keys
/// depend on the seed, and the seed before a successor cannot be computed.
#[test]
fn successor_has_other_keys() {
    let epoch = epoch(EPOCH);
    let first = seed(0);
    let second = MasterSeed::from_bytes(&first.successor());
    assert_ne!(first.fingerprint(), second.fingerprint());
    let third = second.successor();
    assert_ne!(first.successor(), third);
    let members = [first, second].map(|seed| Member::new(id(0), seed, &epoch).unwrap());
    let entries = members.map(|member| member.register(Deterministic).unwrap());
    assert_ne!(entries[0], entries[1]);
}
