//! Verification service: a fair queue, worker threads of its own, and a verdict cache.

mod cache;
mod config;
mod error;
mod handle;
mod queue;
mod quorum;
mod reply;
mod state;
mod stats;
mod worker;

pub use self::config::{OwnedVote, Priority, RateLimiter, ServiceBuilder, Source};
pub use self::error::ServiceError;
pub use self::handle::VerificationService;
pub use self::reply::{Drain, PendingQuorum, PendingQuorumError, PendingVerdict};
pub use self::stats::ServiceStats;
