//! A cache changes no answer and stays within its bound.

use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey};
use mldsa_evm_precompile::{KeyCache, Set, execute};

fn input<P: ParameterSet>(seed: u8, flip: bool) -> Vec<u8> {
    let key = SigningKey::<P>::from_seed(&[seed; 32]);
    let signature = key
        .sign(b"message", Context::EMPTY, Randomness::Deterministic)
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
                        assert_eq!(
                            answer,
                            execute(set, &input, 20_000),
                            "{keys} {round} {seed}"
                        );
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
    assert_eq!(cache.len(), 2);
}

#[test]
fn no_key_is_cached_without_gas_or_key() {
    let mut cache = KeyCache::new(4);
    assert!(
        cache
            .execute(Set::MlDsa44, &input::<MlDsa44>(1, false), 6_505)
            .is_err()
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
    let held = inputs.map(|input| cache.contains(Set::MlDsa44, &input[..MlDsa44::PK_LEN]));
    assert_eq!(held, [true, false, true]);
}
