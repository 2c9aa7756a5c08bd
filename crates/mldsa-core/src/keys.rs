//! The public types: keys and signatures whose possession means that they were
//! checked.

mod byte_traits;
mod message;
mod signature;
pub mod bytes;
mod verifying;
mod prepared_verifying;
pub(crate) mod signing;
mod prepared_signing;
mod batch_signing;

pub use batch_signing::{BatchSigner, BatchSignerScratch, SignJob};
#[cfg(feature = "alloc")]
pub use prepared_signing::PreparedSigningKey;
pub use prepared_signing::{PreparedSigningKeyRef, PreparedSigningKeyStorage};
#[cfg(feature = "alloc")]
pub use prepared_verifying::PreparedVerifyingKey;
pub use prepared_verifying::{PreparedVerifyingKeyRef, PreparedVerifyingKeyStorage};
pub use signature::Signature;
pub use signing::{SigningKey, SigningKeyStorage};
pub use verifying::VerifyingKey;
