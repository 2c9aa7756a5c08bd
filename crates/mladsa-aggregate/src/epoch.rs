//! Epochs: registered members, plan of one-time keys, agreement on the roots over them.

pub(crate) mod merkle;
pub(crate) mod quorum;
pub(crate) mod registry;
pub(crate) mod plan;
pub(crate) mod tree;
pub(crate) mod statement;
pub(crate) mod write_once;
pub(crate) mod pinned;
pub(crate) mod message;
pub(crate) mod agreed;
pub(crate) mod equivocation;
pub(crate) mod authenticate;
#[cfg(any(test, feature = "insecure-open-commitments"))]
pub(crate) mod proof;
