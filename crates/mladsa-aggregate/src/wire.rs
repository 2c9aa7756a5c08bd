//! Encodings: framing, signer sets.

pub(crate) mod framing;
pub(crate) mod signer_set;
