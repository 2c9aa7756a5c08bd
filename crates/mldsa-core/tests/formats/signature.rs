use mldsa_core::signature::{
    DigestSigner, DigestVerifier, Keypair, MultipartSigner, MultipartVerifier,
    RandomizedDigestSigner, RandomizedMultipartSigner, RandomizedSigner, SignatureEncoding, Signer,
    Verifier,
};
use mldsa_core::{
    Context, MlDsa44, MuBuilder, ParameterSet, PreparedSigningKey, PreparedVerifyingKey,
    Randomness, Signature, SigningKey, VerifyingKey,
};
use rand_core::{TryCryptoRng, TryRng};

use crate::{for_all_sets, key};

/// A generator that always gives the same byte, or fails.
struct Fixed(Option<u8>);

impl TryRng for Fixed {
    type Error = core::fmt::Error;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.0
            .map(|byte| u32::from_ne_bytes([byte; 4]))
            .ok_or(core::fmt::Error)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.0
            .map(|byte| u64::from_ne_bytes([byte; 8]))
            .ok_or(core::fmt::Error)
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        out.fill(self.0.ok_or(core::fmt::Error)?);
        Ok(())
    }
}
impl TryCryptoRng for Fixed {}

fn signs<P, K>(key: &K, reference: &SigningKey<P>)
where
    P: ParameterSet,
    K: Signer<Signature<P>>
        + MultipartSigner<Signature<P>>
        + DigestSigner<MuBuilder, Signature<P>>
        + RandomizedSigner<Signature<P>>
        + RandomizedMultipartSigner<Signature<P>>
        + RandomizedDigestSigner<MuBuilder, Signature<P>>
        + Keypair<VerifyingKey = VerifyingKey<P>>,
{
    let feed = |mu: &mut MuBuilder| {
        mu.update(b"one ");
        mu.update(b"message");
        Ok(())
    };
    let plain = reference
        .sign_with_context(b"one message", Context::EMPTY, Randomness::Deterministic)
        .unwrap();
    assert_eq!(key.try_sign(b"one message").unwrap(), plain);
    assert_eq!(
        key.try_multipart_sign(&[b"one ", b"", b"message"]).unwrap(),
        plain
    );
    assert_eq!(key.try_sign_digest(feed).unwrap(), plain);

    let hedged = reference
        .sign_with_context(b"one message", Context::EMPTY, Randomness::Hedged(&[5; 32]))
        .unwrap();
    let rng = &mut Fixed(Some(5));
    assert_eq!(key.try_sign_with_rng(rng, b"one message").unwrap(), hedged);
    assert_eq!(
        key.try_multipart_sign_with_rng(rng, &[b"one ", b"message"])
            .unwrap(),
        hedged
    );
    assert_eq!(key.try_sign_digest_with_rng(rng, feed).unwrap(), hedged);
    assert!(key.try_sign_with_rng(&mut Fixed(None), b"").is_err());
    assert!(
        key.try_sign_digest(|_| Err(mldsa_core::signature::Error::new()))
            .is_err()
    );
    assert_eq!(&key.verifying_key(), reference.verifying_key());
}

fn verifies<P, K>(key: &K, good: &Signature<P>)
where
    P: ParameterSet,
    K: Verifier<Signature<P>>
        + MultipartVerifier<Signature<P>>
        + DigestVerifier<MuBuilder, Signature<P>>,
{
    assert!(key.verify(b"one message", good).is_ok());
    assert!(key.verify(b"other message", good).is_err());
    assert!(key.multipart_verify(&[b"one", b" message"], good).is_ok());
    assert!(key.multipart_verify(&[b"one", b"message"], good).is_err());
    let feed = |mu: &mut MuBuilder| {
        mu.update(b"one message");
        Ok(())
    };
    assert!(key.verify_digest(feed, good).is_ok());
    assert!(key.verify_digest(|_| Ok(()), good).is_err());
}

/// Method calls on concrete keys are those of the traits: no inherent method hides them.
#[test]
fn methods_of_the_traits_are_called_by_their_names() {
    let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
    let (prepared, vk) = (key.prepare(), key.verifying_key());
    let signature = key.sign(b"message");
    assert_eq!(prepared.sign(b"message"), signature);
    let hedged = key
        .try_sign_with_rng(&mut Fixed(Some(5)), b"message")
        .unwrap();
    assert_ne!(hedged, signature);
    for signature in [&signature, &hedged] {
        assert!(vk.verify(b"message", signature).is_ok());
        assert!(vk.prepare().verify(b"message", signature).is_ok());
        let with_context = vk.verify_with_context(b"message", Context::EMPTY, signature);
        assert_eq!(with_context, Ok(()));
    }
}

fn traits<P: ParameterSet>() {
    let key = key::<P>();
    signs::<P, SigningKey<P>>(&key, &key);
    signs::<P, PreparedSigningKey<P>>(&key.prepare(), &key);
    let good: Signature<P> = key.try_sign(b"one message").unwrap();
    let vk = key.verifying_key();
    verifies::<P, VerifyingKey<P>>(vk, &good);
    verifies::<P, PreparedVerifyingKey<P>>(&vk.prepare(), &good);
    verifies::<P, _>(&vk.prepare().as_prepared_ref(), &good);
}

#[test]
fn every_trait_of_every_key() {
    for_all_sets!(traits);
}

#[test]
fn encoding() {
    let key = key::<MlDsa44>();
    let signature: Signature<MlDsa44> = key.try_sign(b"").unwrap();
    let bytes: [u8; 2420] = signature.to_bytes();
    assert_eq!(signature.encoded_len(), 2420);
    assert_eq!(signature.to_vec(), bytes);
    assert_eq!(
        Signature::<MlDsa44>::try_from(&bytes[..]).unwrap(),
        signature
    );
    let error = Signature::<MlDsa44>::try_from(&bytes[1..]).unwrap_err();
    assert_eq!(error, mldsa_core::VerifyError::SignatureLength);
}
