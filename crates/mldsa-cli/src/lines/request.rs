//! Request of one JSON line: parameter set, message and context. The commands and the fuzz targets
//! (`tests/interop`) compile this file.

use mldsa_core::{Mu, PreHash, Set, with_set};
use zeroize::Zeroizing;

use crate::lines::fields::{Fields, LineError};

/// Parses the parameter set of a line.
pub(crate) fn set_from_fields(fields: &Fields<'_>) -> Result<Set, LineError> {
    fields.required("set")?.parse().map_err(|_| {
        let [a, b, c] = Set::ALL;
        LineError::new(format!("unknown set, none of {a}, {b} and {c}"))
    })
}

pub(crate) enum Message {
    Bytes(Zeroizing<Vec<u8>>),
    Mu(Mu),
    PreHashed {
        hash: PreHash,
        digest: Zeroizing<Vec<u8>>,
    },
}

/// A message and its context, which may still be too long.
pub(crate) struct LineRequest {
    pub(crate) message: Message,
    pub(crate) context: Zeroizing<Vec<u8>>,
}

impl LineRequest {
    /// Parses the request of a line, `None` if no field belongs to one. HashML-DSA with a hash too weak
    /// for `set` is an error without `allow_weak`.
    pub(crate) fn from_fields(
        fields: &Fields<'_>,
        set: Set,
        allow_weak: bool,
    ) -> Result<Option<Self>, LineError> {
        let context = fields.hex("ctx")?;
        let forms = ["msg", "mu", "prehash"].map(|name| fields.text(name).is_some());
        let message = match forms {
            _ if fields.text("digest").is_some() && !forms[2] => {
                return Err(LineError::new("\"digest\" without \"prehash\""));
            }
            [false, false, false] if context.is_some() => {
                return Err(LineError::new("\"ctx\" without a message"));
            }
            [false, false, false] => return Ok(None),
            [true, false, false] => Message::Bytes(fields.required_hex("msg")?),
            [false, true, false] if context.is_some() => {
                let why = "\"ctx\" and \"mu\", which contains a context already";
                return Err(LineError::new(why));
            }
            [false, true, false] => Message::Mu(mu(fields)?),
            [false, false, true] => pre_hashed(fields, set, allow_weak)?,
            _ => {
                let why = "more than one of \"msg\", \"mu\" and \"prehash\"";
                return Err(LineError::new(why));
            }
        };
        Ok(Some(Self {
            message,
            context: context.unwrap_or_default(),
        }))
    }
}

fn mu(fields: &Fields<'_>) -> Result<Mu, LineError> {
    let mu = fields.hex_array::<64>("mu")?;
    mu.map(|mu| Mu::from_bytes(*mu))
        .ok_or_else(|| LineError::new("field \"mu\" is missing"))
}

pub(crate) fn hash_from_name(name: &str) -> Result<PreHash, String> {
    name.parse::<PreHash>().map_err(|_| {
        let names = PreHash::ALL.map(PreHash::name).join(", ");
        format!("unknown hash, none of {names}")
    })
}

/// Rejects a hash too weak for the parameter set.
pub(crate) fn check_strength(set: Set, hash: PreHash) -> Result<(), String> {
    if with_set!(set, P => hash.is_strong_enough::<P>()) {
        return Ok(());
    }
    let hash = hash.name();
    Err(format!(
        "{hash} is too weak for {set} (--allow-weak-prehash accepts it)"
    ))
}

fn pre_hashed(fields: &Fields<'_>, set: Set, allow_weak: bool) -> Result<Message, LineError> {
    let hash = hash_from_name(fields.required("prehash")?).map_err(LineError::new)?;
    let digest = fields.required_hex("digest")?;
    if digest.len() != hash.digest_len() {
        return Err(LineError::new(format!(
            "field \"digest\" has {} bytes, not the {} of {}",
            digest.len(),
            hash.digest_len(),
            hash.name()
        )));
    }
    if !allow_weak {
        check_strength(set, hash).map_err(LineError::new)?;
    }
    Ok(Message::PreHashed { hash, digest })
}
