//! Verification service: a fair queue, worker threads of its own, and a verdict cache.

mod cache;
mod config;
mod error;
mod handle;
mod queue;
mod queued_quorum;
mod quorum;
mod reply;
mod shared;
mod state;
mod stats;
mod sync;
mod worker;

#[cfg(test)]
#[path = "../tests/schedules/mod.rs"]
mod schedules;

pub use self::config::{RateLimiter, ServiceBuilder, Source};
pub use self::error::ServiceError;
pub use self::handle::VerificationService;
pub use self::reply::Pending;
pub use self::stats::{Origin, ServiceStats};
