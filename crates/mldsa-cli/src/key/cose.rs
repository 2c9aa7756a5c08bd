//! COSE keys of ML-DSA: key type AKP (RFC 9964) in CBOR, with the seed as the private key.

use minicbor::data::Type;
use minicbor::decode::Error;
use minicbor::{Decoder, Encoder};
use mldsa_core::{AnyVerifyingKey, PrivateKeyForm, Set};
use zeroize::Zeroizing;

use crate::key::format::SEED_LEN;
use crate::key::parts::{KeyContent, PrivateParts};

const KTY: i64 = 1;
const ALG: i64 = 3;
const PUBLIC: i64 = -1;
const PRIVATE: i64 = -2;

/// The value of `kty`.
const AKP: i64 = 7;

/// Returns the value of `alg`.
fn algorithm(set: Set) -> i64 {
    match set {
        Set::MlDsa44 => -48,
        Set::MlDsa65 => -49,
        Set::MlDsa87 => -50,
    }
}

/// The parameters that make a key; others are ignored.
#[derive(Default)]
struct Parameters<'b> {
    kty: Option<i64>,
    alg: Option<i64>,
    public: Option<&'b [u8]>,
    private: Option<&'b [u8]>,
}

impl<'b> Parameters<'b> {
    /// Decodes one map without bytes after it. A repeated label is an error.
    fn decode(bytes: &'b [u8]) -> Result<Self, Error> {
        let mut decoder = Decoder::new(bytes);
        let mut found = Self::default();
        let mut left = decoder.map()?;
        loop {
            match &mut left {
                Some(0) => break,
                Some(entries) => *entries -= 1,
                None if decoder.datatype()? == Type::Break => {
                    decoder.skip()?;
                    break;
                }
                None => {}
            }
            let label = decoder.probe().i64().ok();
            decoder.skip()?;
            let repeated = match label {
                Some(KTY) => found.kty.replace(decoder.i64()?).is_some(),
                Some(ALG) => found.alg.replace(decoder.i64()?).is_some(),
                Some(PUBLIC) => found.public.replace(decoder.bytes()?).is_some(),
                Some(PRIVATE) => found.private.replace(decoder.bytes()?).is_some(),
                _ => {
                    decoder.skip()?;
                    false
                }
            };
            if repeated {
                return Err(Error::message("a label is given twice"));
            }
        }
        if decoder.position() == bytes.len() {
            Ok(found)
        } else {
            Err(Error::message("bytes after the key"))
        }
    }
}

/// Decodes a COSE_Key. `None` if the bytes are not one of the type AKP.
pub(crate) fn decode(bytes: &[u8]) -> Option<Result<KeyContent, &'static str>> {
    let parameters = Parameters::decode(bytes).ok()?;
    (parameters.kty == Some(AKP)).then(|| content(&parameters))
}

fn content(parameters: &Parameters<'_>) -> Result<KeyContent, &'static str> {
    let mut sets = Set::ALL.into_iter();
    let set = sets.find(|&set| parameters.alg == Some(algorithm(set)));
    let set = set.ok_or("a COSE key whose alg is not an ML-DSA parameter set")?;
    let public = parameters
        .public
        .ok_or("a COSE key without its public key")?;
    let key = AnyVerifyingKey::from_bytes_of(set, public)
        .map_err(|_| "a COSE key whose public key has the wrong length")?;
    match parameters.private {
        None => Ok(KeyContent::Public(key)),
        Some(seed) if seed.len() == SEED_LEN => {
            let parts = PrivateParts::new(set, PrivateKeyForm::Seed, &[seed]);
            Ok(KeyContent::Private(parts.beside(public)))
        }
        Some(_) => Err("a COSE key whose seed has the wrong length"),
    }
}

/// Encodes a public key, and its seed if it is given, in the deterministic encoding of CBOR.
pub(crate) fn encode(key: &AnyVerifyingKey, seed: Option<&[u8; SEED_LEN]>) -> Zeroizing<Vec<u8>> {
    // Allocated at once: a vector that grows leaves unwiped copies.
    let mut bytes = Zeroizing::new(Vec::with_capacity(key.as_ref().len() + SEED_LEN + 32));
    let mut encoder = Encoder::new(&mut *bytes);
    // A vector takes everything.
    let _ = encoder
        .map(if seed.is_some() { 4 } else { 3 })
        .and_then(|encoder| {
            encoder
                .i64(KTY)?
                .i64(AKP)?
                .i64(ALG)?
                .i64(algorithm(key.set()))
        })
        .and_then(|encoder| encoder.i64(PUBLIC)?.bytes(key.as_ref()))
        .and_then(|encoder| match seed {
            Some(seed) => encoder.i64(PRIVATE)?.bytes(seed),
            None => Ok(encoder),
        });
    bytes
}
