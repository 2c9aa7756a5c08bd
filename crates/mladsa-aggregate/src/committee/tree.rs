//! Leaves and openings of the tree over the one-time keys of a member.

use alloc::vec::Vec;

use crate::committee::epoch::Epoch;
use crate::committee::merkle::{LeafParts, Node, depth};
use crate::error::EncodingError;
use crate::keys::label::Label;
use crate::keys::one_time_key::OneTimePublicKey;
use crate::member_id::MemberName;

/// Opening of a one-time public key: the key with its Merkle path, 6,148 bytes and 32 for each
/// level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub(crate) public_key: OneTimePublicKey,
    pub(crate) index: u32,
    pub(crate) path: Vec<Node>,
}

impl Opening {
    /// The length of an opening in the largest tree.
    pub(crate) const MAX_LEN: usize =
        OneTimePublicKey::LEN + 4 + 32 * depth(Epoch::MAX_KEYS as usize);

    /// Returns the opened key.
    #[cfg(feature = "test-util")]
    pub fn public_key(&self) -> &OneTimePublicKey {
        &self.public_key
    }

    /// Encodes as `t || BE32(index) || path`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.public_key.as_bytes().to_vec();
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(self.path.as_flattened());
        out
    }

    /// Decodes an opening.
    ///
    /// # Errors
    /// [`EncodingError::Length`], also for more than 20 levels; [`EncodingError::Range`] for a
    /// coefficient of q or more.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        let (public_key, rest) = bytes
            .split_at_checked(OneTimePublicKey::LEN)
            .ok_or(EncodingError::Length)?;
        let (index, path) = rest.split_first_chunk().ok_or(EncodingError::Length)?;
        match path.as_chunks::<32>() {
            (path, []) if bytes.len() <= Self::MAX_LEN => Ok(Self {
                public_key: OneTimePublicKey::from_bytes(public_key)?,
                index: u32::from_be_bytes(*index),
                path: path.to_vec(),
            }),
            _ => Err(EncodingError::Length),
        }
    }
}

/// Returns the parts of the leaf `KtLeaf(id, C, t)`.
pub(crate) fn leaf_parts<'a>(
    id: &'a MemberName,
    label: &'a Label,
    public_key: &'a OneTimePublicKey,
) -> LeafParts<'a, 2> {
    ([id.as_bytes(), label.as_bytes()], public_key.as_bytes())
}
