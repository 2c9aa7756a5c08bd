//! The cache of prepared keys: admission, eviction, bounds.

use batch_verify::{BatchVerifier, Committee, Item, KeyStorage, RejectReason, Threads, Vote};
use mldsa_core::{MlDsa44, ParameterSet, Randomness, SigningKey};

use crate::fixture::{CONTEXT, context, keys, public, sign};

/// A little more than an prepared key of ML-DSA-44 takes in the cache, less than two.
const SLOT: usize = 1024 * MlDsa44::K * (MlDsa44::L + 1) + 8192;

/// A verifier with room for so many prepared keys.
fn with_room_for(keys: usize, threads: Threads) -> BatchVerifier<MlDsa44> {
    let builder = BatchVerifier::builder().threads(threads);
    builder.key_cache_bytes(keys * SLOT).build().unwrap()
}

/// Public keys, and a signature of `spent` under each.
fn spenders(count: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
    let spender = |key: &SigningKey<MlDsa44>| (public(key).to_vec(), sign(key, b"spent"));
    keys(count).iter().map(spender).collect()
}

fn item<'a>((key, signature): &'a (Vec<u8>, Vec<u8>), message: &'a [u8]) -> Item<'a> {
    Item::new(key, message, context(), signature)
}

fn figures(verifier: &BatchVerifier<MlDsa44>) -> (usize, u64) {
    let stats = verifier.key_cache();
    (stats.bytes, stats.hits)
}

/// Look-ups that found an prepared key, among so many verifications.
fn hits(
    verifier: &BatchVerifier<MlDsa44>,
    signed: &(Vec<u8>, Vec<u8>),
    message: &[u8],
    times: usize,
) -> u64 {
    let before = figures(verifier).1;
    for _ in 0..times {
        let result = verifier.verify(&item(signed, message));
        assert_eq!(result.is_ok(), message == b"spent");
    }
    figures(verifier).1 - before
}

#[test]
fn a_key_is_expanded_after_its_second_valid_signature() {
    let verifier = with_room_for(300, Threads::Inline);
    let signed = spenders(3);
    assert_eq!(hits(&verifier, &signed[0], b"spent", 1), 0);
    assert_eq!(figures(&verifier).0, 0);
    assert_eq!(hits(&verifier, &signed[0], b"spent", 1), 0);
    let bytes = figures(&verifier).0;
    assert!(bytes > 20 << 10);
    assert_eq!(hits(&verifier, &signed[0], b"spent", 3), 3);

    // Malformed and forged signatures expand nothing.
    let mut malformed = signed[1].clone();
    *malformed.1.last_mut().unwrap() = 0xff;
    for _ in 0..3 {
        let report = verifier.verify_batch([item(&malformed, b"spent"); 2]);
        assert_eq!(report.verdicts(), [Err(RejectReason::HintEncoding); 2]);
    }
    assert_eq!(hits(&verifier, &signed[1], b"stolen", 20), 0);
    assert_eq!(figures(&verifier).0, bytes);
}

/// With the cache full a key is admitted with its eighth valid signature, or earlier if the
/// least recently used one has been idle for long.
#[test]
fn a_full_cache() {
    let verifier = with_room_for(2, Threads::Inline);
    let signed = spenders(5);
    let verify = |signer: usize| hits(&verifier, &signed[signer], b"spent", 1);
    for signer in [0, 0, 1, 1] {
        assert_eq!(verify(signer), 0);
    }
    assert_eq!((verify(0), verify(1)), (1, 1));
    // Many that sign a few times each.
    for _ in 0..7 {
        for signer in [2, 3, 4] {
            assert_eq!(verify(signer), 0);
        }
        assert_eq!((verify(0), verify(1)), (1, 1));
    }
    // One more by one of them: the least recently used one is removed.
    assert_eq!(verify(2), 0);
    assert_eq!((verify(2), verify(1), verify(0)), (1, 1, 0));
    // It begins again.
    for _ in 0..6 {
        assert_eq!(verify(0), 0);
    }
    assert_eq!((verify(2), verify(1)), (1, 1));
    assert_eq!((verify(0), verify(0)), (0, 1));
    // One of them is idle for long: three are enough of a key that signs often, and not of
    // one that does not.
    for _ in 0..20 {
        assert_eq!(verify(0), 1);
    }
    for signer in [2, 2, 2] {
        assert_eq!(verify(signer), 0);
    }
    assert_eq!((verify(2), verify(1)), (1, 0));
    for _ in 0..20 {
        assert_eq!((verify(0), verify(2)), (1, 1));
    }
    for _ in 0..5 {
        assert_eq!((verify(1), verify(0)), (0, 1));
    }
    assert_eq!((verify(0), verify(2)), (1, 1));
}

/// Signatures that do not verify are no use of a cached key, and no other becomes idle by
/// them.
#[test]
fn forged_signatures_keep_no_slot() {
    let verifier = with_room_for(2, Threads::Inline);
    let signed = spenders(3);
    let verify = |signer: usize, message: &[u8]| hits(&verifier, &signed[signer], message, 1);
    for signer in [0, 0, 1, 1] {
        assert_eq!(verify(signer, b"spent"), 0);
    }
    assert_eq!((verify(0, b"spent"), verify(1, b"spent")), (1, 1));
    for _ in 0..100 {
        assert_eq!(verify(0, b"stolen"), 1);
    }
    // The third would be admitted if 0 or 1 were idle.
    for _ in 0..8 {
        assert_eq!(verify(2, b"spent"), 0);
    }
    assert_eq!((verify(2, b"spent"), verify(1, b"spent")), (1, 1));
    assert_eq!(verify(0, b"stolen"), 0);
}

/// The same rules for a committee, one vote at a time and in batches.
#[test]
fn members_in_a_small_cache() {
    let signed = spenders(3);
    let storage = KeyStorage::Lru {
        max_bytes: 2 * SLOT,
    };
    let builder = Committee::<MlDsa44>::builder(CONTEXT).key_storage(storage);
    let committee = builder
        .build(signed.iter().map(|(key, _)| (key, 1)))
        .unwrap();
    let verifier = committee.verifier();
    let hits = || verifier.key_cache().hits;
    let verify = |signer: usize, message: &[u8], times: usize| {
        let member = committee.member(signer as u32).unwrap();
        let vote = Vote::new(member, message, &signed[signer].1);
        for n in 0..times {
            let result = match n % 2 {
                0 => committee.verify(&vote).is_ok(),
                _ => verifier.verify_batch([vote]).all_valid(),
            };
            assert_eq!(result, message == b"spent");
        }
    };
    for signer in [0, 0, 1, 1, 0, 1] {
        verify(signer, b"spent", 1);
    }
    verify(0, b"stolen", 100);
    verify(2, b"spent", 8);
    assert_eq!(hits(), 102);
    verify(1, b"spent", 1);
    verify(2, b"spent", 1);
    assert_eq!(hits(), 104);
    verify(0, b"stolen", 1);
    assert_eq!(hits(), 104);
}

/// Valid signatures are counted for eight times as many keys as fit.
#[test]
fn counters_are_bounded() {
    let verifier = with_room_for(1, Threads::Inline);
    let signed = spenders(10);
    let verify = |signer: usize, times| hits(&verifier, &signed[signer], b"spent", times);
    assert_eq!(verify(0, 3), 1);
    for (others, hits) in [(2..9, 1), (2..10, 0)] {
        assert_eq!(verify(1, 7), 0);
        others.for_each(|other| assert_eq!(verify(other, 1), 0));
        assert_eq!(verify(1, 2), hits);
        // Key 0 is admitted again, or is still cached.
        verify(0, 8);
    }
}

/// Several workers, several items of a key in a batch, room for one key or two.
#[test]
fn a_small_cache_and_many_workers() {
    let keys = keys::<MlDsa44>(6);
    // Each key has 16 different signatures.
    let signed: Vec<(Vec<u8>, Vec<u8>)> = (0..96)
        .map(|n| {
            let hedge = [n as u8; 32];
            let signature =
                keys[n / 16].sign_with_context(b"spent", context(), Randomness::Hedged(&hedge));
            let signature = signature.unwrap().as_ref().to_vec();
            (public(&keys[n / 16]).to_vec(), signature)
        })
        .collect();
    for room in [1, 2] {
        let verifier = with_room_for(room, Threads::Dedicated(4));
        for round in 0..8 {
            let message = |n: usize| -> &[u8] {
                if n.is_multiple_of(7) {
                    b"stolen"
                } else {
                    b"spent"
                }
            };
            let items = (0..96).map(|n| item(&signed[(n + 16 * round) % 96], message(n)));
            let report = verifier.verify_batch(items);
            for (n, verdict) in report.verdicts().iter().enumerate() {
                assert_eq!(verdict.is_ok(), n % 7 != 0, "item {n}");
            }
            let bytes = verifier.key_cache().bytes;
            assert!(bytes > 0 && bytes <= room * SLOT);
        }
    }
}
