//! The scheme against published data: digests in which a change of a single byte
//! of any key or signature shows, and every reason to reject an attempt. The
//! longer runs and the vectors are in `tests/kat`.

#![allow(clippy::unwrap_used, reason = "a test")]
#![cfg(all(
    feature = "alloc",
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]

use mldsa_core::{
    BatchSigner, Context, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Randomness, SignJob,
    SigningKey, VerifyError,
};
use sha3::Shake128;
use sha3::digest::{ExtendableOutput, Update, XofReader};

fn take<const LEN: usize>(source: &mut impl XofReader) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    source.read(&mut bytes);
    bytes
}

fn sum(sink: Shake128) -> String {
    hex::encode(take::<32>(&mut sink.finalize_xof()))
}

/// C2SP CCTV, 100 rounds: keys and deterministic signatures of the empty message.
fn accumulated<P: ParameterSet>() -> String {
    let mut source = Shake128::default().finalize_xof();
    let mut sink = Shake128::default();
    for _ in 0..100 {
        let key = SigningKey::<P>::from_seed(&take(&mut source));
        let signature = key
            .sign_with_context(b"", Context::EMPTY, Randomness::Deterministic)
            .unwrap();
        let pk = key.verifying_key();
        pk.verify_with_context(b"", Context::EMPTY, &signature)
            .unwrap();
        sink.update(pk.as_ref());
        sink.update(signature.as_ref());
    }
    sum(sink)
}

/// The same keys and signatures, made together.
fn accumulated_together<P: ParameterSet>() -> String {
    let mut source = Shake128::default().finalize_xof();
    let seeds: Vec<[u8; 32]> = (0..100).map(|_| take(&mut source)).collect();
    let keys = SigningKey::<P>::from_seeds(&seeds);
    let prepared: Vec<_> = keys.iter().map(SigningKey::prepare).collect();
    let jobs = prepared.iter().map(|key| {
        let key = key.as_prepared_ref();
        SignJob::new(key, b"", Context::EMPTY, Randomness::Deterministic)
    });
    let mut signatures = vec![Vec::new(); keys.len()];
    BatchSigner::new().sign(jobs, |n, signature| {
        signatures[n] = signature.unwrap().as_ref().to_vec();
    });
    let mut sink = Shake128::default();
    for (key, signature) in keys.iter().zip(&signatures) {
        sink.update(key.verifying_key().as_ref());
        sink.update(signature);
    }
    sum(sink)
}

#[test]
fn accumulated_digests() {
    let expected = "d51148e1f9f4fa1a723a6cf42e25f2a99eb5c1b378b3d2dbbd561b1203beeae4";
    assert_eq!(accumulated::<MlDsa44>(), expected);
    assert_eq!(accumulated_together::<MlDsa44>(), expected);
    let expected = "8358a1843220194417cadbc2651295cd8fc65125b5a5c1a239a16dc8b57ca199";
    assert_eq!(accumulated::<MlDsa65>(), expected);
    assert_eq!(accumulated_together::<MlDsa65>(), expected);
    let expected = "8c3ad714777622b8f21ce31bb35f71394f23bc0fcf3c78ace5d608990f3b061b";
    assert_eq!(accumulated::<MlDsa87>(), expected);
    assert_eq!(accumulated_together::<MlDsa87>(), expected);
}

/// Every byte of a signature counts: none can be changed in any bit position of
/// its own without a rejection, whatever the reason.
fn flips<P: ParameterSet>() {
    let key = SigningKey::<P>::from_seed(&[3; 32]);
    let mu = Mu::from_bytes([4; 64]);
    let signature = key.sign_mu(&mu, Randomness::Deterministic).unwrap();
    let vk = key.verifying_key().prepare();
    let mut bytes = signature.as_bytes().clone();
    for n in 0..P::SIG_LEN {
        bytes.as_mut()[n] ^= 1 << (n % 8);
        assert!(vk.verify_mu(&mu, &bytes).is_err(), "byte {n}");
        if n < P::C_TILDE_LEN {
            assert_eq!(
                vk.verify_mu(&mu, &bytes),
                Err(VerifyError::ChallengeMismatch)
            );
        }
        bytes.as_mut()[n] ^= 1 << (n % 8);
    }
    assert_eq!(vk.verify_mu(&mu, &bytes), Ok(()));
}

#[test]
fn every_byte_of_a_signature_counts() {
    flips::<MlDsa44>();
    flips::<MlDsa65>();
    flips::<MlDsa87>();
}

/// From NIST's ACVP examples: seeds and `mu` whose deterministic signing is
/// rejected as counted, for every reason that the set knows.
#[cfg(feature = "hazmat")]
mod rejections {
    use super::*;
    use mldsa_core::internals::{AttemptRejection, sign_mu_observed};

    /// Rejections by algorithm 7 line 23 (z or r0), and by line 28 for ct0 and for hints.
    fn counts<P: ParameterSet>(seed: &str, mu: &str) -> [u32; 3] {
        let bytes = |text| hex::decode(text).unwrap();
        let key = SigningKey::<P>::from_seed(&bytes(seed).try_into().unwrap());
        let mu = Mu::from_bytes(bytes(mu).try_into().unwrap());
        let mut out = vec![0; P::SIG_LEN];
        let mut counts = [0; 4];
        let mut observe = |rejection| counts[rejection as usize] += 1;
        sign_mu_observed(&key, &mu, Randomness::Deterministic, &mut out, &mut observe).unwrap();
        assert_eq!(key.verifying_key().verify_mu(&mu, &out), Ok(()));
        let [z, r0, ct0, hints] = counts;
        [z + r0, ct0, hints]
    }

    #[test]
    fn every_reason_to_reject() {
        assert_eq!(AttemptRejection::HintWeight as usize, 3);
        assert_eq!(
            counts::<MlDsa44>(
                "5c624fcc1862452452d0c665840d8237f43108e5499edcdc108fbc49d596e4b7",
                "2ad1c72bb0fcbe28099ce8bd2ed836dfebe520aad38fbac66ef785a3cfb10fb4\
                 19327fa57818ee4e3718da4be48d24b59a208f8807271fdb7eda6e60141bd263"
            ),
            [2, 1, 1]
        );
        assert_eq!(
            counts::<MlDsa65>(
                "464756a985e5df03739d95dd309c1ed9c5b04254cc294e7e7eb9b9365ee15117",
                "bcbed96ad917133fbecd0de58dfbd124d66887009814dc4ad756992c9c23af9b\
                 7e0f08c34d87f29f89256112e827e66c36bcc107eb99aff5fd4d254754c1f9e3"
            ),
            [17, 0, 1]
        );
        assert_eq!(
            counts::<MlDsa87>(
                "0d58219132746be077dfe821e9f8fd87857b28ab91d6a567e312a73e2636032c",
                "6609549e779e4cb85eab3f6f80345697dd959862730fe6c846ac970de7c0ae7b\
                 1fe5de6f49b6a549cc5d7246dc6382471320ac00131b615a29c75b907d8e4f73"
            ),
            [15, 0, 1]
        );
    }
}
