//! The public keys a verifier knows: shared, immutable, expanded ahead of time.

mod arena;
mod error;
mod measure;
mod policy;
mod set;

pub use error::KeySetError;
pub use policy::{KeyPolicy, KeyStorage};
pub(crate) use set::MemberKey;
pub use set::{KeySet, KeySetBuilder};
