//! Committees and their successors.

use batch_verify::{BuildError, Committee, KeyStorage, RejectReason, Threads, Threshold, Vote};
use mldsa_core::{MlDsa44, MlDsa87, SigningKey};

use crate::fixture::{CONTEXT, KEYS, committee, keys, public, sign};

fn build(members: &[(&[u8], u64)]) -> Result<Committee<MlDsa44>, BuildError> {
    let builder = Committee::builder(CONTEXT)
        .epoch(1)
        .threads(Threads::Inline);
    builder.build(members.iter().copied())
}

/// Whether exactly the members at `owners` are there, with working keys, in this order.
fn check(committee: &Committee<MlDsa44>, owners: &[usize], signatures: &[Vec<u8>]) {
    assert_eq!(committee.len(), owners.len());
    assert_eq!(committee.members().len(), owners.len());
    for (index, &owner) in owners.iter().enumerate() {
        let member = committee.member(index as u32).unwrap();
        assert_eq!(committee.member_of(public(&KEYS[owner])), Some(member));
        assert_eq!(committee.key(member).unwrap(), KEYS[owner].verifying_key());
        let vote = |signer: usize| Vote::new(member, b"epoch", &signatures[signer]);
        assert_eq!(committee.verify(&vote(owner)), Ok(()));
        let other = (owner + 1) % KEYS.len();
        assert_eq!(
            committee.verify(&vote(other)),
            Err(RejectReason::ChallengeMismatch)
        );
    }
    assert_eq!(committee.member(owners.len() as u32), None);
    assert_eq!(committee.member(u32::MAX), None);
}

#[test]
fn successors_in_every_storage() {
    let signatures: Vec<Vec<u8>> = KEYS.iter().map(|key| sign(key, b"epoch")).collect();
    for storage in [
        KeyStorage::BySize,
        KeyStorage::Wide,
        KeyStorage::Packed,
        KeyStorage::Lru { max_bytes: 1 << 20 },
        KeyStorage::Compact,
    ] {
        let builder = Committee::builder(CONTEXT)
            .threads(Threads::Inline)
            .key_storage(storage);
        let mut owners: Vec<usize> = (0..5).collect();
        let members = owners.iter().map(|&n| (public(&KEYS[n]), 1));
        let mut current = builder.build(members).unwrap();
        check(&current, &owners, &signatures);
        let bound = 4 * current.memory_bytes();
        // Enough changes for arenas to be shared, merged and dropped.
        for epoch in 1..=30_u64 {
            let joins = (4 + epoch as usize) % KEYS.len();
            let leaves = owners.remove(epoch as usize % owners.len());
            let changes = [(public(&KEYS[joins]), 1), (public(&KEYS[leaves]), 0)];
            let next = current.successor(epoch, changes).unwrap();
            owners.retain(|&owner| owner != joins);
            match next.member_of(public(&KEYS[joins])) {
                // Leaves in the same list.
                None => assert_eq!(joins, leaves),
                Some(member) => owners.insert(member.index() as usize, joins),
            }
            check(&next, &owners, &signatures);
            assert!(next.memory_bytes() <= bound, "{storage:?} {epoch}");
            // Applied again, and with changes that are in force already.
            let again = current.successor(epoch, changes.iter().chain(&changes).copied());
            assert_eq!(again.unwrap(), next);
            let same = next
                .successor(epoch + 1, [(public(&KEYS[leaves]), 0)])
                .unwrap();
            check(&same, &owners, &signatures);
            // Ids of the old epoch name no member of the new one.
            for member in current.members() {
                assert!(!next.contains(member));
                assert_eq!((next.key(member), next.weight(member)), (None, None));
            }
            current = next;
        }
        owners.reverse();
        let members = owners.iter().map(|&n| (public(&KEYS[n]), 1));
        check(
            &current.successor_ordered(40, members).unwrap(),
            &owners,
            &signatures,
        );
    }
}

#[test]
fn weights_follow_the_keys() {
    let [a, b, c] = [0, 1, 2].map(|n| public(&KEYS[n]));
    let first = build(&[(a, 5), (b, 7)]).unwrap();
    let next = first.successor(2, [(c, u64::MAX), (a, 9)]).unwrap();
    let weights: Vec<_> = next
        .members()
        .map(|member| next.weight(member).unwrap())
        .collect();
    assert_eq!(weights, [9, 7, u64::MAX]);
    assert_eq!(next.total_weight(), 16 + u128::from(u64::MAX));
    let sorted = next.successor_ordered(3, [(c, 1), (a, 2)]).unwrap();
    let weight = |key| sorted.weight(sorted.member_of(key).unwrap()).unwrap();
    assert_eq!((weight(a), weight(c), sorted.len()), (2, 1, 2));
    let swapped = first.successor_ordered(2, [(b, 7), (a, 5)]).unwrap();
    let weight = |index| swapped.weight(swapped.member(index).unwrap());
    assert_eq!([0, 1].map(weight), [Some(7), Some(5)]);
    assert_eq!(
        Threshold::TWO_THIRDS.required_weight(sorted.total_weight()),
        3
    );
    assert_eq!(
        Threshold::MAJORITY.required_weight(sorted.total_weight()),
        2
    );
    assert_eq!(
        Threshold::ONE_THIRD.required_weight(sorted.total_weight()),
        2
    );
}

#[test]
fn invalid_members_are_rejected() {
    let [a, b] = [0, 1].map(|n| public(&KEYS[n]));
    let error = |members: &[(&[u8], u64)]| build(members).unwrap_err();
    assert_eq!(error(&[]), BuildError::Empty);
    assert_eq!(
        error(&[(a, 1), (&b[1..], 1)]),
        BuildError::KeyLength { index: 1 }
    );
    assert_eq!(
        error(&[(a, 1), (b, 0)]),
        BuildError::ZeroWeight { index: 1 }
    );
    let twice = BuildError::DuplicateKey {
        first: 1,
        second: 3,
    };
    let c = public(&KEYS[2]);
    assert_eq!(error(&[(c, 1), (a, 1), (b, 1), (a, 1)]), twice);

    let first = build(&[(a, 1), (b, 1)]).unwrap();
    let error = |changes: &[(&[u8], u64)]| {
        let next = first.successor(2, changes.iter().copied());
        next.unwrap_err()
    };
    assert_eq!(error(&[(a, 0), (b, 0)]), BuildError::Empty);
    assert_eq!(
        error(&[(c, 1), (&a[1..], 0)]),
        BuildError::KeyLength { index: 1 }
    );
    let contradiction = BuildError::DuplicateKey {
        first: 0,
        second: 2,
    };
    assert_eq!(error(&[(c, 1), (b, 2), (c, 2)]), contradiction);
    for epoch in [0, 1] {
        let next = first.successor(epoch, [(c, 1)]);
        assert_eq!(next.unwrap_err(), BuildError::Epoch { current: 1 });
    }
    // The longest context, and one byte more.
    assert!(first.with_context([7; 255]).is_ok());
    let long = first.with_context([7; 256]).unwrap_err();
    assert_eq!(long, BuildError::ContextTooLong);
    let threads = Committee::<MlDsa44>::builder(CONTEXT).threads(Threads::Dedicated(0));
    assert_eq!(threads.build([(a, 1)]).unwrap_err(), BuildError::ThreadPool);
}

/// The digest, and with it every member id, depends on everything that defines a committee.
#[test]
fn the_digest_covers_everything() {
    let [a, b, c] = [0, 1, 2].map(|n| public(&KEYS[n]));
    let builder = || Committee::<MlDsa44>::builder(b"chain".as_slice()).threads(Threads::Inline);
    let all = [
        builder().build([(a, 1), (b, 1)]).unwrap(),
        builder().build([(b, 1), (a, 1)]).unwrap(),
        builder().build([(a, 1), (c, 1)]).unwrap(),
        builder().build([(a, 1), (b, 2)]).unwrap(),
        builder().build([(a, 1)]).unwrap(),
        builder().epoch(1).build([(a, 1), (b, 1)]).unwrap(),
        builder()
            .threshold(Threshold::MAJORITY)
            .build([(a, 1), (b, 1)])
            .unwrap(),
        Committee::builder(b"chai").build([(a, 1), (b, 1)]).unwrap(),
    ];
    for (n, one) in all.iter().enumerate() {
        for (m, other) in all.iter().enumerate() {
            assert_eq!(one.digest() == other.digest(), n == m);
            assert_eq!(one == other, n == m);
            assert_eq!(one.contains(other.member(0).unwrap()), n == m);
        }
    }
    // Not on what does not define it.
    let packed = builder()
        .key_storage(KeyStorage::Packed)
        .build([(a, 1), (b, 1)])
        .unwrap();
    assert_eq!(packed, all[0]);
    assert_eq!(all[0].with_context(b"chai").unwrap(), all[7]);
}

/// The digest of one committee: it must not change, nodes compare it.
#[test]
fn the_digest_is_stable() {
    let committee = committee(&keys::<MlDsa87>(3));
    let hex: String = committee
        .digest()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        hex,
        "a83e0b0affefb0434843072a7ac8a0f4c99c5a19235d4d899e31fd631372ff57"
    );
}

#[test]
fn keys_are_accepted_in_every_form() {
    let keys: Vec<SigningKey<MlDsa44>> = keys(3);
    let reference = committee(&keys);
    let builder = || Committee::builder(CONTEXT).epoch(1);
    let by_reference = keys.iter().map(|key| (key.verifying_key(), 1));
    assert_eq!(builder().build(by_reference).unwrap(), reference);
    let by_value = keys.iter().map(|key| (key.verifying_key().clone(), 1));
    assert_eq!(builder().build(by_value).unwrap(), reference);
    let arrays = keys.iter().map(|key| (*key.verifying_key().as_bytes(), 1));
    assert_eq!(builder().build(arrays).unwrap(), reference);
    let vectors = keys.iter().map(|key| (public(key).to_vec(), 1));
    assert_eq!(builder().build(vectors).unwrap(), reference);
}
