//! Reasons why a submitted vote is not known to be valid.

use core::fmt;

use crate::RejectReason;

/// Reason why a submitted vote is not known to be valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServiceError {
    /// The vote was verified and is invalid.
    Rejected(RejectReason),
    /// The committee of the vote's member id is not, or no longer, one of the service's. No
    /// fault of the sender.
    OtherEpoch,
    /// The queue is full, and no peer has more in it than this one.
    QueueFull,
    /// The vote was the last one of the longest queue when another peer's vote arrived.
    Evicted,
    /// The message is longer than the limit, or a peer's vote or quorum takes more than an eighth
    /// of the queue, or a peer's quorum has more than twice as many votes as there are members.
    TooLarge,
    /// The rate limiter rejected it.
    PeerBudget,
    /// The rate limiter panicked.
    HookPanicked,
    /// The service has been shut down.
    ShuttingDown,
    /// The worker threads are gone, or the answer was taken before.
    Abandoned,
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rejected(reason) => return write!(f, "the vote is rejected: {reason}"),
            Self::OtherEpoch => "the vote is of another epoch",
            Self::QueueFull => "the queue is full",
            Self::Evicted => "the vote was evicted from the queue",
            Self::TooLarge => "the message or the quorum is too large",
            Self::PeerBudget => "the budget of the peer is spent",
            Self::HookPanicked => "the rate limiter panicked",
            Self::ShuttingDown => "the service is shutting down",
            Self::Abandoned => "the vote was abandoned",
        })
    }
}

impl core::error::Error for ServiceError {}

impl From<RejectReason> for ServiceError {
    fn from(reason: RejectReason) -> Self {
        Self::Rejected(reason)
    }
}
