//! Verification with `fips204`, an independent implementation.
#![allow(unreachable_pub, reason = "a module of several test programs")]

use fips204::ml_dsa_87::PublicKey;
use fips204::traits::{SerDes, Verifier};

/// The verdict of `fips204` on an ML-DSA-87 signature.
pub fn verify(pk: &[u8], message: &[u8], ctx: &[u8], signature: &[u8]) -> bool {
    let pk = PublicKey::try_from_bytes(pk.try_into().unwrap()).unwrap();
    pk.verify(message, signature.try_into().unwrap(), ctx)
}

/// Checks that `fips204` accepts the signature and rejects it after a change of any of its parts,
/// of the message, the context or the key.
pub fn check(pk: &[u8], message: &[u8], ctx: &[u8], signature: &[u8]) {
    assert!(verify(pk, message, ctx, signature));
    let changed = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    // One byte of c_tilde, z, the hints and their counts.
    for at in [0, 63, 64, 2000, 4543, 4544, 4626] {
        assert!(!verify(pk, message, ctx, &changed(signature, at)), "{at}");
    }
    assert!(!verify(pk, &[message, &[0]].concat(), ctx, signature));
    assert!(!verify(pk, message, &[ctx, &[0]].concat(), signature));
    if !message.is_empty() {
        assert!(!verify(pk, &changed(message, 0), ctx, signature));
    }
    if !ctx.is_empty() {
        assert!(!verify(pk, message, &changed(ctx, 0), signature));
    }
    for at in [0, 32, 2591] {
        assert!(!verify(&changed(pk, at), message, ctx, signature));
    }
}
