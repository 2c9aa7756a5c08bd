//! Memory: arrays by parameter set, secrets that wipe themselves, branch-free
//! selection.

pub(crate) mod array;
mod barrier;
pub(crate) mod ct;
pub(crate) mod secret;
