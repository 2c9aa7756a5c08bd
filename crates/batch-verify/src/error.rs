//! Why there is no verifier, or no answer.

use core::fmt;

use crate::{Reason, Report};

/// Why a verifier could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The context has more than 255 bytes.
    ContextTooLong,
    /// A fixed batch size of zero.
    BatchSize,
    /// A pool of zero threads was asked for, or the threads could not start.
    ThreadPool,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContextTooLong => "the context has more than 255 bytes",
            Self::BatchSize => "a batch size of zero",
            Self::ThreadPool => "the thread pool could not be started",
        })
    }
}

impl core::error::Error for BuildError {}

/// Why a call has no verdicts to give, or an all-or-nothing call said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchError {
    /// There was nothing to verify.
    Empty,
    /// The item with the lowest index that failed.
    Invalid {
        /// Its index.
        index: usize,
        /// Why it failed.
        reason: Reason,
    },
    /// The output does not have one place per item.
    OutputLength,
    /// The caller's code panicked while it showed an element.
    Panicked {
        /// The lowest index where it did.
        index: usize,
    },
    /// The batch was given up before it was verified: its pool is gone, or its
    /// future was polled after it had answered.
    Abandoned,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the batch is empty"),
            Self::Invalid { index, reason } => write!(f, "item {index} is invalid: {reason}"),
            Self::OutputLength => f.write_str("the output does not have one place per item"),
            Self::Panicked { index } => write!(f, "showing element {index} panicked"),
            Self::Abandoned => f.write_str("the batch was given up"),
        }
    }
}

impl core::error::Error for BatchError {}

/// The caller's projection panicked for some element: an error, never a
/// verdict.
#[derive(Clone, Debug)]
pub struct Panicked {
    /// The lowest index where it did.
    pub index: usize,
    /// The verdicts on all others; elements without an item are `Skipped`.
    pub report: Box<Report>,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BatchError::Panicked { index: self.index }.fmt(f)
    }
}

impl core::error::Error for Panicked {}
