//! Batches of mixed sets, and committees of a set that is known at run time.

use batch_verify::{
    AnyBatchVerifier, AnyCommittee, BuildError, CertificateError, Item, Mode, QuorumError,
    QuorumRule, RejectReason, Threads, Threshold, Vote,
};
use mldsa_core::{AnySigningKey, Randomness, Set};

use crate::fixture::{CONTEXT, assert_report, context};

/// Items of all sets by turns, with keys of foreign lengths and a stated set that is not the key's:
/// every mode gives the verdicts that the items have alone.
#[test]
fn a_mixed_batch_equals_single_verification() {
    let keys: Vec<AnySigningKey> = (0..3)
        .flat_map(|seed| Set::ALL.map(|set| AnySigningKey::from_seed(set, &[seed; 32])))
        .collect();
    let sign = |key: &AnySigningKey, message: &[u8]| {
        let signed = key.sign_with_context(message, context(), Randomness::Deterministic);
        signed.unwrap()
    };
    let signed: Vec<_> = (0..45)
        .map(|n| {
            let key = &keys[n % keys.len()];
            let mut bytes = (key.verifying_key().as_ref().to_vec(), sign(key, &[n as u8]));
            match n {
                10 | 31 => bytes.1[5] ^= 1,
                12 => drop(bytes.0.pop()),
                17 => bytes.1.push(0),
                _ => {}
            }
            bytes
        })
        .collect();
    let messages: Vec<[u8; 1]> = (0..45).map(|n| [n]).collect();
    let item = |n: usize| Item::new(&signed[n].0, &messages[n], context(), &signed[n].1);
    let other = |set: Option<Set>| {
        if set == Some(Set::MlDsa44) {
            Set::MlDsa87
        } else {
            Set::MlDsa44
        }
    };
    // Item 20 states another set; the last three are duplicates of the first.
    let set = |n: usize| match n {
        20 => other(Set::from_public_key_len(signed[n].0.len())),
        _ => Set::from_public_key_len(signed[n].0.len()).unwrap_or(Set::MlDsa65),
    };
    for first in [0, 11, 13, 32] {
        let order: Vec<usize> = (first..45).chain(first..first + 3).collect();
        let batch = || order.iter().map(|&n| (set(n), item(n)));
        for mode in [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid] {
            for threads in [Threads::Inline, Threads::Dedicated(2)] {
                let builder = AnyBatchVerifier::builder().mode(mode).threads(threads);
                let verifier = builder.build().unwrap();
                let alone: Vec<_> = batch().map(|item| verifier.verify(item)).collect();
                let expected = |n: &usize| match n {
                    10 | 31 => Err(RejectReason::ChallengeMismatch),
                    12 | 20 => Err(RejectReason::PublicKeyLength),
                    17 => Err(RejectReason::SignatureLength),
                    _ => Ok(()),
                };
                assert_eq!(alone, order.iter().map(expected).collect::<Vec<_>>());
                let report = verifier.verify_batch(batch());
                assert_report(mode, &report, &alone);
                // Items with a wrong length are no duplicates.
                let copies = (0..3).filter(|n| ![12, 17, 20].contains(&order[*n]));
                let copies = copies.map(|n| (45 - first + n, n));
                if mode == Mode::Full {
                    assert!(copies.eq(report.duplicates().iter().copied()), "{first}");
                }
            }
        }
    }
    // Without a stated set, the length of the key tells it.
    let verifier = AnyBatchVerifier::builder().build().unwrap();
    let report = verifier.verify_batch((0..45).map(item));
    let rejected: Vec<usize> = report.rejected().map(|(index, _)| index).collect();
    assert_eq!(rejected, [10, 12, 17, 31]);
    assert!(
        verifier
            .verify_batch([(); 0].map(|()| item(0)))
            .verdicts()
            .is_empty()
    );
    let none = AnyBatchVerifier::builder().threads(Threads::Dedicated(0));
    assert_eq!(none.build().unwrap_err(), BuildError::ThreadPool);
}

/// A committee of each set: members, votes, quorums, certificates, the next epoch.
#[test]
fn a_committee_of_any_set() {
    for set in Set::ALL {
        let keys = [1, 2, 3].map(|seed| AnySigningKey::from_seed(set, &[seed; 32]));
        let public = keys.each_ref().map(AnySigningKey::verifying_key);
        let builder = || {
            let builder = AnyCommittee::builder(set, CONTEXT).epoch(7);
            builder
                .threshold(Threshold::MAJORITY)
                .threads(Threads::Dedicated(2))
        };
        let committee = builder().build(public.iter().zip([1, 2, 3])).unwrap();
        assert_eq!(
            (committee.set(), committee.len(), committee.epoch()),
            (set, 3, 7)
        );
        assert_eq!(
            (committee.total_weight(), committee.required_weight()),
            (6, 4)
        );
        assert_eq!(
            (committee.context(), committee.threshold()),
            (CONTEXT, Threshold::MAJORITY)
        );
        let sign = |key: &AnySigningKey| {
            let signed = key.sign_with_context(b"block", context(), Randomness::Deterministic);
            signed.unwrap()
        };
        let signatures = keys.each_ref().map(sign);
        let members: Vec<_> = committee.members().collect();
        let votes = members
            .iter()
            .copied()
            .zip(signatures.iter().map(Vec::as_slice));
        let votes: Vec<_> = votes.collect();
        for (n, (member, signature)) in votes.iter().enumerate() {
            assert_eq!(committee.member_of(&public[n]), Some(*member));
            assert_eq!(committee.weight(*member), Some(n as u64 + 1));
            assert_eq!(
                committee.verify(&Vote::new(*member, b"block", signature)),
                Ok(())
            );
        }
        let report = committee.verify_batch(
            votes
                .iter()
                .map(|(member, signature)| Vote::new(*member, b"other", signature)),
        );
        assert_eq!((report.rejected().count(), report.valid_items()), (3, 0));
        let quorum = |votes| committee.verify_quorum(b"block", votes, QuorumRule::Certificate);
        assert_eq!(quorum(&votes[1..]).unwrap().weight(), 5);
        assert!(matches!(
            quorum(&votes[..2]),
            Err(QuorumError::Insufficient { .. })
        ));
        let certificate = committee.certificate(votes[1..].iter().copied()).unwrap();
        let verify =
            |committee: &AnyCommittee| committee.verify_certificate(&certificate, b"block");
        assert_eq!(verify(&committee).unwrap().weight(), 5);
        // The next epoch, and other sets.
        let next = committee.successor(8, [(&public[0], 0)]).unwrap();
        assert_eq!(
            (next.set(), next.len(), next.digest() == committee.digest()),
            (set, 2, false)
        );
        assert_eq!(verify(&next), Err(CertificateError::OtherCommittee));
        let stranger = next.verify(&Vote::new(members[1], b"block", &signatures[1]));
        assert_eq!(stranger, Err(RejectReason::UnknownMember));
        for other in Set::ALL.into_iter().filter(|other| *other != set) {
            let built = AnyCommittee::builder(other, CONTEXT).build([(&public[0], 1)]);
            assert_eq!(built.unwrap_err(), BuildError::KeyLength { index: 0 });
        }
    }
}
