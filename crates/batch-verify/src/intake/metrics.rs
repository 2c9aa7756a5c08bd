//! What an operator is told.

use core::time::Duration;

use super::{IntakeError, Origin, Priority};
use crate::{MemoryStats, Outcome};

/// Is told what an [`Intake`](super::Intake) does, on the thread that does it: keep it
/// short, and wait for no answer of the intake. A panic is counted and changes nothing
/// else.
pub trait IntakeMetrics: Send + Sync {
    /// An item was answered: every item that was submitted or asked for, once.
    fn answered(&self, _item: &Answered) {}

    /// A batch was verified.
    fn verified(&self, _batch: &Verified) {}
}

/// An item and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answered {
    /// Where it came from.
    pub origin: Origin,
    /// The outcome with its reason, or why there is none; [`IntakeError::Cancelled`]
    /// if whoever asked did not wait for it.
    pub answer: Result<Outcome, IntakeError>,
    /// From submission until it was in a batch, or was given up.
    pub waited: Duration,
    /// Whether it was answered from the memory of verdicts.
    pub remembered: bool,
}

/// A batch that was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Its items, those called off in time left out.
    pub items: usize,
    /// How long verification took; divided by `items`, the time of one.
    pub elapsed: Duration,
    /// How many items wait, by priority.
    pub waiting: [usize; Priority::ALL.len()],
    /// The memory of verdicts.
    pub memory: MemoryStats,
    /// Bytes of expanded keys in the caches of the verifier.
    pub key_cache_bytes: usize,
    /// Look-ups in these caches that found an expanded key.
    pub key_cache_hits: u64,
    /// Look-ups that did not.
    pub key_cache_misses: u64,
}
