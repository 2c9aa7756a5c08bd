//! Signature schemes side by side, each through a crate that is looked after.

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
use mldsa_core::{Backend, Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand_core_06::OsRng;
use slh_dsa::signature::{Keypair as _, RandomizedSigner as _, Verifier as _};
use slh_dsa::{Sha2_128f, Sha2_128s, Shake128f, Shake128s};

use super::plot::{Axis, Plot};
use super::table::Table;
use super::{Effort, Section};
use crate::ours::accepts;
use crate::{cells, measure_alone, us};

/// A loaded private key of a scheme. Signing is randomised wherever the scheme allows
/// that; verification begins with the encoded public key.
trait Key: Sized {
    fn generate(random: &mut StdRng) -> Self;
    /// The encoded public key.
    fn public(&self) -> Vec<u8>;
    /// How long the encoded private key is.
    fn private_len(&self) -> usize;
    fn sign(&mut self, message: &[u8], random: &mut StdRng) -> Vec<u8>;
    fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool;
}

/// With PSS.
impl Key for RsaKeyPair {
    fn generate(_: &mut StdRng) -> Self {
        Self::generate(KeySize::Rsa2048).expect("a key")
    }

    fn public(&self) -> Vec<u8> {
        self.public_key().as_ref().to_vec()
    }

    fn private_len(&self) -> usize {
        let der: Pkcs8V1Der<'_> = self.as_der().expect("an encoding");
        der.as_ref().len()
    }

    fn sign(&mut self, message: &[u8], _: &mut StdRng) -> Vec<u8> {
        let mut signature = vec![0; self.public_modulus_len()];
        Self::sign(
            self,
            &RSA_PSS_SHA256,
            &SystemRandom::new(),
            message,
            &mut signature,
        )
        .expect("signing");
        signature
    }

    fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, public);
        key.verify(message, signature).is_ok()
    }
}

impl Key for EcdsaKeyPair {
    fn generate(_: &mut StdRng) -> Self {
        Self::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key")
    }

    fn public(&self) -> Vec<u8> {
        self.public_key().as_ref().to_vec()
    }

    fn private_len(&self) -> usize {
        32
    }

    fn sign(&mut self, message: &[u8], _: &mut StdRng) -> Vec<u8> {
        let signature = Self::sign(self, &SystemRandom::new(), message);
        signature.expect("signing").as_ref().to_vec()
    }

    fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
        key.verify(message, signature).is_ok()
    }
}

/// Deterministic, as the scheme is.
impl Key for Ed25519KeyPair {
    fn generate(_: &mut StdRng) -> Self {
        Self::generate().expect("a key")
    }

    fn public(&self) -> Vec<u8> {
        self.public_key().as_ref().to_vec()
    }

    fn private_len(&self) -> usize {
        32
    }

    fn sign(&mut self, message: &[u8], _: &mut StdRng) -> Vec<u8> {
        Self::sign(self, message).as_ref().to_vec()
    }

    fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, public);
        key.verify(message, signature).is_ok()
    }
}

impl<P: ParameterSet> Key for SigningKey<P> {
    fn generate(random: &mut StdRng) -> Self {
        Self::generate_with_rng(random).expect("a key")
    }

    fn public(&self) -> Vec<u8> {
        self.verifying_key().as_ref().to_vec()
    }

    fn private_len(&self) -> usize {
        P::SK_LEN
    }

    fn sign(&mut self, message: &[u8], _: &mut StdRng) -> Vec<u8> {
        let signature = self.sign_hedged(message, Context::EMPTY);
        signature.expect("signing").as_ref().to_vec()
    }

    fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        accepts::<P>(public, message, signature)
    }
}

impl<P: slh_dsa::ParameterSet> Key for slh_dsa::SigningKey<P> {
    fn generate(random: &mut StdRng) -> Self {
        Self::new(random)
    }

    fn public(&self) -> Vec<u8> {
        self.verifying_key().to_vec()
    }

    fn private_len(&self) -> usize {
        self.to_vec().len()
    }

    fn sign(&mut self, message: &[u8], random: &mut StdRng) -> Vec<u8> {
        self.sign_with_rng(random, message).to_vec()
    }

    fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let public = slh_dsa::VerifyingKey::<P>::try_from(public);
        let signature = slh_dsa::Signature::<P>::try_from(signature);
        public.is_ok_and(|public| {
            signature.is_ok_and(|signature| public.verify(message, &signature).is_ok())
        })
    }
}

struct Falcon512 {
    private: SigningKey512,
    public: [u8; vrfy_key_size(FN_DSA_LOGN_512)],
}

impl Key for Falcon512 {
    fn generate(_: &mut StdRng) -> Self {
        let mut private = [0; sign_key_size(FN_DSA_LOGN_512)];
        let mut public = [0; vrfy_key_size(FN_DSA_LOGN_512)];
        let mut generator = KeyPairGenerator512::default();
        generator.keygen(FN_DSA_LOGN_512, &mut OsRng, &mut private, &mut public);
        let private = SigningKey512::decode(&private).expect("a key");
        Self { private, public }
    }

    fn public(&self) -> Vec<u8> {
        self.public.to_vec()
    }

    fn private_len(&self) -> usize {
        sign_key_size(FN_DSA_LOGN_512)
    }

    fn sign(&mut self, message: &[u8], _: &mut StdRng) -> Vec<u8> {
        let mut signature = vec![0; signature_size(FN_DSA_LOGN_512)];
        self.private
            .sign(
                &mut OsRng,
                &DOMAIN_NONE,
                &HASH_ID_RAW,
                message,
                &mut signature,
            )
            .expect("signing");
        signature
    }

    fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let public = VerifyingKey512::decode(public);
        public.is_some_and(|public| public.verify(signature, &DOMAIN_NONE, &HASH_ID_RAW, message))
    }
}

/// A scheme and what is known of it without measuring.
struct Known {
    name: &'static str,
    through: String,
    /// NIST's category of security; none against quantum computers.
    category: Option<u64>,
    /// Keygen, sign, verify on an Apple M3 Max, milliseconds, as others have published.
    published: Option<[f64; 3]>,
}

/// Signatures that are verified in turn.
const KEPT: usize = 64;

fn message(i: usize) -> [u8; 32] {
    let mut message = [0x6d; 32];
    message[..8].copy_from_slice(&(i as u64).to_le_bytes());
    message
}

fn measure<K: Key>(table: &mut Table, effort: &Effort, known: Known) {
    let mut random = StdRng::seed_from_u64(effort.seed);
    let time = effort.time(Duration::from_secs(2));
    let mut key = K::generate(&mut random);
    let public = key.public();
    let mut signatures = Vec::new();
    let sign = measure_alone(time, |i| {
        let signature = key.sign(&message(i), &mut random);
        if signatures.len() < KEPT {
            signatures.push((i, signature));
        }
    });
    let private_len = key.private_len();
    let keygen = measure_alone(time, |_| key = K::generate(&mut random));
    let verify = measure_alone(time / 2, |i| {
        let (i, signature) = &signatures[i % signatures.len()];
        assert!(K::verify(&public, &message(*i), signature), "a valid one");
    });
    let (i, signature) = &signatures[0];
    let other = message(i + 1);
    assert!(!K::verify(&public, &other, signature), "another message");
    let ms = |ticks: f64| us(ticks) / 1e3;
    let Known {
        name,
        through,
        category,
        published,
    } = known;
    let published = |n: usize| published.map(|times| times[n]);
    table.push(cells![
        name,
        through,
        category,
        public.len(),
        private_len,
        signature.len(),
        public.len() + signature.len(),
        ms(keygen.mean()),
        ms(sign.mean()),
        ms(verify.mean()),
        published(0),
        published(1),
        published(2),
    ]);
}

/// Sizes and times of the schemes that compete.
///
/// # Errors
/// None.
pub fn section(effort: &Effort) -> Result<Section, Box<dyn Error>> {
    let mut table = Table::new(
        "schemes",
        &[
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
            "M3_Max_keygen_ms",
            "M3_Max_sign_ms",
            "M3_Max_verify_ms",
        ],
    );
    let table_ref = &mut table;
    let known = |name, through: &str, category, published| Known {
        name,
        through: through.to_owned(),
        category,
        published,
    };
    let aws = |name, published| known(name, "aws-lc-rs", None, published);
    measure::<RsaKeyPair>(table_ref, effort, aws("RSA-2048", None));
    let published = Some([0.015, 0.024, 0.048]);
    measure::<EcdsaKeyPair>(table_ref, effort, aws("ECDSA P-256", published));
    let published = Some([0.084, 0.084, 0.190]);
    measure::<Ed25519KeyPair>(table_ref, effort, aws("Ed25519", published));
    let ours = format!("mldsa-core, {}", Backend::detect().name());
    let ours = |name, category, published| known(name, &ours, Some(category), published);
    let published = Some([0.042, 0.165, 0.040]);
    measure::<SigningKey<MlDsa44>>(table_ref, effort, ours("ML-DSA-44", 2, published));
    measure::<SigningKey<MlDsa65>>(table_ref, effort, ours("ML-DSA-65", 3, None));
    measure::<SigningKey<MlDsa87>>(table_ref, effort, ours("ML-DSA-87", 5, None));
    let slh = |name, published| known(name, "slh-dsa", Some(1), published);
    let published = Some([32.8, 246.8, 0.254]);
    measure::<slh_dsa::SigningKey<Sha2_128s>>(
        table_ref,
        effort,
        slh("SLH-DSA-SHA2-128s", published),
    );
    measure::<slh_dsa::SigningKey<Sha2_128f>>(table_ref, effort, slh("SLH-DSA-SHA2-128f", None));
    measure::<slh_dsa::SigningKey<Shake128s>>(table_ref, effort, slh("SLH-DSA-SHAKE-128s", None));
    measure::<slh_dsa::SigningKey<Shake128f>>(table_ref, effort, slh("SLH-DSA-SHAKE-128f", None));
    let falcon = known("Falcon-512", "fn-dsa", Some(1), Some([4.146, 0.125, 0.020]));
    measure::<Falcon512>(table_ref, effort, falcon);
    let plot = Plot {
        name: "schemes",
        title: "What a verifier pays, once for each signature",
        x: "bytes of public key and signature",
        y: "verification, ms",
        across: Axis::Logarithmic,
        up: Axis::Logarithmic,
        panels: vec![(
            "",
            table.lines(&["scheme"], "key_and_signature_bytes", "verify_ms"),
        )],
    };
    Ok(Section {
        title: "Signature schemes",
        parts: vec![
            "One thread, messages of 32 bytes, means of the processor's time. Verification is from \
             the encoded public key. Signing is randomised wherever the scheme \
             allows that. The category is NIST's, against quantum computers; the first three have \
             none. The private key of ML-DSA is the expanded one of FIPS 204, and a seed of 32 bytes \
             replaces it; of RSA it is PKCS#8. Falcon is on its way to become FN-DSA, whose standard \
             may still change."
                .into(),
            "The columns `M3 Max` are another measurement, which others have published, on an Apple \
             M3 Max with their implementations. They can be compared with each other, not with the \
             columns before."
                .into(),
            table.into(),
            plot.into(),
        ],
    })
}
