//! Epochs: who is registered, which keys may be used, and the agreed roots over
//! them.

pub(crate) mod merkle;
pub(crate) mod registry;
pub(crate) mod plan;
pub(crate) mod tree;
pub(crate) mod announcement;
pub(crate) mod pinned;
#[cfg(feature = "std")]
pub(crate) mod root_store;
