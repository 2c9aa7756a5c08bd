//! Encodings: framing, task identifiers, signer sets.

pub(crate) mod framing;
pub(crate) mod task;
pub(crate) mod signer_set;
