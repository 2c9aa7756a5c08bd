//! Epochs: who is registered, which keys may be used, and the agreed roots over
//! them.

pub(crate) mod merkle;
pub(crate) mod registry;
pub(crate) mod policy;
pub(crate) mod plan;
pub(crate) mod tree;
pub(crate) mod announcement;
pub(crate) mod pins;
pub(crate) mod pinned;
pub(crate) mod message;
pub(crate) mod agreed;
pub(crate) mod proof;
