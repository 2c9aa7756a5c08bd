//! Error of verification from external memory.

use core::fmt;

use mldsa_core::VerifyError;

/// Reason why verification from a [`Reader`](crate::Reader) failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReaderError<E> {
    /// A read failed.
    Read(E),
    /// Two reads of the same bytes returned different ones, or the key does not have
    /// the expected hash: the memory or the connection is faulty or hostile.
    Changed,
    /// The key does not have exactly `PK_LEN` bytes.
    KeyLength,
    /// The signature is invalid.
    Invalid(VerifyError),
}

impl<E: fmt::Display> fmt::Display for ReaderError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "read failed: {error}"),
            Self::Changed => f.write_str("a second read returned different bytes"),
            Self::KeyLength => f.write_str("key has the wrong length"),
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for ReaderError<E> {}

impl<E> From<VerifyError> for ReaderError<E> {
    fn from(error: VerifyError) -> Self {
        Self::Invalid(error)
    }
}
