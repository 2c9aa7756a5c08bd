//! Target `differential`: byte-equal keys and signatures, equal verdicts, with
//! the independent implementation `fips204`.

use fips204::traits::{KeyGen, SerDes, Signer, Verifier};
use mldsa_core::{
    Context, KeyError, MlDsa44, MlDsa65, MlDsa87, PreHash, PreHashed, Randomness, SigningKey,
    VerifyingKey,
};

use crate::{damage, split};

/// The first byte chooses the set, the second the operation; then 32 bytes of
/// seed, 32 of `rnd`, a byte of context length; the rest is context and message,
/// or damage.
pub fn differential(data: &[u8]) {
    let (set, data) = split(data);
    match set % 3 {
        0 => ml_dsa_44(data),
        1 => ml_dsa_65(data),
        _ => ml_dsa_87(data),
    }
}

/// The leading 32 bytes, zero-filled.
fn take32(data: &[u8]) -> ([u8; 32], &[u8]) {
    let mut out = [0; 32];
    let (head, rest) = data.split_at(data.len().min(32));
    out[..head.len()].copy_from_slice(head);
    (out, rest)
}

macro_rules! set {
    ($name:ident, $P:ty, $peer:ident) => {
        fn $name(data: &[u8]) {
            use fips204::$peer as peer;

            let (operation, data) = split(data);
            let (xi, data) = take32(data);
            let (rnd, data) = take32(data);
            let (ctx_len, data) = split(data);
            let (ctx, rest) = data.split_at(usize::from(ctx_len).min(data.len()));
            let context = Context::new(ctx).expect("at most 255 bytes");

            let key = SigningKey::<$P>::from_seed(&xi);
            let vk = key.verifying_key();
            let (peer_pk, peer_sk) = peer::KG::keygen_from_seed(&xi);
            let peer_sk_bytes = peer_sk.clone().into_bytes();
            assert_eq!(vk.as_bytes(), &peer_pk.clone().into_bytes());
            assert_eq!(key.expanded(), &peer_sk_bytes);

            match operation % 4 {
                // Signatures over a message.
                0 => {
                    let ours = key
                        .sign_with_context(rest, context, Randomness::Hedged(&rnd))
                        .expect("signs");
                    let theirs = peer_sk.try_sign_with_seed(&rnd, rest, ctx).expect("signs");
                    assert_eq!(ours.as_bytes(), &theirs);
                    assert!(peer_pk.verify(rest, ours.as_bytes(), ctx));
                }
                // Signatures over a digest.
                1 => {
                    let hash = PreHash::ALL[usize::from(rnd[0]) % 12];
                    let mut digest = [0; 64];
                    let len = rest.len().min(64);
                    digest[..len].copy_from_slice(&rest[..len]);
                    let digest = &digest[..hash.digest_len()];
                    let checked = PreHashed::new_allow_weak(hash, digest).expect("length fits");
                    let ours = key
                        .sign_prehashed(&checked, context, Randomness::Hedged(&rnd))
                        .expect("signs");
                    let theirs = peer_sk
                        .try_hash_sign_with_seed(&rnd, digest, ctx, hash.oid())
                        .expect("signs");
                    assert_eq!(ours.as_bytes(), &theirs);
                    assert!(vk.verify_prehashed(&checked, context, &theirs).is_ok());
                }
                // Verdicts on damaged signatures, under keys with a challenge that
                // counts and under t1 = 0 (where only the rules decide).
                2 => {
                    let message = &rest[..rest.len().min(8)];
                    let mut signature = key
                        .sign_with_context(message, context, Randomness::Hedged(&rnd))
                        .expect("signs");
                    let mut bytes = signature.as_bytes().clone();
                    damage(&mut bytes, rest);
                    assert_eq!(
                        vk.verify_with_context(message, context, &bytes).is_ok(),
                        peer_pk.verify(message, &bytes, ctx)
                    );
                    let mut pk = vk.as_bytes().clone();
                    pk[32..].fill(0);
                    let ours = VerifyingKey::<$P>::from_bytes(&pk).expect("every key loads");
                    let theirs = peer::PublicKey::try_from_bytes(pk).expect("every key loads");
                    assert_eq!(
                        ours.verify_with_context(message, context, &bytes).is_ok(),
                        theirs.verify(message, &bytes, ctx)
                    );
                    // A second signature under the damaged message, both ways.
                    signature = key
                        .sign_with_context(rest, context, Randomness::Deterministic)
                        .expect("signs");
                    assert!(peer_pk.verify(rest, signature.as_bytes(), ctx));
                    assert_eq!(
                        vk.verify_with_context(message, context, &signature).is_ok(),
                        peer_pk.verify(message, signature.as_bytes(), ctx)
                    );
                }
                // Damaged expanded keys: ranges as the peer, consistency beyond it.
                _ => {
                    let mut bytes = peer_sk_bytes;
                    let changed = damage(&mut bytes, rest);
                    let ours = SigningKey::<$P>::from_expanded_bytes(&bytes);
                    let theirs = peer::PrivateKey::try_from_bytes(bytes);
                    match ours {
                        Ok(ours) => {
                            // Whatever passes every check signs as the peer does.
                            let theirs = theirs.expect("in range");
                            let a = ours
                                .sign_with_context(rest, context, Randomness::Hedged(&rnd))
                                .expect("signs");
                            let b = theirs.try_sign_with_seed(&rnd, rest, ctx).expect("signs");
                            assert_eq!(a.as_bytes(), &b);
                        }
                        Err(KeyError::SecretRange) => assert!(theirs.is_err() && changed),
                        Err(_) => assert!(changed),
                    }
                }
            }
        }
    };
}
set!(ml_dsa_44, MlDsa44, ml_dsa_44);
set!(ml_dsa_65, MlDsa65, ml_dsa_65);
set!(ml_dsa_87, MlDsa87, ml_dsa_87);
