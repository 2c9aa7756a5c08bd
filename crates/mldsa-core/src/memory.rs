//! Memory: arrays by parameter set, secrets that wipe themselves, branch-free
//! selection.

pub(crate) mod array;
mod barrier;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod ct;
#[cfg_attr(
    not(feature = "unstable-internals"),
    allow(unreachable_pub, reason = "see lib.rs")
)]
pub(crate) mod secret;
