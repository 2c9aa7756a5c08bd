//! The public keys a verifier knows, shared and immutable.

use core::fmt;
use std::sync::Arc;

use mldsa_core::{ParameterSet, VerifyingKey};

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

/// An immutable set of public keys; cheap to clone and to share.
#[derive(Clone)]
pub struct KeySet<P: ParameterSet> {
    inner: Arc<Inner<P>>,
}

struct Inner<P: ParameterSet> {
    keys: Vec<VerifyingKey<P>>,
    /// Indices into `keys`, ordered by encoded key: look-up on full bytes
    /// without a second copy of them.
    by_bytes: Vec<u32>,
}

impl<P: ParameterSet> KeySet<P> {
    /// Builds the set; the n-th key becomes signer n.
    ///
    /// # Errors
    /// [`KeySetError::Length`] when a key does not have `P::PK_LEN` bytes,
    /// [`KeySetError::Duplicate`] when one public key would get two signers,
    /// [`KeySetError::TooMany`] above `u32::MAX` keys.
    pub fn from_public_keys<'a>(
        keys: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, KeySetError> {
        let keys = keys
            .into_iter()
            .enumerate()
            .map(|(index, key)| {
                VerifyingKey::from_bytes(key).map_err(|_| KeySetError::Length { index })
            })
            .collect::<Result<Vec<VerifyingKey<P>>, _>>()?;
        let count = u32::try_from(keys.len()).map_err(|_| KeySetError::TooMany)?;

        let bytes = |index: u32| keys[index as usize].as_bytes().as_ref();
        let mut by_bytes: Vec<u32> = (0..count).collect();
        by_bytes.sort_unstable_by(|&a, &b| bytes(a).cmp(bytes(b)).then(a.cmp(&b)));
        let twin = by_bytes
            .windows(2)
            .filter(|pair| bytes(pair[0]) == bytes(pair[1]))
            .map(|pair| KeySetError::Duplicate {
                first: pair[0] as usize,
                second: pair[1] as usize,
            })
            .next();
        match twin {
            Some(error) => Err(error),
            None => Ok(Self {
                inner: Arc::new(Inner { keys, by_bytes }),
            }),
        }
    }

    /// How many signers the set has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.keys.len()
    }

    /// Whether the set has no signer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.keys.is_empty()
    }

    /// The key of a signer.
    #[must_use]
    pub fn key(&self, signer: SignerId) -> Option<&VerifyingKey<P>> {
        self.inner.keys.get(signer.0 as usize)
    }

    /// The signer who owns an encoded public key.
    #[must_use]
    pub fn signer_of(&self, public_key: &[u8]) -> Option<SignerId> {
        let Inner { keys, by_bytes } = &*self.inner;
        by_bytes
            .binary_search_by(|&index| keys[index as usize].as_bytes().as_ref().cmp(public_key))
            .ok()
            .map(|place| SignerId(by_bytes[place]))
    }
}

impl<P: ParameterSet> fmt::Debug for KeySet<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet<{}>({} keys)", P::NAME, self.len())
    }
}

/// Why a [`KeySet`] was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySetError {
    /// The key at `index` has the wrong length for the parameter set.
    Length {
        /// Its place in the input.
        index: usize,
    },
    /// One public key stands at two places.
    Duplicate {
        /// The earlier place.
        first: usize,
        /// The later place.
        second: usize,
    },
    /// More keys than a [`SignerId`] can count.
    TooMany,
}

impl fmt::Display for KeySetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { index } => write!(f, "public key {index} has the wrong length"),
            Self::Duplicate { first, second } => {
                write!(f, "public keys {first} and {second} are the same")
            }
            Self::TooMany => f.write_str("too many public keys"),
        }
    }
}

impl core::error::Error for KeySetError {}
