//! What a line asks for: the parameter set, the message in one of its forms,
//! the context. Shared by signing and verifying, and with the tests of other
//! implementations, which have no command line.

use mldsa_core::{Mu, ParameterSet, PreHash};
use zeroize::Zeroizing;

use crate::jsonl::{Fields, LineError};

/// A parameter set, chosen at run time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    MlDsa44,
    MlDsa65,
    MlDsa87,
}

/// Evaluates `$body` with the type `$P` standing for the set.
macro_rules! with_set {
    ($set:expr, $P:ident => $body:expr) => {
        match $set {
            $crate::request::Set::MlDsa44 => {
                type $P = mldsa_core::MlDsa44;
                $body
            }
            $crate::request::Set::MlDsa65 => {
                type $P = mldsa_core::MlDsa65;
                $body
            }
            $crate::request::Set::MlDsa87 => {
                type $P = mldsa_core::MlDsa87;
                $body
            }
        }
    };
}
pub(crate) use with_set;

impl Set {
    /// All three.
    pub(crate) const ALL: [Self; 3] = [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    /// The set that a line names.
    pub(crate) fn of(fields: &Fields<'_>) -> Result<Self, LineError> {
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

/// What is signed.
pub(crate) enum Message {
    Bytes(Zeroizing<Vec<u8>>),
    Mu(Mu),
    PreHashed {
        hash: PreHash,
        digest: Zeroizing<Vec<u8>>,
    },
}

/// What is signed, and under which context (of any length still).
pub(crate) struct Request {
    pub(crate) message: Message,
    pub(crate) context: Zeroizing<Vec<u8>>,
}

impl Request {
    /// The request of a line: `None` if it has no field of one. HashML-DSA with
    /// a hash too weak for `set` is an error without `allow_weak`.
    pub(crate) fn of(
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
                return Err(LineError::new(
                    "\"ctx\" beside \"mu\", which contains one already",
                ));
            }
            [false, true, false] => Message::Mu(mu(fields)?),
            [false, false, true] => pre_hashed(fields, set, allow_weak)?,
            _ => {
                return Err(LineError::new(
                    "more than one of \"msg\", \"mu\" and \"prehash\"",
                ));
            }
        };
        Ok(Some(Self {
            message,
            context: context.unwrap_or_default(),
        }))
    }
}

fn mu(fields: &Fields<'_>) -> Result<Mu, LineError> {
    match fields.hex_array::<64>("mu")? {
        Some(mu) => Ok(Mu::from_bytes(*mu)),
        None => Err(LineError::new("field \"mu\" is missing")),
    }
}

/// The hash of this name.
pub(crate) fn hash_named(name: &str) -> Result<PreHash, String> {
    PreHash::from_name(name).ok_or_else(|| {
        let names = PreHash::ALL.map(PreHash::name).join(", ");
        format!("unknown hash, none of {names}")
    })
}

fn pre_hashed(fields: &Fields<'_>, set: Set, allow_weak: bool) -> Result<Message, LineError> {
    let hash = hash_named(fields.required("prehash")?).map_err(LineError::new)?;
    let digest = fields.required_hex("digest")?;
    if digest.len() != hash.digest_len() {
        return Err(LineError::new(format!(
            "field \"digest\" has {} bytes, not the {} of {}",
            digest.len(),
            hash.digest_len(),
            hash.name()
        )));
    }
    with_set!(set, P => if !allow_weak && !hash.is_strong_enough::<P>() {
        return Err(LineError::new(format!(
            "{} is too weak for {} (--allow-weak-prehash accepts it)",
            hash.name(),
            P::NAME
        )));
    });
    Ok(Message::PreHashed { hash, digest })
}
