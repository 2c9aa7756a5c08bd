//! Malachite's consensus core (Tendermint) with ML-DSA votes.
//!
//! The core calls its host through effects: sign, send, verify. It requests one verdict at a time
//! and waits, so each validator verifies arrived messages in one batch before the core sees them,
//! and answers the questions of the core from the verdict cache of a
//! [`VerificationService`](batch_verify::VerificationService). Certificates are verified in full,
//! under the committee of their height.
//!
//! All validators run in one thread ([`run`]). Wrong signatures, a disconnected validator and
//! changes of the validator set are part of the [`Plan`].

mod admission;
mod certificate;
mod chain;
mod epochs;
mod message;
mod network;
mod scheme;
mod validator;

pub use network::{Plan, Run, run};
pub use validator::Counts;
