//! A member's tree over its content keys of an epoch, and their openings.

use alloc::vec::Vec;

use crate::epoch::merkle::{Hash, LeafParts, depth, leaves, root};
use crate::epoch::plan::{EpochPlan, MAX_LEAVES};
use crate::error::Error;
use crate::keys::content_key::{CONTENT_PUBLIC_KEY_LEN, ContentPublicKey, derive_each};
use crate::keys::matrix::Matrix;
use crate::keys::member::Member;
use crate::keys::seed::KEYS_TOGETHER;
use crate::member_id::MemberId;
use crate::wire::label::ContentLabel;

/// A member's tree over the keys of an epoch: the leaves, 32 bytes each.
#[derive(Clone, Debug)]
pub struct EpochTree {
    pub(super) id: MemberId,
    pub(super) plan: EpochPlan,
    pub(super) leaves: Vec<Hash>,
    pub(super) root: Hash,
}

impl EpochTree {
    /// The root.
    pub fn root(&self) -> &Hash {
        &self.root
    }
}

impl Member {
    /// Derives the public half of every content key of the plan.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`] cannot occur for a plan that was made.
    pub fn epoch_tree(&self, matrix: &Matrix, plan: &EpochPlan) -> Result<EpochTree, Error> {
        let mut tree = Vec::new();
        let mut labels = plan.labels();
        loop {
            let labels: Vec<ContentLabel> = labels.by_ref().take(KEYS_TOGETHER).collect();
            if labels.is_empty() {
                break;
            }
            let keys: Vec<_> = labels
                .iter()
                .map(|label| (&self.seed, label.as_bytes()))
                .collect();
            let mut public_keys = Vec::with_capacity(KEYS_TOGETHER);
            derive_each(matrix, &keys, |_, public_key| public_keys.push(public_key));
            let parts: Vec<_> = labels
                .iter()
                .zip(&public_keys)
                .map(|(label, public_key)| leaf_parts(&self.id, label, public_key))
                .collect();
            tree.extend(leaves(&parts));
        }
        Ok(EpochTree {
            id: self.id,
            plan: plan.clone(),
            root: root(&tree)?,
            leaves: tree,
        })
    }
}

/// What `KtLeaf(id, C, t)` is made of.
pub(crate) fn leaf_parts<'a>(
    id: &'a MemberId,
    label: &'a ContentLabel,
    public_key: &'a ContentPublicKey,
) -> LeafParts<'a, 2> {
    ([id.as_bytes(), label.as_bytes()], public_key.as_bytes())
}

/// A content key's public half with its path: 6,144 + 4 bytes and 32 for each
/// level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub(super) public_key: ContentPublicKey,
    pub(super) index: u32,
    pub(super) path: Vec<Hash>,
}

impl Opening {
    /// The opened key.
    pub fn public_key(&self) -> &ContentPublicKey {
        &self.public_key
    }

    /// `t || BE32(index) || path`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.public_key.as_bytes().to_vec();
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(self.path.as_flattened());
        out
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::BadLength`], also for more than 20 levels; [`Error::OutOfRange`]
    /// for a coefficient of q or more.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (public_key, rest) = bytes
            .split_at_checked(CONTENT_PUBLIC_KEY_LEN)
            .ok_or(Error::BadLength)?;
        let (index, path) = rest.split_first_chunk().ok_or(Error::BadLength)?;
        match path.as_chunks::<32>() {
            (path, []) if path.len() <= depth(MAX_LEAVES) => Ok(Self {
                public_key: ContentPublicKey::from_bytes(public_key)?,
                index: u32::from_be_bytes(*index),
                path: path.to_vec(),
            }),
            _ => Err(Error::BadLength),
        }
    }
}
