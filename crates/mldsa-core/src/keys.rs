//! The public types: keys and signatures whose possession means that they were
//! checked.

mod byte_traits;
mod message;
mod signature;
mod verifying;
mod prepared_verifying;
mod sign_into;
pub(crate) mod signing;
mod prepared_signing;
mod batch_signing;
pub mod no_alloc;

pub use batch_signing::{BatchSigner, SignJob};
#[cfg(feature = "alloc")]
pub use prepared_signing::PreparedSigningKey;
#[cfg(feature = "alloc")]
pub use prepared_verifying::PreparedVerifyingKey;
pub use signature::Signature;
pub use signing::SigningKey;
pub use verifying::VerifyingKey;
