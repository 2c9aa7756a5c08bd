//! Verdicts are the same with a cache, and the cache stays within its bound.

use mldsa_core::{Randomness, SigningKey};

use super::*;

fn input<P: ParameterSet>(seed: u8, flip: bool) -> Vec<u8> {
    let key = SigningKey::<P>::from_seed(&[seed; 32]);
    let signature = key
        .sign_with_context(b"message", Context::EMPTY, Randomness::Deterministic)
        .unwrap();
    let mut input = [
        key.verifying_key().as_bytes().as_ref(),
        signature.as_ref(),
        b"message",
    ]
    .concat();
    if flip {
        input[P::PK_LEN] ^= 1;
    }
    input
}

#[test]
fn verdicts_equal_those_without_the_cache() {
    for keys in [0, 1, 2, 8] {
        let mut cache = KeyCache::new(keys);
        for round in 0..3 {
            for seed in 0..4 {
                for flip in [false, true] {
                    for (set, input) in [
                        (Set::MlDsa44, input::<MlDsa44>(seed, flip)),
                        (Set::MlDsa65, input::<MlDsa65>(seed, flip)),
                        (Set::MlDsa87, input::<MlDsa87>(seed, flip)),
                    ] {
                        let answer = cache.execute(set, &input, 20_000);
                        assert_eq!(answer, set.execute(&input, 20_000), "{keys} {round} {seed}");
                        assert_eq!(answer.unwrap().valid, !flip);
                        assert!(cache.len() <= 3 * keys);
                    }
                }
            }
        }
        assert_eq!(cache.len(), 3 * keys.min(4));
        assert_eq!(cache.is_empty(), keys == 0);
    }
}

/// Keys that differ in the last byte only are two keys.
#[test]
fn keys_differ_in_any_byte() {
    let mut cache = KeyCache::new(4);
    let honest = input::<MlDsa44>(1, false);
    let mut other = honest.clone();
    other[MlDsa44::PK_LEN - 1] ^= 1;
    for _ in 0..2 {
        assert!(cache.execute(Set::MlDsa44, &honest, 20_000).unwrap().valid);
        assert!(!cache.execute(Set::MlDsa44, &other, 20_000).unwrap().valid);
    }
    // A key is stored after a valid signature.
    assert_eq!(cache.len(), 1);
}

/// Counts the expansions of keys in a call.
fn expansions<P: ParameterSet>(cache: &mut Prepared<P>, input: &[u8]) -> (bool, u32) {
    let mut count = 0;
    let valid = verify_with(cache, input, |key| {
        count += 1;
        key.prepare()
    });
    (valid, count)
}

/// No key is expanded for a signature whose hint or z is malformed, and a forged one evicts no key
/// of a set.
fn only_keys_that_sign_are_stored<P: ParameterSet>() {
    let mut cache: Prepared<P> = bounded(2);
    let honest = [1, 2].map(|seed| input::<P>(seed, false));
    for round in [1, 0, 0] {
        for input in &honest {
            assert_eq!(expansions(&mut cache, input), (true, round));
        }
    }
    for seed in 3..8 {
        let good = input::<P>(seed, false);
        let signature = P::PK_LEN..P::PK_LEN + P::SIG_LEN;
        let mut hint = good.clone();
        hint[signature.end - 1] = 0xff;
        let mut z = good.clone();
        z[P::PK_LEN + P::C_TILDE_LEN..][..3].fill(0);
        for malformed in [&hint[..], &z, &good[..signature.end - 1], b""] {
            assert_eq!(expansions(&mut cache, malformed), (false, 0));
        }
        assert_eq!(expansions(&mut cache, &input::<P>(seed, true)), (false, 1));
        assert!(
            honest
                .iter()
                .all(|input| cache.contains(&input[..P::PK_LEN]))
        );
    }
    // A known key is not expanded for any signature, and stays.
    assert_eq!(expansions(&mut cache, &input::<P>(1, true)), (false, 0));
    assert_eq!(expansions(&mut cache, &honest[0]), (true, 0));
    // A new key that signs takes the place of the least recently used one.
    assert_eq!(expansions(&mut cache, &input::<P>(3, false)), (true, 1));
    assert_eq!(expansions(&mut cache, &honest[0]), (true, 0));
    assert_eq!(expansions(&mut cache, &honest[1]), (true, 1));
}

#[test]
fn forged_and_malformed_signatures_evict_no_key() {
    only_keys_that_sign_are_stored::<MlDsa44>();
    only_keys_that_sign_are_stored::<MlDsa65>();
    only_keys_that_sign_are_stored::<MlDsa87>();
}

#[test]
fn no_key_is_cached_without_gas_or_key() {
    let mut cache = KeyCache::new(4);
    assert!(
        cache
            .execute(Set::MlDsa44, &input::<MlDsa44>(1, false), 6_505)
            .is_none()
    );
    assert!(!cache.execute(Set::MlDsa44, b"short", 6_500).unwrap().valid);
    assert!(cache.is_empty());
}

/// The least recently used key is evicted first.
#[test]
fn least_recently_used_key_is_evicted() {
    let mut cache = KeyCache::new(2);
    let inputs = [1, 2, 3].map(|seed| input::<MlDsa44>(seed, false));
    for n in [0, 1, 0, 2] {
        cache.execute(Set::MlDsa44, &inputs[n], 20_000).unwrap();
    }
    let held = inputs.map(|input| cache.set44.contains(&input[..MlDsa44::PK_LEN]));
    assert_eq!(held, [true, false, true]);
}

/// The bound is no allocation.
#[test]
fn a_large_bound_allocates_nothing() {
    assert!(KeyCache::new(usize::MAX).is_empty());
}
