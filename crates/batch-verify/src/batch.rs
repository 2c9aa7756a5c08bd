//! Batch verification: items are resolved once, planned by key, and verified in lanes.

mod builder;
mod scheduler;
mod lanes;
mod options;
mod plan;
mod resolve;
mod verifier;

pub use builder::VerifierBuilder;
pub(crate) use builder::{ItemVerifier, Verifier};
pub(crate) use lanes::Lanes;
pub use options::Mode;
pub(crate) use options::Options;
pub(crate) use resolve::Resolved;
pub(crate) use scheduler::{RunOptions, Scheduler};
pub use verifier::{BatchVerifier, CommitteeVerifier};

/// Items whose hashes share permutations: the width of the widest lanes.
pub(crate) const LANES: usize = 8;
