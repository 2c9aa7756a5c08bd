//! Request of one JSON line: parameter set, message and context. The commands and the fuzz targets
//! (`tests/interop`) compile this file.

use mldsa_core::{Mu, ParameterSet, PreHash};
use zeroize::Zeroizing;

use crate::lines::fields::{Fields, LineError};

/// A parameter set, chosen at run time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    MlDsa44,
    MlDsa65,
    MlDsa87,
}

/// Evaluates `$body` with the type `$P` of the set.
macro_rules! with_set {
    ($set:expr, $P:ident => $body:expr) => {
        match $set {
            $crate::lines::request::Set::MlDsa44 => {
                type $P = mldsa_core::MlDsa44;
                $body
            }
            $crate::lines::request::Set::MlDsa65 => {
                type $P = mldsa_core::MlDsa65;
                $body
            }
            $crate::lines::request::Set::MlDsa87 => {
                type $P = mldsa_core::MlDsa87;
                $body
            }
        }
    };
}
pub(crate) use with_set;

impl Set {
    pub(crate) const ALL: [Self; 3] = [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    pub(crate) fn from_fields(fields: &Fields<'_>) -> Result<Self, LineError> {
        let name = fields.required("set")?;
        let mut sets = Self::ALL.into_iter();
        sets.find(|set| set.name() == name).ok_or_else(|| {
            let [a, b, c] = Self::ALL.map(Self::name);
            LineError::new(format!("unknown set, none of {a}, {b} and {c}"))
        })
    }

    pub(crate) fn name(self) -> &'static str {
        with_set!(self, P => P::NAME)
    }
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
pub(crate) fn check_strength<P: ParameterSet>(hash: PreHash) -> Result<(), String> {
    if hash.is_strong_enough::<P>() {
        return Ok(());
    }
    let (hash, set) = (hash.name(), P::NAME);
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
        with_set!(set, P => check_strength::<P>(hash)).map_err(LineError::new)?;
    }
    Ok(Message::PreHashed { hash, digest })
}
