//! Signing rounds: signers, commitments, responses and the aggregate.

pub(crate) mod definition;
pub(crate) mod commitment;
pub(crate) mod aggregate;
pub(crate) mod combine;
pub(crate) mod signer;
pub(crate) mod certificate;
pub(crate) mod session;
