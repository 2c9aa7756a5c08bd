//! Signing rounds: tasks, signers, commitments, responses, the aggregate and the session.

pub(crate) mod task;
pub(crate) mod message;
pub(crate) mod definition;
pub(crate) mod commitment;
pub(crate) mod aggregate;
pub(crate) mod combine;
pub(crate) mod signer;
pub(crate) mod certificate;
pub(crate) mod session;
