//! Errors of signing and of verification from external memory.

use core::fmt;

use mldsa_core::VerifyError;

/// Reason why signing failed. The signature buffer is wiped, or untouched if its length is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignError {
    /// The signature buffer does not have exactly `SIG_LEN` bytes.
    BufferLength,
    /// None of 821 attempts was accepted: almost certainly a fault.
    AttemptsExhausted,
    /// A check of self-verification failed: a fault, a damaged key, or a write to the signature
    /// buffer or the workspace while signing ran.
    SelfVerification,
    /// The progress function returned `Break`.
    Stopped,
    /// A saved state was altered, or is of another key, message, set, tier or format.
    State,
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BufferLength => "signature buffer has the wrong length",
            Self::AttemptsExhausted => "no signature within the attempt limit",
            Self::SelfVerification => "signature failed self-verification",
            Self::Stopped => "stopped by the progress function",
            Self::State => "saved state is not of this key, message and tier",
        })
    }
}

impl core::error::Error for SignError {}

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
