//! Signature schemes, each through a maintained crate.

use core::error::Error;
use core::time::Duration;

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair,
    Ed25519KeyPair, KeyPair as _, RSA_PSS_2048_8192_SHA256, RSA_PSS_SHA256, RsaKeyPair,
    UnparsedPublicKey,
};
use fn_dsa::{
    DOMAIN_NONE, FN_DSA_LOGN_512, HASH_ID_RAW, KeyPairGenerator as _, KeyPairGenerator512,
    SigningKey as _, SigningKey512, VerifyingKey as _, VerifyingKey512, sign_key_size,
    signature_size, vrfy_key_size,
};
use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand_core_06::OsRng;
use slh_dsa::signature::{Keypair as _, RandomizedSigner as _, Verifier as _};
use slh_dsa::{Sha2_128f, Sha2_128s};

use super::table::Table;
use super::{Run, Section};
use crate::mldsa::verify_encoded;
use crate::{Samples, cells, measure_alone, us};

/// Number of signatures that are verified in turn.
const KEPT: usize = 64;

fn message(i: usize) -> [u8; 32] {
    let mut message = [0x6d; 32];
    message[..8].copy_from_slice(&(i as u64).to_le_bytes());
    message
}

/// Functions of a scheme with private keys of type `K`. Signing is randomised where the scheme allows
/// it; verification starts from the encoded public key.
struct Scheme<K> {
    name: &'static str,
    through: &'static str,
    /// Category of NIST; schemes that a quantum computer breaks have none.
    category: Option<u64>,
    generate: fn(&mut StdRng) -> K,
    /// Encoded public key, and length of the encoded private key.
    encode: fn(&K) -> (Vec<u8>, usize),
    sign: fn(&mut K, &[u8], &mut StdRng) -> Vec<u8>,
    verify: fn(&[u8], &[u8], &[u8]) -> bool,
}

impl<K> Scheme<K> {
    fn measure(self, run: &Run, table: &mut Table) {
        let mut random = StdRng::seed_from_u64(run.seed);
        let time = run.time(Duration::from_secs(2));
        let mut key = (self.generate)(&mut random);
        let (public, private_len) = (self.encode)(&key);
        let mut signatures = Vec::new();
        let sign = measure_alone(time, |i| {
            let signature = (self.sign)(&mut key, &message(i), &mut random);
            if signatures.len() < KEPT {
                signatures.push((i, signature));
            }
        });
        let keygen = measure_alone(time, |_| key = (self.generate)(&mut random));
        let verify = measure_alone(time / 2, |i| {
            let (i, signature) = &signatures[i % signatures.len()];
            assert!(
                (self.verify)(&public, &message(*i), signature),
                "a valid signature"
            );
        });
        let (i, signature) = &signatures[0];
        assert!(
            !(self.verify)(&public, &message(i + 1), signature),
            "another message"
        );
        let ms = |samples: &Samples| us(samples.mean()) / 1e3;
        table.push(cells![
            self.name,
            self.through,
            self.category,
            public.len(),
            private_len,
            signature.len(),
            public.len() + signature.len(),
            ms(&keygen),
            ms(&sign),
            ms(&verify),
        ]);
    }
}

/// Measures sizes and times of signature schemes.
///
/// # Errors
/// None.
pub fn section(run: &Run) -> Result<Section, Box<dyn Error>> {
    let columns = [
        "scheme",
        "through",
        "category",
        "public_key_bytes",
        "private_key_bytes",
        "signature_bytes",
        "key_and_signature_bytes",
        "keygen_ms",
        "sign_ms",
        "verify_ms",
    ];
    let mut table = Table::new("schemes", &columns);
    Scheme::<RsaKeyPair> {
        name: "RSA-2048, PSS",
        through: "aws-lc-rs",
        category: None,
        generate: |_| RsaKeyPair::generate(KeySize::Rsa2048).expect("a key"),
        encode: |key| {
            let private: Pkcs8V1Der<'_> = key.as_der().expect("an encoding");
            (key.public_key().as_ref().to_vec(), private.as_ref().len())
        },
        sign: |key, message, _| {
            let mut signature = vec![0; key.public_modulus_len()];
            key.sign(
                &RSA_PSS_SHA256,
                &SystemRandom::new(),
                message,
                &mut signature,
            )
            .expect("signing");
            signature
        },
        verify: |public, message, signature| {
            let public = UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, public);
            public.verify(message, signature).is_ok()
        },
    }
    .measure(run, &mut table);
    Scheme::<EcdsaKeyPair> {
        name: "ECDSA P-256",
        through: "aws-lc-rs",
        category: None,
        generate: |_| EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key"),
        encode: |key| (key.public_key().as_ref().to_vec(), 32),
        sign: |key, message, _| {
            let signature = key.sign(&SystemRandom::new(), message);
            signature.expect("signing").as_ref().to_vec()
        },
        verify: |public, message, signature| {
            let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
            public.verify(message, signature).is_ok()
        },
    }
    .measure(run, &mut table);
    Scheme::<Ed25519KeyPair> {
        name: "Ed25519",
        through: "aws-lc-rs",
        category: None,
        generate: |_| Ed25519KeyPair::generate().expect("a key"),
        encode: |key| (key.public_key().as_ref().to_vec(), 32),
        sign: |key, message, _| key.sign(message).as_ref().to_vec(),
        verify: |public, message, signature| {
            UnparsedPublicKey::new(&ED25519, public)
                .verify(message, signature)
                .is_ok()
        },
    }
    .measure(run, &mut table);
    ml_dsa::<MlDsa44>(2).measure(run, &mut table);
    ml_dsa::<MlDsa65>(3).measure(run, &mut table);
    ml_dsa::<MlDsa87>(5).measure(run, &mut table);
    slh_dsa::<Sha2_128s>("SLH-DSA-SHA2-128s").measure(run, &mut table);
    slh_dsa::<Sha2_128f>("SLH-DSA-SHA2-128f").measure(run, &mut table);
    Scheme::<Falcon512> {
        name: "Falcon-512",
        through: "fn-dsa",
        category: Some(1),
        generate: |_| {
            let mut private = [0; sign_key_size(FN_DSA_LOGN_512)];
            let mut public = [0; vrfy_key_size(FN_DSA_LOGN_512)];
            let mut generator = KeyPairGenerator512::default();
            generator.keygen(FN_DSA_LOGN_512, &mut OsRng, &mut private, &mut public);
            (SigningKey512::decode(&private).expect("a key"), public)
        },
        encode: |(_, public)| (public.to_vec(), sign_key_size(FN_DSA_LOGN_512)),
        sign: |(private, _), message, _| {
            let mut signature = vec![0; signature_size(FN_DSA_LOGN_512)];
            private
                .sign(
                    &mut OsRng,
                    &DOMAIN_NONE,
                    &HASH_ID_RAW,
                    message,
                    &mut signature,
                )
                .expect("signing");
            signature
        },
        verify: |public, message, signature| {
            let public = VerifyingKey512::decode(public);
            public.is_some_and(|key| key.verify(signature, &DOMAIN_NONE, &HASH_ID_RAW, message))
        },
    }
    .measure(run, &mut table);
    Ok(Section {
        title: "Signature schemes",
        parts: vec![
            "One thread, messages of 32 bytes, means of CPU time. Verification starts from the encoded \
             public key. Signing is randomised where the scheme allows it. The category is that of NIST; \
             the first three schemes have none, because a quantum computer breaks them. `mldsa-core` runs \
             on the detected backend. The private key of ML-DSA is the expanded one of FIPS 204, for which a \
             seed of 32 bytes can be kept; that of RSA is PKCS#8. Falcon becomes FN-DSA, whose standard is \
             not final."
                .into(),
            table.into(),
        ],
    })
}

type Falcon512 = (SigningKey512, [u8; vrfy_key_size(FN_DSA_LOGN_512)]);

fn ml_dsa<P: ParameterSet>(category: u64) -> Scheme<SigningKey<P>> {
    Scheme {
        name: P::NAME,
        through: "mldsa-core",
        category: Some(category),
        generate: |random| SigningKey::generate_with_rng(random).expect("a key"),
        encode: |key| (key.verifying_key().as_ref().to_vec(), P::SK_LEN),
        sign: |key, message, _| {
            let signature = key.sign_hedged(message, Context::EMPTY);
            signature.expect("signing").as_ref().to_vec()
        },
        verify: verify_encoded::<P>,
    }
}

fn slh_dsa<P: slh_dsa::ParameterSet>(name: &'static str) -> Scheme<slh_dsa::SigningKey<P>> {
    Scheme {
        name,
        through: "slh-dsa",
        category: Some(1),
        generate: |random| slh_dsa::SigningKey::new(random),
        encode: |key| (key.verifying_key().to_vec(), key.to_vec().len()),
        sign: |key, message, random| key.sign_with_rng(random, message).to_vec(),
        verify: |public, message, signature| {
            let public = slh_dsa::VerifyingKey::<P>::try_from(public);
            let signature = slh_dsa::Signature::<P>::try_from(signature);
            public.is_ok_and(|public| {
                signature.is_ok_and(|signature| public.verify(message, &signature).is_ok())
            })
        },
    }
}
