//! Errors of builders and successors.

use core::fmt;

/// Reason why a committee, a verifier or a service could not be made. Verifiers and services
/// have `ThreadPool` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// No member.
    Empty,
    /// The key at `index` has the wrong length for the parameter set.
    KeyLength {
        /// Position in the list.
        index: usize,
    },
    /// A public key has a duplicate.
    DuplicateKey {
        /// The earlier position.
        first: usize,
        /// The later position.
        second: usize,
    },
    /// The member at `index` has weight 0.
    ZeroWeight {
        /// Position in the list.
        index: usize,
    },
    /// 2^31 members or more.
    TooMany,
    /// The context has more than 255 bytes.
    ContextTooLong,
    /// The epoch of a successor is not later than the current one.
    Epoch {
        /// The current epoch.
        current: u64,
    },
    /// A pool of zero threads, or the threads could not be started.
    ThreadPool,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a committee needs a member"),
            Self::KeyLength { index } => write!(f, "public key {index} has the wrong length"),
            Self::DuplicateKey { first, second } => {
                write!(f, "positions {first} and {second} name one public key")
            }
            Self::ZeroWeight { index } => write!(f, "member {index} has no weight"),
            Self::TooMany => f.write_str("too many members"),
            Self::ContextTooLong => f.write_str("the context has more than 255 bytes"),
            Self::Epoch { current } => {
                write!(f, "the epoch of a successor must be later than {current}")
            }
            Self::ThreadPool => f.write_str("zero threads, or they could not be started"),
        }
    }
}

impl core::error::Error for BuildError {}
