//! The public types: keys and signatures whose possession means that they were
//! checked.

mod byte_traits;
mod message;
mod signature;
mod decoded;
mod verifying;
mod prepared_verifying;
pub(crate) mod sign_into;
pub(crate) mod signing;
mod prepared_signing;
mod batch_signing;
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod any;
#[cfg(any(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod arrays;
pub mod no_alloc;

#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
pub use any::*;
pub use batch_signing::{BatchSigner, SignJob};
pub use decoded::{AsSignature, DecodedSignature};
#[cfg(feature = "alloc")]
pub use prepared_signing::PreparedSigningKey;
#[cfg(feature = "alloc")]
pub use prepared_verifying::PreparedVerifyingKey;
pub use signature::Signature;
pub use signing::SigningKey;
pub use verifying::VerifyingKey;
