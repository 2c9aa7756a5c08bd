//! Key tree of a member over its one-time keys of an epoch, and openings.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::epoch::merkle::{LeafParts, Levels, Node, depth, leaf, leaves};
use crate::epoch::plan::EpochPlan;
use crate::epoch::registry::Registry;
use crate::error::{EncodingError, RootsError};
use crate::keys::member::Member;
use crate::keys::one_time_key::{OneTimePublicKey, derive_each};
use crate::keys::scope::EpochLabel;
use crate::keys::seed::KEYS_TOGETHER;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};
use crate::wire::task::AttemptId;

/// Key tree of a member: all nodes of the Merkle tree over its one-time public keys of an
/// epoch, 64 bytes for each key. Public.
#[derive(Clone, Debug)]
pub struct EpochTree {
    pub(super) id: MemberId,
    pub(super) registry: Arc<Registry>,
    pub(super) plan: EpochPlan,
    levels: Levels,
}

const TREE: &[u8; 8] = b"MLADSAK2";

impl EpochTree {
    /// The root.
    #[must_use]
    pub fn root(&self) -> &[u8; 32] {
        self.levels.root()
    }

    /// Encodes as `"MLADSAK2" || lp(id, digest of registry and plan) || leaves || checksum`,
    /// because deriving all keys again is slow.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = TREE.to_vec();
        let plan = self.plan.binding(&self.registry);
        out.extend(lp(&[self.id.as_bytes(), &plan]));
        out.extend_from_slice(self.levels.leaves(self.plan.len()).as_flattened());
        let checksum: Node = hash_lp(b"MLADSA tree", &[&out]);
        out.extend_from_slice(&checksum);
        out
    }

    /// Decodes a tree of this registry and plan. Wrong leaves are harmless: their openings do
    /// not lead to the announced root.
    ///
    /// # Errors
    /// [`RootsError::Encoding`], [`RootsError::OtherTree`].
    pub fn from_bytes(
        registry: &Arc<Registry>,
        plan: &EpochPlan,
        bytes: &[u8],
    ) -> Result<Self, RootsError> {
        let (body, checksum) = bytes
            .split_last_chunk::<32>()
            .ok_or(EncodingError::Length)?;
        if hash_lp(b"MLADSA tree", &[body]) != *checksum {
            return Err(EncodingError::Length.into());
        }
        let mut reader = Reader::new(body, TREE)?;
        let id = MemberId::new(reader.part()?)?;
        if reader.part()? != plan.binding(registry) {
            return Err(RootsError::OtherTree);
        }
        let leaves = reader.take(32 * plan.len())?;
        reader.end()?;
        Self::new(id, registry, plan, leaves.as_chunks().0)
    }

    fn new(
        id: MemberId,
        registry: &Arc<Registry>,
        plan: &EpochPlan,
        leaves: &[Node],
    ) -> Result<Self, RootsError> {
        Ok(Self {
            id,
            registry: Arc::clone(registry),
            plan: plan.clone(),
            levels: Levels::new(leaves).ok_or(RootsError::EmptyPlan)?,
        })
    }
}

impl Member {
    /// Derives the public half of every one-time key of the plan, for this registry and its
    /// matrix.
    ///
    /// # Errors
    /// None for a plan, which is never empty.
    pub fn epoch_tree(
        &self,
        registry: &Arc<Registry>,
        plan: &EpochPlan,
    ) -> Result<EpochTree, RootsError> {
        let scope = registry.scope(plan.epoch());
        let mut tree = Vec::with_capacity(plan.len());
        let mut attempts = plan.attempt_ids();
        loop {
            let labels: Vec<EpochLabel> = attempts
                .by_ref()
                .take(KEYS_TOGETHER)
                .map(|attempt| scope.label(attempt.as_bytes()))
                .collect();
            if labels.is_empty() {
                break;
            }
            let keys: Vec<_> = labels.iter().map(|label| (&self.seed, label)).collect();
            let mut public_keys = Vec::with_capacity(KEYS_TOGETHER);
            derive_each(registry.matrix(), &keys, |_, public_key| {
                public_keys.push(public_key);
            });
            let parts: Vec<_> = labels
                .iter()
                .zip(&public_keys)
                .map(|(label, public_key)| leaf_parts(&self.id, label, public_key))
                .collect();
            tree.extend(leaves(&parts));
        }
        EpochTree::new(self.id, registry, plan, &tree)
    }

    /// The opening of the key of `attempt`; `None` if the tree belongs to another seed.
    pub(super) fn opening(
        &self,
        tree: &EpochTree,
        attempt: &AttemptId,
    ) -> Result<Option<Opening>, RootsError> {
        let index = tree.plan.index(attempt)?;
        let label = tree.registry.scope(tree.plan.epoch());
        let label = label.label(attempt.as_bytes());
        let public_key = OneTimePublicKey::derive(tree.registry.matrix(), &self.seed, &label);
        let own = leaf(&leaf_parts(&self.id, &label, &public_key));
        let path = tree.levels.path(index as usize);
        let is_own = tree.levels.leaf(index) == Some(&own);
        Ok(path.filter(|_| is_own).map(|path| Opening {
            public_key,
            index,
            path,
        }))
    }
}

/// Parts of the leaf `KtLeaf(id, C, t)`, with C in its epoch.
pub(crate) fn leaf_parts<'a>(
    id: &'a MemberId,
    label: &'a EpochLabel,
    public_key: &'a OneTimePublicKey,
) -> LeafParts<'a, 2> {
    ([id.as_bytes(), label.as_bytes()], public_key.as_bytes())
}

/// Opening of a one-time public key: the key with its Merkle path, 6,148 bytes and 32 for each
/// level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub(super) public_key: OneTimePublicKey,
    pub(super) index: u32,
    pub(super) path: Vec<Node>,
}

impl Opening {
    /// The opened key.
    #[cfg(feature = "test-util")]
    #[must_use]
    pub fn public_key(&self) -> &OneTimePublicKey {
        &self.public_key
    }

    /// Encodes as `t || BE32(index) || path`.
    #[must_use]
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
            (path, []) if path.len() <= depth(EpochPlan::MAX_KEYS) => Ok(Self {
                public_key: OneTimePublicKey::from_bytes(public_key)?,
                index: u32::from_be_bytes(*index),
                path: path.to_vec(),
            }),
            _ => Err(EncodingError::Length),
        }
    }
}
