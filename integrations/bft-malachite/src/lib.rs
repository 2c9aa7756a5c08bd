//! Malachite's consensus core (Tendermint) with ML-DSA votes.
//!
//! The core asks its host through effects: sign this, send that, is this signature valid. It asks
//! about one vote at a time and waits, so what arrives is verified together before the core sees
//! it, and its questions are answered from memory. Certificates are verified in full.
//!
//! All validators run in one thread, each with a core and a door of its own ([`run`]); what is
//! lost, forged or replayed between them is part of the [`Plan`].

mod attack;
mod certificate;
mod chain;
mod admission;
mod message;
mod network;
mod scheme;
mod validator;
mod verifier;
mod mode;

pub use admission::Rejections;
pub use attack::Attack;
pub use chain::{Address, Chain, Height, Value};
pub use mode::Mode;
pub use network::{Plan, Run, run};
pub use scheme::{Scheme, Signature};
pub use validator::Counts;
