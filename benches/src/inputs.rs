//! Random, distinct keys, messages and signatures, made by a peer.

use fips204::traits::{KeyGen, SerDes, Signer, Verifier};
use sha3::{
    Shake256, Shake256Reader,
    digest::{ExtendableOutput, Update, XofReader},
};

/// A parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Set {
    /// ML-DSA-44.
    #[value(name = "44")]
    MlDsa44,
    /// ML-DSA-65.
    #[value(name = "65")]
    MlDsa65,
    /// ML-DSA-87.
    #[value(name = "87")]
    MlDsa87,
}

impl Set {
    /// All three.
    pub const ALL: [Self; 3] = [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    /// The name in FIPS 204.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MlDsa44 => "ML-DSA-44",
            Self::MlDsa65 => "ML-DSA-65",
            Self::MlDsa87 => "ML-DSA-87",
        }
    }
}

/// A reproducible source of random bytes.
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

    /// A number below `bound`, which is small.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from_le_bytes(self.bytes()) % bound
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

/// `fips204` as the maker of the inputs and the check on every signer.
struct Maker {
    /// The key pair of a seed.
    keys: fn([u8; 32]) -> Key,
    /// The deterministic signature by an encoded private key.
    sign: fn(&[u8], &[u8]) -> Vec<u8>,
    /// Whether an encoded public key accepts a message and its signature.
    accepts: fn(&[u8], &[u8], &[u8]) -> bool,
}

macro_rules! maker {
    ($scheme:ident) => {
        Maker {
            keys: |seed| {
                let (public, private) = fips204::$scheme::KG::keygen_from_seed(&seed);
                let (public, private) = (public.into_bytes(), private.into_bytes());
                Key {
                    seed,
                    public: public.to_vec(),
                    private: private.to_vec(),
                }
            },
            sign: |private, message| {
                let bytes = private.try_into().expect("an encoding");
                let key = fips204::$scheme::PrivateKey::try_from_bytes(bytes).expect("a key");
                key.try_sign_with_seed(&[0; 32], message, &[])
                    .expect("signing")
                    .to_vec()
            },
            accepts: |public, message, signature| {
                let bytes = public.try_into().expect("an encoding");
                let key = fips204::$scheme::PublicKey::try_from_bytes(bytes).expect("a key");
                signature
                    .try_into()
                    .is_ok_and(|signature| key.verify(message, signature, &[]))
            },
        }
    };
}

impl Set {
    const fn maker(self) -> Maker {
        match self {
            Self::MlDsa44 => maker!(ml_dsa_44),
            Self::MlDsa65 => maker!(ml_dsa_65),
            Self::MlDsa87 => maker!(ml_dsa_87),
        }
    }
}

impl Inputs {
    /// `cases` signed messages under `keys` keys. The signatures come from
    /// `fips204`, so every verifier is also checked against another signer.
    #[must_use]
    pub fn random(set: Set, keys: usize, cases: usize, stream: &mut Stream) -> Self {
        let maker = set.maker();
        let keys: Vec<_> = (0..keys).map(|_| (maker.keys)(stream.bytes())).collect();
        let cases = (0..cases)
            .map(|i| {
                let key = i % keys.len();
                let message = stream.bytes();
                let signature = (maker.sign)(&keys[key].private, &message);
                Case {
                    key,
                    message,
                    signature,
                }
            })
            .collect();
        Self { set, keys, cases }
    }

    /// Case `i`, counted round and round, and its key.
    #[must_use]
    pub fn case(&self, i: usize) -> (&Key, &Case) {
        let case = &self.cases[i % self.cases.len()];
        (&self.keys[case.key], case)
    }

    /// Key `i`, counted round and round.
    #[must_use]
    pub fn key(&self, i: usize) -> &Key {
        &self.keys[i % self.keys.len()]
    }

    /// Panics unless the maker of these inputs accepts the signature for case
    /// 0: the check on every signer before its clock starts.
    pub fn assert_signs(&self, signer: &str, signature: &[u8]) {
        let (key, case) = self.case(0);
        let accepts = self.set.maker().accepts;
        assert!(
            accepts(&key.public, &case.message, signature),
            "{signer} signs wrongly"
        );
    }
}
