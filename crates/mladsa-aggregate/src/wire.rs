//! What travels and is hashed: framing, names, labels, messages.

pub(crate) mod framing;
pub(crate) mod label;
pub(crate) mod bits;
pub(crate) mod envelope;
