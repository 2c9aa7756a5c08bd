//! The independent implementation `fips204` for a set chosen at run time: it signs messages that the
//! tool verifies and verifies signatures of the tool. It has no code of this workspace.

use fips204::pre_hash;
use fips204::traits::{KeyGen, SerDes, Signer, Verifier};
use sha3::digest::{ExtendableOutput, XofReader};

/// A message to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The message itself.
    Pure(Vec<u8>),
    /// HashML-DSA: ACVP name of the hash, digest.
    PreHashed(&'static str, Vec<u8>),
}

/// A parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// ML-DSA-44
    MlDsa44,
    /// ML-DSA-65
    MlDsa65,
    /// ML-DSA-87
    MlDsa87,
}

pub(crate) const SETS: [Set; 3] = [Set::MlDsa44, Set::MlDsa65, Set::MlDsa87];

macro_rules! with_module {
    ($set:expr, $module:ident => $body:expr) => {
        match $set {
            Set::MlDsa44 => {
                use fips204::ml_dsa_44 as $module;
                $body
            }
            Set::MlDsa65 => {
                use fips204::ml_dsa_65 as $module;
                $body
            }
            Set::MlDsa87 => {
                use fips204::ml_dsa_87 as $module;
                $body
            }
        }
    };
}

impl Set {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MlDsa44 => "ML-DSA-44",
            Self::MlDsa65 => "ML-DSA-65",
            Self::MlDsa87 => "ML-DSA-87",
        }
    }

    /// Public key and expanded private key of a seed.
    pub(crate) fn keygen(self, seed: &[u8; 32]) -> (Vec<u8>, Vec<u8>) {
        with_module!(self, module => {
            let (pk, sk) = module::KG::keygen_from_seed(seed);
            (pk.into_bytes().to_vec(), sk.into_bytes().to_vec())
        })
    }

    pub(crate) fn sign(self, seed: &[u8; 32], rnd: &[u8; 32], form: &Form, ctx: &[u8]) -> Vec<u8> {
        with_module!(self, module => {
            let (_, sk) = module::KG::keygen_from_seed(seed);
            match form {
                Form::Pure(msg) => sk.try_sign_with_seed(rnd, msg, ctx),
                Form::PreHashed(name, digest) => {
                    sk.try_hash_sign_with_seed(rnd, digest, ctx, hash(name).1)
                }
            }
            .expect("the peer signs")
            .to_vec()
        })
    }

    /// False also for wrong lengths.
    pub(crate) fn verify(self, pk: &[u8], sig: &[u8], form: &Form, ctx: &[u8]) -> bool {
        with_module!(self, module => {
            let (Ok(pk), Ok(sig)) = (pk.try_into(), sig.try_into()) else { return false };
            let Ok(pk) = module::PublicKey::try_from_bytes(pk) else { return false };
            match form {
                Form::Pure(msg) => pk.verify(msg, &sig, ctx),
                Form::PreHashed(name, digest) => pk.hash_verify(digest, &sig, ctx, hash(name).1),
            }
        })
    }

    /// Bytes of c_tilde.
    pub(crate) fn c_tilde_len(self) -> usize {
        match self {
            Self::MlDsa44 => 32,
            Self::MlDsa65 => 48,
            Self::MlDsa87 => 64,
        }
    }

    /// omega and k: the hint section is omega indices and k counters.
    pub(crate) fn hint_shape(self) -> (usize, usize) {
        match self {
            Self::MlDsa44 => (80, 4),
            Self::MlDsa65 => (55, 6),
            Self::MlDsa87 => (75, 8),
        }
    }

    /// Bits of a packed coefficient of z.
    pub(crate) fn z_bits(self) -> usize {
        if self == Self::MlDsa44 { 18 } else { 20 }
    }

    /// The hashes strong enough for the set.
    pub(crate) fn hashes(self) -> Vec<&'static str> {
        let least = self.c_tilde_len();
        HASHES
            .into_iter()
            .map(|hash| hash.0)
            .filter(|hash| digest(hash, b"").len() >= least)
            .collect()
    }
}

/// The message fields of a JSON line; with `as_mu` those of `mu` under the public key.
pub(crate) fn message_fields(
    pk: &[u8],
    form: &Form,
    ctx: &[u8],
    as_mu: bool,
) -> Vec<(&'static str, String)> {
    let mut fields = match form {
        Form::Pure(msg) if as_mu => return vec![("mu", hex::encode(mu(pk, msg, ctx)))],
        Form::Pure(msg) => vec![("msg", hex::encode(msg))],
        Form::PreHashed(hash, digest) => vec![
            ("prehash", (*hash).to_owned()),
            ("digest", hex::encode(digest)),
        ],
    };
    if !ctx.is_empty() {
        fields.push(("ctx", hex::encode(ctx)));
    }
    fields
}

/// A JSON object of strings.
pub(crate) fn object(fields: &[(&'static str, String)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("\"{name}\":\"{value}\""))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// A hash of HashML-DSA: ACVP name, object identifier, digest of a message.
pub(crate) type Hash = (&'static str, &'static [u8], fn(&[u8]) -> Vec<u8>);

/// The hashes of HashML-DSA.
pub(crate) const HASHES: [Hash; 12] = [
    ("SHA2-224", &pre_hash::SHA2_224, fixed::<sha2::Sha224>),
    ("SHA2-256", &pre_hash::SHA2_256, fixed::<sha2::Sha256>),
    ("SHA2-384", &pre_hash::SHA2_384, fixed::<sha2::Sha384>),
    ("SHA2-512", &pre_hash::SHA2_512, fixed::<sha2::Sha512>),
    (
        "SHA2-512/224",
        &pre_hash::SHA2_512_224,
        fixed::<sha2::Sha512_224>,
    ),
    (
        "SHA2-512/256",
        &pre_hash::SHA2_512_256,
        fixed::<sha2::Sha512_256>,
    ),
    ("SHA3-224", &pre_hash::SHA3_224, fixed::<sha3::Sha3_224>),
    ("SHA3-256", &pre_hash::SHA3_256, fixed::<sha3::Sha3_256>),
    ("SHA3-384", &pre_hash::SHA3_384, fixed::<sha3::Sha3_384>),
    ("SHA3-512", &pre_hash::SHA3_512, fixed::<sha3::Sha3_512>),
    ("SHAKE-128", &pre_hash::SHAKE_128, |msg| {
        xof(sha3::Shake128::default(), &[msg], 32)
    }),
    ("SHAKE-256", &pre_hash::SHAKE_256, |msg| {
        shake256(&[msg], 64)
    }),
];

fn hash(name: &str) -> Hash {
    let hash = HASHES.into_iter().find(|hash| hash.0 == name);
    hash.unwrap_or_else(|| panic!("no hash {name}"))
}

fn fixed<D: sha2::Digest>(msg: &[u8]) -> Vec<u8> {
    D::digest(msg).to_vec()
}

pub(crate) fn digest(name: &str, msg: &[u8]) -> Vec<u8> {
    hash(name).2(msg)
}

/// mu of the pure form, from the public key alone (FIPS 204 algorithm 7).
pub(crate) fn mu(pk: &[u8], msg: &[u8], ctx: &[u8]) -> Vec<u8> {
    let tr = shake256(&[pk], 64);
    let len = u8::try_from(ctx.len()).expect("a context");
    shake256(&[&tr, &[0, len], ctx, msg], 64)
}

/// The deterministic source of everything random: SHAKE256 of a label.
pub(crate) fn bytes(label: &str, len: usize) -> Vec<u8> {
    shake256(&[label.as_bytes()], len)
}

pub(crate) fn seed(label: &str) -> [u8; 32] {
    bytes(label, 32).try_into().expect("32 bytes")
}

fn shake256(parts: &[&[u8]], len: usize) -> Vec<u8> {
    xof(sha3::Shake256::default(), parts, len)
}

fn xof(mut hash: impl ExtendableOutput, parts: &[&[u8]], len: usize) -> Vec<u8> {
    parts.iter().for_each(|part| hash.update(part));
    let mut out = vec![0; len];
    hash.finalize_xof().read(&mut out);
    out
}
