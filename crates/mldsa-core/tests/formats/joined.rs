//! Joined private keys: recognised in their set, and in no other string of the same length.

use mldsa_core::internals::is_joined_private_key;
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};

fn recognised<P: ParameterSet>() {
    for first in 0..8 {
        let seed = [first; 32];
        let key = SigningKey::<P>::from_seed(&seed);
        let mut joined = [&seed[..], key.expanded().as_ref()].concat();
        let found = [
            is_joined_private_key::<MlDsa44>(&joined),
            is_joined_private_key::<MlDsa65>(&joined),
            is_joined_private_key::<MlDsa87>(&joined),
        ];
        assert_eq!(
            found,
            ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"].map(|name| name == P::NAME)
        );
        for len in [0, 1, 32, 64, joined.len() - 1] {
            assert!(!is_joined_private_key::<P>(&joined[..len]), "{len}");
        }
        // Every byte of the seed and of `rho` counts.
        for at in 0..64 {
            joined[at] ^= 0x80;
            assert!(!is_joined_private_key::<P>(&joined), "{at}");
            joined[at] ^= 0x80;
        }
        joined.push(0);
        assert!(!is_joined_private_key::<P>(&joined));
    }
}

#[test]
fn joined_keys_are_recognised_in_their_set() {
    crate::for_all_sets!(recognised);
}
