//! Typed errors. None carries a secret.

use core::fmt;

use mldsa_core::VerifyError;

/// Why signing failed. The output buffer is wiped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignError {
    /// The output buffer does not have exactly `SIG_LEN` bytes.
    BufferLength,
    /// No attempt was accepted within 814: a fault, not bad luck.
    AttemptsExhausted,
    /// The second pass over w hashed to another commitment than the first: a
    /// fault, or someone else writes to the signature buffer.
    CommitmentChanged,
    /// The finished signature did not verify, or the public key does not hash to
    /// the key's `tr`: a fault, a damaged key, or someone else writes to the
    /// signature buffer.
    SelfVerification,
    /// The caller's progress function asked to stop.
    Stopped,
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BufferLength => "output buffer has the wrong length",
            Self::AttemptsExhausted => "no signature within the attempt limit",
            Self::CommitmentChanged => "commitment changed between two passes",
            Self::SelfVerification => "finished signature failed its own verification",
            Self::Stopped => "stopped by the caller",
        })
    }
}

impl core::error::Error for SignError {}

/// Why an operation with a caller's sink failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SinkError<E> {
    /// The sink refused a write. Signing again with the same hedge bytes gives
    /// the same signature; fresh ones are neither needed nor advisable.
    Sink(E),
    /// Signing itself failed.
    Sign(SignError),
}

impl<E: fmt::Display> fmt::Display for SinkError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sink(error) => write!(f, "sink failed: {error}"),
            Self::Sign(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for SinkError<E> {}

impl<E> From<SignError> for SinkError<E> {
    fn from(error: SignError) -> Self {
        Self::Sign(error)
    }
}

/// Why verification from a caller's source failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceError<E> {
    /// The source failed.
    Source(E),
    /// Two reads of the same bytes differed: the source, or the way to it, is
    /// faulty or hostile.
    Changed,
    /// The key does not have exactly `PK_LEN` bytes.
    KeyLength,
    /// The signature is refused.
    Invalid(VerifyError),
}

impl<E: fmt::Display> fmt::Display for SourceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => write!(f, "source failed: {error}"),
            Self::Changed => f.write_str("source served different bytes on a second read"),
            Self::KeyLength => f.write_str("key has the wrong length"),
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for SourceError<E> {}

impl<E> From<VerifyError> for SourceError<E> {
    fn from(error: VerifyError) -> Self {
        Self::Invalid(error)
    }
}
