//! Why a set of keys was refused.

use core::fmt;

use crate::SignerId;

/// Why a [`KeySet`](crate::KeySet) was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySetError {
    /// The key at `index` has the wrong length for the parameter set.
    Length {
        /// Its place in the set.
        index: usize,
    },
    /// One public key stands at two places.
    Duplicate {
        /// The earlier place.
        first: usize,
        /// The later place.
        second: usize,
    },
    /// More keys than a set can count.
    TooMany,
    /// A signer was named who is not in the set.
    UnknownSigner {
        /// Who.
        signer: SignerId,
    },
    /// A pool of zero threads was asked for, or the threads could not start.
    ThreadPool,
}

impl fmt::Display for KeySetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { index } => write!(f, "public key {index} has the wrong length"),
            Self::Duplicate { first, second } => {
                write!(f, "public keys {first} and {second} are the same")
            }
            Self::TooMany => f.write_str("too many public keys"),
            Self::UnknownSigner { signer } => {
                write!(f, "signer {} is not in the set", signer.index())
            }
            Self::ThreadPool => f.write_str("the thread pool could not be started"),
        }
    }
}

impl core::error::Error for KeySetError {}
