//! The public keys a verifier knows: shared, immutable, expanded ahead of time.

mod arena;
mod error;
mod policy;
mod set;

pub use error::KeySetError;
pub use policy::{KeyPolicy, KeyStorage};
pub(crate) use set::MemberKey;
pub use set::{KeySet, KeySetBuilder};

/// A signer's place in its [`KeySet`], counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignerId(u32);

impl SignerId {
    /// The signer at `index`. Whether the set has one is seen at verification.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The place in the set.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

impl From<u32> for SignerId {
    fn from(index: u32) -> Self {
        Self(index)
    }
}
