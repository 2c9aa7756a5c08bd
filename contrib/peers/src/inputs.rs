//! Random, distinct keys, messages and signatures, made by `fips204`.

use mldsa_core::Set;
use sha3::{
    Shake256, Shake256Reader,
    digest::{ExtendableOutput, Update, XofReader},
};

use crate::competitors::{Competitor, Verify, fips204};

/// A reproducible stream of pseudorandom bytes.
pub struct Stream(Shake256Reader);

impl Stream {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut hash = Shake256::default();
        hash.update(b"benches");
        hash.update(&seed.to_le_bytes());
        Self(hash.finalize_xof())
    }

    /// Overwrites `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.read(bytes);
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}

impl core::fmt::Debug for Stream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Stream")
    }
}

/// A key pair in its encodings.
#[derive(Debug)]
pub struct Key {
    /// The 32-byte seed.
    pub seed: [u8; 32],
    /// The encoded public key.
    pub public: Vec<u8>,
    /// The encoded (expanded) private key.
    pub private: Vec<u8>,
}

/// A message and its deterministic signature under one of the keys, with an
/// empty context.
#[derive(Debug)]
pub struct Case {
    /// Index of the key.
    pub key: usize,
    /// The message.
    pub message: [u8; 32],
    /// The signature.
    pub signature: Vec<u8>,
}

/// The shared inputs of all contenders for one parameter set.
#[derive(Debug)]
pub struct Inputs {
    /// The parameter set.
    pub set: Set,
    /// The keys.
    pub keys: Vec<Key>,
    /// The signed messages; case `i` belongs to key `i % keys.len()`.
    pub cases: Vec<Case>,
}

/// Functions of `fips204`, which makes the inputs and verifies the first signature of each signer.
struct KeyFactory {
    keys: fn([u8; 32]) -> Key,
    sign: fn(&Key, &[u8]) -> Vec<u8>,
    verify: Verify,
}

const fn key_factory(set: Set) -> KeyFactory {
    macro_rules! of {
        ($set:ident) => {
            KeyFactory {
                keys: fips204::$set::encoded_keys,
                sign: |key, message| {
                    let key = fips204::$set::signing_key(key);
                    fips204::$set::sign(&key, message).to_vec()
                },
                verify: fips204::$set::verify,
            }
        };
    }
    match set {
        Set::MlDsa44 => of!(MlDsa44),
        Set::MlDsa65 => of!(MlDsa65),
        Set::MlDsa87 => of!(MlDsa87),
    }
}

impl Inputs {
    /// `cases` signed messages under `keys` keys. The signatures come from
    /// `fips204`, so every verifier is also checked against another signer.
    #[must_use]
    pub fn random(set: Set, keys: usize, cases: usize, stream: &mut Stream) -> Self {
        let factory = key_factory(set);
        let keys: Vec<_> = (0..keys).map(|_| (factory.keys)(stream.bytes())).collect();
        let cases = (0..cases)
            .map(|i| {
                let key = i % keys.len();
                let message = stream.bytes();
                let signature = (factory.sign)(&keys[key], &message);
                Case {
                    key,
                    message,
                    signature,
                }
            })
            .collect();
        Self { set, keys, cases }
    }

    /// The bytes that a program of `contrib/peers/peers` reads first.
    #[must_use]
    pub fn encoded(&self) -> Vec<u8> {
        let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        let mut bytes = Vec::new();
        bytes.extend(length(self.keys.len()));
        bytes.extend(length(self.cases.len()));
        for key in &self.keys {
            bytes.extend(key.seed);
            bytes.extend(&key.public);
            bytes.extend(&key.private);
        }
        for case in &self.cases {
            bytes.extend(length(case.key));
            bytes.extend(case.message);
            bytes.extend(&case.signature);
        }
        bytes
    }

    /// Case `i` modulo the number of cases, and its key.
    #[must_use]
    pub fn case(&self, i: usize) -> (&Key, &Case) {
        let case = &self.cases[i % self.cases.len()];
        (&self.keys[case.key], case)
    }

    /// Key `i` modulo the number of keys.
    #[must_use]
    pub fn key(&self, i: usize) -> &Key {
        &self.keys[i % self.keys.len()]
    }

    /// Panics unless `fips204` accepts the signature for case 0.
    pub(crate) fn assert_signs(&self, signer: &str, signature: &[u8]) {
        let (key, case) = self.case(0);
        let verify = key_factory(self.set).verify;
        assert!(
            verify(&key.public, &case.message, signature),
            "{signer} signing"
        );
    }
}
