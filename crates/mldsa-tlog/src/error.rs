//! Why bytes are refused.

use core::fmt;

use mldsa_core::{KeyError, SignError};

/// Why a note, a key, a checkpoint or a proof is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes or the signatures are more than the bound.
    TooLarge,
    /// The named part is not written as its specification says.
    Malformed(&'static str),
    /// A key is not of ML-DSA-44.
    Algorithm,
    /// The ID of a key is not that of its name and bytes.
    KeyId,
    /// The public key is refused.
    Key(KeyError),
    /// A checkpoint has extension lines, which ML-DSA-44 does not sign.
    ExtensionLines,
    /// A signature of a known key is invalid.
    Signature,
    /// The note has no signature of this key, or of no log of the policy.
    NotSigned,
    /// Too few witnesses have signed.
    Quorum,
    /// A range of leaves is no subtree, or a time is not allowed for it.
    Subtree,
    /// A proof of inclusion or consistency does not lead to the root.
    Proof,
    /// Signing failed.
    Sign(SignError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::TooLarge => "more bytes or signatures than the bound",
            Self::Malformed(part) => return write!(f, "malformed {part}"),
            Self::Algorithm => "not a key of ML-DSA-44",
            Self::KeyId => "the ID of the key does not fit its name and bytes",
            Self::Key(error) => return error.fmt(f),
            Self::ExtensionLines => "a checkpoint with extension lines",
            Self::Signature => "an invalid signature of a known key",
            Self::NotSigned => "no signature of a known key",
            Self::Quorum => "too few witnesses have signed",
            Self::Subtree => "not a subtree, or a time that it cannot have",
            Self::Proof => "the proof does not lead to the root",
            Self::Sign(error) => return error.fmt(f),
        };
        f.write_str(text)
    }
}

impl core::error::Error for Error {}
