//! AlephBFT with ML-DSA signatures.
//!
//! The engine verifies one unit per call, from several tasks, and waits for each result, so there
//! is no batch to form. It profits from the prepared keys ([`Keys`]). Only the multisignature of
//! an alert contains several signatures; it is verified in one call.

mod keychain;
mod session;

pub use keychain::{Keys, Validators};
pub use session::{Plan, Session, run};
