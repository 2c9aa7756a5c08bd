//! A member's tree over its content keys of an epoch, and their openings.

use alloc::vec::Vec;

use crate::epoch::merkle::{Hash, LeafParts, depth, leaves, path, root};
use crate::epoch::pinned::PinnedRoots;
use crate::epoch::plan::{EpochPlan, MAX_LEAVES};
use crate::epoch::registry::Member;
use crate::error::Error;
use crate::keys::content_key::{ContentKey, SHARE_LEN, Share, derive_each};
use crate::keys::matrix::Matrix;
use crate::keys::seed::GROUP;
use crate::wire::label::{ContentLabel, MemberId};

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
            let labels: Vec<ContentLabel> = labels.by_ref().take(GROUP).collect();
            if labels.is_empty() {
                break;
            }
            let keys: Vec<_> = labels
                .iter()
                .map(|label| (&self.seed, label.as_bytes()))
                .collect();
            let mut shares = Vec::with_capacity(GROUP);
            derive_each(matrix, &keys, |_, share| shares.push(share));
            let parts: Vec<_> = labels
                .iter()
                .zip(&shares)
                .map(|(label, share)| leaf_parts(&self.id, label, share))
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

    /// Opens the key of `label`, once the list of all roots is pinned.
    ///
    /// # Errors
    /// [`Error::RootNotPinned`] if the pinned list has another root for this
    /// member, or none, or belongs to another plan; those of
    /// [`EpochPlan::index`].
    pub fn open(
        &self,
        pinned: &PinnedRoots,
        tree: &EpochTree,
        label: &ContentLabel,
    ) -> Result<Opening, Error> {
        if pinned.root(&self.id)? != &tree.root || pinned.plan != tree.plan || tree.id != self.id {
            return Err(Error::RootNotPinned);
        }
        let index = tree.plan.index(label)?;
        let matrix = pinned.registry.matrix();
        Ok(Opening {
            share: ContentKey::derive(matrix, &self.seed, label.as_bytes()).share,
            index,
            path: path(&tree.leaves, index as usize)?,
        })
    }
}

/// What `KtLeaf(id, C, t)` is made of.
pub(crate) fn leaf_parts<'a>(
    id: &'a MemberId,
    label: &'a ContentLabel,
    share: &'a Share,
) -> LeafParts<'a, 2> {
    ([id.as_bytes(), label.as_bytes()], share.as_bytes())
}

/// A content key's public half with its path: 6,144 + 4 bytes and 32 for each
/// level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub(super) share: Share,
    pub(super) index: u32,
    pub(super) path: Vec<Hash>,
}

impl Opening {
    /// The opened key.
    pub fn share(&self) -> &Share {
        &self.share
    }

    /// `t || BE32(index) || path`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.share.as_bytes().to_vec();
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
        let (share, rest) = bytes.split_at_checked(SHARE_LEN).ok_or(Error::BadLength)?;
        let (index, path) = rest.split_first_chunk().ok_or(Error::BadLength)?;
        match path.as_chunks::<32>() {
            (path, []) if path.len() <= depth(MAX_LEAVES) => Ok(Self {
                share: Share::from_bytes(share)?,
                index: u32::from_be_bytes(*index),
                path: path.to_vec(),
            }),
            _ => Err(Error::BadLength),
        }
    }
}
