//! A member's tree over its content keys of an epoch, and their openings.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::epoch::merkle::{Hash, LeafParts, Levels, depth, leaf, leaves};
use crate::epoch::plan::{EpochPlan, MAX_LEAVES};
use crate::epoch::registry::Registry;
use crate::error::Error;
use crate::keys::content_key::{CONTENT_PUBLIC_KEY_LEN, ContentKey, ContentPublicKey, derive_each};
use crate::keys::member::Member;
use crate::keys::scope::{EpochLabel, Scope};
use crate::keys::seed::KEYS_TOGETHER;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};
use crate::wire::label::ContentLabel;

/// A member's tree over the keys of an epoch: all its nodes, 64 bytes for each key.
/// Public.
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
    pub fn root(&self) -> &Hash {
        self.levels.root()
    }

    /// `"MLADSAK2" || lp(id, digest of registry and plan) || leaves || checksum`: to
    /// be kept for the epoch, because deriving all keys again takes long.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = TREE.to_vec();
        let plan = self.plan.binding(&self.registry);
        out.extend(lp(&[self.id.as_bytes(), &plan]));
        out.extend_from_slice(self.levels.leaves(self.plan.len()).as_flattened());
        let checksum: Hash = hash_lp(b"MLADSA tree", &[&out]);
        out.extend_from_slice(&checksum);
        out
    }

    /// Reads what [`Self::to_bytes`] wrote, for the same registry and plan. Wrong
    /// leaves do no harm: what they open does not lead to the announced root.
    ///
    /// # Errors
    /// [`Error::BadLength`] for another form, [`Error::CohortMismatch`] for another
    /// registry or plan.
    pub fn from_bytes(
        registry: &Arc<Registry>,
        plan: &EpochPlan,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let (body, checksum) = bytes.split_last_chunk::<32>().ok_or(Error::BadLength)?;
        if hash_lp(b"MLADSA tree", &[body]) != *checksum {
            return Err(Error::BadLength);
        }
        let mut reader = Reader::new(body, TREE)?;
        let id = MemberId::new(reader.part()?)?;
        if reader.part()? != plan.binding(registry) {
            return Err(Error::CohortMismatch);
        }
        let leaves = reader.take(32 * plan.len())?;
        reader.end()?;
        Ok(Self {
            id,
            registry: Arc::clone(registry),
            plan: plan.clone(),
            levels: Levels::new(leaves.as_chunks().0)?,
        })
    }

    pub(super) fn scope(&self) -> Scope {
        self.registry.scope(self.plan.epoch())
    }
}

impl Member {
    /// Derives the public half of every content key of the plan, for this registry
    /// and its matrix.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`] cannot occur for a plan that was made.
    pub fn epoch_tree(
        &self,
        registry: &Arc<Registry>,
        plan: &EpochPlan,
    ) -> Result<EpochTree, Error> {
        let scope = registry.scope(plan.epoch());
        let mut tree = Vec::with_capacity(plan.len());
        let mut labels = plan.labels();
        loop {
            let labels: Vec<EpochLabel> = labels
                .by_ref()
                .take(KEYS_TOGETHER)
                .map(|label| scope.label(label.as_bytes()))
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
        Ok(EpochTree {
            id: self.id,
            registry: Arc::clone(registry),
            plan: plan.clone(),
            levels: Levels::new(&tree)?,
        })
    }

    /// The opening of the key of `label`, which only [`Member::open`] may show.
    pub(super) fn opening(&self, tree: &EpochTree, label: &ContentLabel) -> Result<Opening, Error> {
        let index = tree.plan.index(label)?;
        let label = tree.scope().label(label.as_bytes());
        let key = ContentKey::derive(tree.registry.matrix(), &self.seed, &label);
        // A tree from a file, or of another seed.
        if tree.levels.leaf(index) != Some(&leaf(&leaf_parts(&self.id, &label, &key.public_key))) {
            return Err(Error::BadPath);
        }
        Ok(Opening {
            public_key: key.public_key,
            index,
            path: tree.levels.path(index as usize)?,
        })
    }
}

/// What `KtLeaf(id, C, t)` is made of, C in its epoch.
pub(crate) fn leaf_parts<'a>(
    id: &'a MemberId,
    label: &'a EpochLabel,
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
