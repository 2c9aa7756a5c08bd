//! Rounds with open commitments (the "base mode" of the scheme).
//!
//! **Security: every observer of a round can recover the one-time key of every signer.** So a
//! key serves one message only: the key label contains the message, and a verifier must
//! reject a second message for the same task. For published known answers, interoperability
//! tests and measurements.

pub(crate) mod scope;
pub(crate) mod one_party;

pub use scope::{OpenCommitments, SignedKey};
