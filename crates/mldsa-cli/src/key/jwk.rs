//! JSON Web Keys of ML-DSA: key type AKP (RFC 9964), with the seed as the private key.

use base64ct::{Base64UrlUnpadded, Encoding};
use mldsa_core::{AnyVerifyingKey, PrivateKeyForm, Set};
use serde::Deserialize;
use serde::de::IgnoredAny;
use zeroize::Zeroizing;

use crate::key::format::SEED_LEN;
use crate::key::parts::{KeyContent, PrivateParts};

/// The members that make a key; others are ignored. Escapes are errors: they would be decoded into
/// memory that is not wiped.
#[derive(Deserialize)]
struct Members<'a> {
    kty: Option<&'a str>,
    alg: Option<&'a str>,
    #[serde(rename = "pub")]
    public: Option<&'a str>,
    #[serde(rename = "priv")]
    private: Option<&'a str>,
    keys: Option<IgnoredAny>,
}

/// Decodes a JSON Web Key. `None` if the text is not a JSON object.
pub(crate) fn decode(text: &[u8]) -> Option<Result<KeyContent, &'static str>> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    serde_json::from_slice::<IgnoredAny>(text).ok()?;
    let members = serde_json::from_slice(text);
    Some(match members {
        Ok(members) => content(&members),
        Err(_) => Err("JSON, whose members are not those of a JSON Web Key"),
    })
}

fn content(members: &Members<'_>) -> Result<KeyContent, &'static str> {
    if members.keys.is_some() {
        return Err("a set of JSON Web Keys: leave the one to be used");
    }
    if members.kty != Some("AKP") {
        return Err("JSON, but not a JSON Web Key of type AKP");
    }
    let set = members.alg.and_then(|name| name.parse::<Set>().ok());
    let set = set.ok_or("a JSON Web Key whose \"alg\" is not an ML-DSA parameter set")?;
    let public = members.public.ok_or("a JSON Web Key without \"pub\"")?;
    let public = bytes(public, set.public_key_len())?;
    let Some(private) = members.private else {
        let key = AnyVerifyingKey::from_bytes_of(set, &public);
        return key.map(KeyContent::Public).map_err(|_| BAD_PART);
    };
    let seed = bytes(private, SEED_LEN)?;
    let parts = PrivateParts::new(set, PrivateKeyForm::Seed, &[&seed]);
    Ok(KeyContent::Private(parts.beside(&public)))
}

const BAD_PART: &str = "a JSON Web Key with a part that is not base64url of the right length";

/// Decodes exactly `len` bytes of base64url without padding.
fn bytes(text: &str, len: usize) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    let mut bytes = Zeroizing::new(vec![0; len]);
    match Base64UrlUnpadded::decode(text, &mut bytes) {
        Ok(decoded) if decoded.len() == len => Ok(bytes),
        _ => Err(BAD_PART),
    }
}

/// Encodes a public key, and its seed if it is given, as one line.
pub(crate) fn encode(key: &AnyVerifyingKey, seed: Option<&[u8; SEED_LEN]>) -> Zeroizing<Vec<u8>> {
    let public = Base64UrlUnpadded::encoded_len(key.as_ref());
    // Allocated at once: a vector that grows leaves unwiped copies.
    let mut text = Zeroizing::new(Vec::with_capacity(public + 128));
    text.extend_from_slice(b"{\"kty\":\"AKP\",\"alg\":\"");
    text.extend_from_slice(key.set().name().as_bytes());
    text.extend_from_slice(b"\",\"pub\":\"");
    append(&mut text, key.as_ref());
    if let Some(seed) = seed {
        text.extend_from_slice(b"\",\"priv\":\"");
        append(&mut text, seed);
    }
    text.extend_from_slice(b"\"}\n");
    text
}

/// Appends the base64url of `bytes`.
fn append(text: &mut Vec<u8>, bytes: &[u8]) {
    let start = text.len();
    text.resize(start + Base64UrlUnpadded::encoded_len(bytes), b'A');
    // The place has the length of the text.
    let _ = Base64UrlUnpadded::encode(bytes, &mut text[start..]);
}
