//! AlephBFT with ML-DSA signatures.
//!
//! The engine signs and verifies one unit at a time and waits for each answer, from several tasks
//! at once; there is no moment at which a batch could form. What it gets from this library is the
//! prepared key set ([`Keys`]). The one place where signatures come together is the
//! multisignature of an alert, which is verified in one call.

mod keychain;
mod session;

pub use keychain::{Committee, Keys};
pub use session::{Plan, Run, run};
