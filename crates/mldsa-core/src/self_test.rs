//! A known-answer test for start-up.

use crate::backend::Backend;
use crate::coding::encode::PublicKeyParts;
use crate::error::SelfTestError;
use crate::hash::transcript::{Context, MuBuilder, tr};
use crate::hash::xof::Shake256;
use crate::keys::VerifyingKey;
use crate::lanes::job::JobKey;
use crate::memory::array::{Wipe, Zeroed};
use crate::memory::secret::Secret;
use crate::params::ParameterSet;
use crate::ring::poly::NttPoly;
use crate::scheme::keygen::keygen_internal;
use crate::scheme::sign::{SelfVerification, sign_expanded_in};

/// Runs key generation, signing and verification of every compiled set on every
/// backend this CPU can run, against known answers, and checks that a damaged
/// signature is rejected. For the start of a program, before keys are loaded.
///
/// # Errors
/// [`SelfTestError`] names the first operation that failed: the CPU, the memory
/// or the build is not to be trusted.
pub fn self_test() -> Result<(), SelfTestError> {
    for backend in Backend::available() {
        let _ = backend; // a build without any parameter set
        #[cfg(feature = "ml-dsa-44")]
        test::<crate::params::MlDsa44>(backend, &ANSWERS[0])?;
        #[cfg(feature = "ml-dsa-65")]
        test::<crate::params::MlDsa65>(backend, &ANSWERS[1])?;
        #[cfg(feature = "ml-dsa-87")]
        test::<crate::params::MlDsa87>(backend, &ANSWERS[2])?;
    }
    Ok(())
}

/// SHAKE256 of public key and expanded key, and of a deterministic signature.
struct Answer {
    keys: [u8; 32],
    signature: [u8; 32],
}

fn test<P: ParameterSet>(backend: Backend, answer: &Answer) -> Result<(), SelfTestError> {
    let xi = core::array::from_fn(|n| n as u8);
    let mut pk = P::PublicKeyBytes::zeroed();
    let mut sk = Secret::<P::SecretKeyBytes>::zeroed();
    keygen_internal::<P>(backend, &xi, &mut pk, sk.expose_mut());
    let mut digest = [0; 32];
    Shake256::digest(
        backend.permutation(),
        &[pk.as_ref(), sk.expose().as_ref()],
        &mut digest,
    );
    if digest != answer.keys {
        return Err(SelfTestError::KeyGeneration);
    }

    const CONTEXT: Context<'_> = match Context::new(b"self-test") {
        Ok(context) => context,
        Err(_) => panic!("evaluated by the compiler"),
    };
    let mut mu = MuBuilder::from_tr(&tr(backend.permutation(), pk.as_ref()), CONTEXT);
    mu.update(P::NAME.as_bytes());
    let mu = mu.finish();
    let mut signature = P::SignatureBytes::zeroed();
    let sk = sk.expose().as_ref();
    // On the heap where there is one, for threads with a small stack.
    #[cfg(feature = "alloc")]
    let mut a_hat = {
        let mut entries = alloc::vec::Vec::new();
        entries.resize_with(P::K * P::L, NttPoly::zeroed);
        entries
    };
    #[cfg(not(feature = "alloc"))]
    let mut a_hat = <P::Matrix<NttPoly>>::zeroed();
    let (out, entries) = (signature.as_mut(), a_hat.as_mut());
    sign_expanded_in::<P>(
        backend,
        sk,
        (&mu, &[0; 32]),
        Some(SelfVerification {
            key: JobKey::Encoded(PublicKeyParts::of::<P>(&pk), None),
            seal: None,
        }),
        out,
        &mut |_| {},
        entries,
    )
    .map_err(|_| SelfTestError::Signing)?;
    Shake256::digest(backend.permutation(), &[signature.as_ref()], &mut digest);
    if digest != answer.signature {
        signature.wipe();
        return Err(SelfTestError::Signing);
    }

    let verify = |signature: &P::SignatureBytes| {
        VerifyingKey::<P>::from_bytes(pk.as_ref())
            .is_ok_and(|key| key.with_backend(backend).verify_mu(&mu, signature).is_ok())
    };
    let valid = verify(&signature);
    signature.as_mut()[0] ^= 1;
    if valid && !verify(&signature) {
        Ok(())
    } else {
        Err(SelfTestError::Verification)
    }
}

// Key of the seed 00 01 .. 1f; the name of the set signed under the context
// "self-test". The tests recompute them with another implementation.
const ANSWERS: [Answer; 3] = [
    Answer {
        keys: [
            0xb9, 0xa0, 0xc5, 0x9e, 0x52, 0x80, 0xaa, 0xd1, 0x47, 0xc6, 0x70, 0x4e, 0x04, 0x11,
            0xa8, 0xd8, 0xf3, 0xe6, 0xaa, 0x8f, 0x2a, 0xa9, 0xf8, 0x8d, 0xea, 0xb6, 0x21, 0xc1,
            0xde, 0x75, 0x9b, 0x74,
        ],
        signature: [
            0x44, 0xb8, 0x73, 0xcc, 0xe4, 0x92, 0xf8, 0xea, 0xec, 0x20, 0x9a, 0x3a, 0x0f, 0x27,
            0x88, 0x64, 0x4f, 0xdb, 0x60, 0x94, 0xc9, 0x58, 0xbb, 0x06, 0xa9, 0xdf, 0xd2, 0xe5,
            0xa6, 0xba, 0xba, 0x13,
        ],
    },
    Answer {
        keys: [
            0x5d, 0x89, 0x69, 0x1b, 0x40, 0x06, 0x19, 0x71, 0x79, 0x87, 0x88, 0x2b, 0x56, 0x1a,
            0x89, 0xf3, 0x65, 0xbd, 0x49, 0xc9, 0x93, 0x0e, 0xb3, 0x9e, 0x29, 0xf8, 0x04, 0x9a,
            0x83, 0x3e, 0xc3, 0x26,
        ],
        signature: [
            0x3b, 0xb0, 0x55, 0x2f, 0xcb, 0xc6, 0xea, 0x44, 0x00, 0x69, 0x1c, 0xc2, 0xdd, 0x41,
            0x28, 0xb2, 0x26, 0x9e, 0x49, 0x49, 0x03, 0x28, 0x9a, 0x2a, 0x2d, 0xfb, 0x12, 0xf6,
            0x9d, 0x6e, 0xb1, 0x4e,
        ],
    },
    Answer {
        keys: [
            0x37, 0x63, 0xc8, 0x18, 0x52, 0x23, 0x3d, 0x9d, 0x07, 0xff, 0x80, 0x76, 0xc9, 0x95,
            0x85, 0x81, 0x9d, 0xaa, 0x29, 0x7d, 0xcc, 0xb8, 0x54, 0xee, 0xeb, 0xde, 0x59, 0xac,
            0xde, 0x02, 0x96, 0xd0,
        ],
        signature: [
            0x03, 0x50, 0x18, 0x0d, 0x85, 0xa0, 0x3d, 0xd6, 0xca, 0xdf, 0x1a, 0x76, 0xdd, 0xc8,
            0x5a, 0x2e, 0x1a, 0xbc, 0x28, 0x60, 0xa5, 0x29, 0xdc, 0x52, 0xc3, 0x46, 0x85, 0x5f,
            0x17, 0x1c, 0x88, 0x05,
        ],
    },
];

#[cfg(test)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod tests {
    use super::*;
    use fips204::traits::{KeyGen, SerDes, Signer};
    use sha3::digest::{ExtendableOutput, Update, XofReader};

    fn shake256(parts: &[&[u8]]) -> [u8; 32] {
        let mut hash = sha3::Shake256::default();
        parts.iter().for_each(|part| hash.update(part));
        let mut out = [0; 32];
        hash.finalize_xof().read(&mut out);
        out
    }

    macro_rules! answer {
        ($set:ident, $name:literal, $index:literal) => {
            let xi = core::array::from_fn(|n| n as u8);
            let (pk, sk) = fips204::$set::KG::keygen_from_seed(&xi);
            let signature = sk
                .try_sign_with_seed(&[0; 32], $name, b"self-test")
                .unwrap();
            let keys = shake256(&[&pk.into_bytes(), &sk.into_bytes()]);
            assert_eq!(hex::encode(keys), hex::encode(ANSWERS[$index].keys));
            assert_eq!(
                hex::encode(shake256(&[&signature])),
                hex::encode(ANSWERS[$index].signature)
            );
        };
    }

    #[test]
    fn answers_come_from_another_implementation() {
        answer!(ml_dsa_44, b"ML-DSA-44", 0);
        answer!(ml_dsa_65, b"ML-DSA-65", 1);
        answer!(ml_dsa_87, b"ML-DSA-87", 2);
    }

    #[test]
    fn passes_here() {
        assert_eq!(self_test(), Ok(()));
    }

    #[test]
    fn wrong_answers_are_noticed() {
        use crate::params::MlDsa44;
        let Answer { keys, signature } = ANSWERS[0];
        let other = [1; 32];
        let run = |keys, signature| test::<MlDsa44>(Backend::PORTABLE, &Answer { keys, signature });
        assert_eq!(run(keys, signature), Ok(()));
        assert_eq!(run(other, signature), Err(SelfTestError::KeyGeneration));
        assert_eq!(run(keys, other), Err(SelfTestError::Signing));
    }
}
