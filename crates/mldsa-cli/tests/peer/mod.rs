//! The independent implementation `fips204` for a set chosen at run time: it signs messages that the
//! tool verifies and verifies signatures of the tool. Neither it nor `mldsa-kat` has code of the
//! crates under test.

use fips204::traits::{KeyGen, SerDes, Signer, Verifier};
use mldsa_core::Set;
pub(crate) use mldsa_kat::hash::HASHES;
use mldsa_kat::hash::{Hash, shake256};
use mldsa_kat::scheme::Message;
use mldsa_kat::{model, set};

/// A message to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The message itself.
    Pure(Vec<u8>),
    /// HashML-DSA: ACVP name of the hash, digest.
    PreHashed(&'static str, Vec<u8>),
}

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

/// What the independent implementation does in a set.
pub(crate) trait Peer {
    fn parameters(self) -> &'static set::Set;
    /// Public key and expanded private key of a seed.
    fn keygen(self, seed: &[u8; 32]) -> (Vec<u8>, Vec<u8>);
    fn sign(self, seed: &[u8; 32], rnd: &[u8; 32], form: &Form, ctx: &[u8]) -> Vec<u8>;
    /// False also for wrong lengths.
    fn verify(self, pk: &[u8], sig: &[u8], form: &Form, ctx: &[u8]) -> bool;
    /// The hashes strong enough for the set.
    fn hashes(self) -> Vec<&'static str>;
}

impl Peer for Set {
    fn parameters(self) -> &'static set::Set {
        set::SETS[self as usize]
    }

    fn keygen(self, seed: &[u8; 32]) -> (Vec<u8>, Vec<u8>) {
        with_module!(self, module => {
            let (pk, sk) = module::KG::keygen_from_seed(seed);
            (pk.into_bytes().to_vec(), sk.into_bytes().to_vec())
        })
    }

    fn sign(self, seed: &[u8; 32], rnd: &[u8; 32], form: &Form, ctx: &[u8]) -> Vec<u8> {
        with_module!(self, module => {
            let (_, sk) = module::KG::keygen_from_seed(seed);
            match form {
                Form::Pure(msg) => sk.try_sign_with_seed(rnd, msg, ctx),
                Form::PreHashed(name, digest) => {
                    sk.try_hash_sign_with_seed(rnd, digest, ctx, &Hash::named(name).oid)
                }
            }
            .expect("the peer signs")
            .to_vec()
        })
    }

    fn verify(self, pk: &[u8], sig: &[u8], form: &Form, ctx: &[u8]) -> bool {
        with_module!(self, module => {
            let (Ok(pk), Ok(sig)) = (pk.try_into(), sig.try_into()) else { return false };
            let Ok(pk) = module::PublicKey::try_from_bytes(pk) else { return false };
            match form {
                Form::Pure(msg) => pk.verify(msg, &sig, ctx),
                Form::PreHashed(name, digest) => {
                    pk.hash_verify(digest, &sig, ctx, &Hash::named(name).oid)
                }
            }
        })
    }

    fn hashes(self) -> Vec<&'static str> {
        let least = self.parameters().c_tilde_len();
        let strong = HASHES.iter().filter(|hash| hash.len >= least);
        strong.map(|hash| hash.name).collect()
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

pub(crate) fn digest(name: &str, msg: &[u8]) -> Vec<u8> {
    Hash::named(name).digest(msg)
}

/// mu of the pure form, from the public key alone.
pub(crate) fn mu(pk: &[u8], msg: &[u8], ctx: &[u8]) -> Vec<u8> {
    let mu = model::mu(pk, Message::Pure { ctx, msg });
    mu.expect("a context").to_vec()
}

/// The deterministic source of everything random: SHAKE256 of a label.
pub(crate) fn bytes(label: &str, len: usize) -> Vec<u8> {
    shake256(&[label.as_bytes()], len)
}

pub(crate) fn seed(label: &str) -> [u8; 32] {
    bytes(label, 32).try_into().expect("32 bytes")
}
