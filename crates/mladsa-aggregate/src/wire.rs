//! What travels and is hashed: framing, labels, bits.

pub(crate) mod framing;
pub(crate) mod label;
pub(crate) mod bits;
