//! The pinned list of roots that must exist before anything is opened.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::Context;

use crate::epoch::announcement::{RootAnnouncement, root_message};
use crate::epoch::merkle::{Hash, leaf, leaves, path, verify_path};
use crate::epoch::plan::EpochPlan;
use crate::epoch::registry::Registry;
use crate::epoch::tree::{EpochTree, Opening, leaf_parts};
use crate::error::Error;
use crate::keys::content_key::{ContentKey, ContentPublicKey};
use crate::keys::member::Member;
use crate::member_id::MemberId;
use crate::wire::framing::{hash_lp, lp};
use crate::wire::label::ContentLabel;

/// Where pinned lists are kept: one list per epoch, for ever.
pub trait RootStore {
    /// Stores `list` for `epoch` durably, or compares it with what is stored.
    /// Implementations flush before they return and never replace a list.
    ///
    /// # Errors
    /// [`Error::RootNotPinned`] if another list is stored,
    /// [`Error::GuardFailure`] if the store cannot be used.
    fn pin(&mut self, epoch: u64, list: &[u8]) -> Result<(), Error>;
}

/// A store of pinned roots that a restart erases: for tests, simulations and
/// measurements only.
#[derive(Debug, Default)]
pub struct InMemoryRootsForTests(BTreeMap<u64, Vec<u8>>);

impl RootStore for InMemoryRootsForTests {
    fn pin(&mut self, epoch: u64, list: &[u8]) -> Result<(), Error> {
        if self.0.entry(epoch).or_insert_with(|| list.to_vec()) == list {
            Ok(())
        } else {
            Err(Error::RootNotPinned)
        }
    }
}

/// The agreed roots of an epoch. Holding one means that every signature was
/// checked and the list was pinned: from here on, and not before, openings,
/// commitments and responses may leave a member.
#[derive(Clone)]
pub struct PinnedRoots {
    pub(super) registry: Arc<Registry>,
    pub(super) plan: EpochPlan,
    // by position in the registry
    pub(super) roots: Vec<Option<Hash>>,
    pub(super) digest: Hash,
}

impl PinnedRoots {
    /// Checks the announcements and pins them as the complete list of the epoch:
    /// members without one take no part in it. All members have to pin the same
    /// list; [`Self::digest`] is what they compare.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`], [`Error::UnknownMember`], [`Error::DuplicateId`],
    /// [`Error::OutOfRange`] for another epoch, [`Error::BadTreeSignature`], and
    /// those of the store.
    pub fn pin<S: RootStore + ?Sized>(
        store: &mut S,
        registry: &Arc<Registry>,
        plan: &EpochPlan,
        announcements: &[RootAnnouncement],
    ) -> Result<Self, Error> {
        if announcements.is_empty() {
            return Err(Error::EmptyCohort);
        }
        let ctx = Context::new(b"F.kt").map_err(|_| Error::BadLength)?;
        let mut roots = alloc::vec![None; registry.len()];
        for announcement in announcements {
            let key = registry.key(&announcement.id)?;
            let slot = roots
                .get_mut(registry.position(&announcement.id)?)
                .ok_or(Error::UnknownMember)?;
            if slot.is_some() {
                return Err(Error::DuplicateId);
            }
            if announcement.epoch != plan.epoch {
                return Err(Error::OutOfRange);
            }
            let message = root_message(plan.epoch, &announcement.root);
            key.verify(&message, ctx, announcement.signature.as_ref())
                .map_err(|_| Error::BadTreeSignature)?;
            *slot = Some(announcement.root);
        }
        let mut list = Vec::new();
        for (id, root) in registry.ids().zip(&roots) {
            if let Some(root) = root {
                list.extend(lp(&[id.as_bytes(), root]));
            }
        }
        let list = lp(&[
            registry.matrix().rho(),
            registry.root(),
            &plan.digest(),
            &list,
        ]);
        store.pin(plan.epoch, &list)?;
        Ok(Self {
            registry: Arc::clone(registry),
            plan: plan.clone(),
            roots,
            digest: hash_lp(b"MLADSA roots", &[&list]),
        })
    }

    /// A digest of registry, plan and list, for members to compare.
    pub fn digest(&self) -> &Hash {
        &self.digest
    }

    /// The plan.
    pub fn plan(&self) -> &EpochPlan {
        &self.plan
    }

    /// The registry.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The pinned root of a member.
    ///
    /// # Errors
    /// [`Error::UnknownMember`]; [`Error::RootNotPinned`] if it announced none.
    pub fn root(&self, id: &MemberId) -> Result<&Hash, Error> {
        self.roots
            .get(self.registry.position(id)?)
            .and_then(Option::as_ref)
            .ok_or(Error::RootNotPinned)
    }

    /// Accepts a content key if its opening leads to the pinned root at the place
    /// of its label.
    ///
    /// # Errors
    /// [`Error::BadPath`], those of [`Self::root`] and [`EpochPlan::index`].
    pub fn authenticate(
        &self,
        id: &MemberId,
        label: &ContentLabel,
        opening: &Opening,
    ) -> Result<AuthenticatedKey, Error> {
        let leaf = leaf(&leaf_parts(id, label, &opening.public_key));
        self.accept(id, label, opening, leaf)
    }

    /// [`Self::authenticate`] for many members at once: their leaves are hashed in
    /// lanes. The results are in the order of the openings.
    pub fn authenticate_each(
        &self,
        label: &ContentLabel,
        openings: &[(MemberId, Opening)],
    ) -> Vec<Result<AuthenticatedKey, Error>> {
        let parts: Vec<_> = openings
            .iter()
            .map(|(id, opening)| leaf_parts(id, label, &opening.public_key))
            .collect();
        openings
            .iter()
            .zip(leaves(&parts))
            .map(|((id, opening), leaf)| self.accept(id, label, opening, leaf))
            .collect()
    }

    fn accept(
        &self,
        id: &MemberId,
        label: &ContentLabel,
        opening: &Opening,
        leaf: Hash,
    ) -> Result<AuthenticatedKey, Error> {
        let root = self.root(id)?;
        if opening.index != self.plan.index(label)?
            || !verify_path(&leaf, opening.index, &opening.path, self.plan.depth(), root)
        {
            return Err(Error::BadPath);
        }
        Ok(AuthenticatedKey {
            id: *id,
            label: label.clone(),
            leaf,
            public_key: opening.public_key.clone(),
            source: self.digest,
        })
    }
}

impl fmt::Debug for PinnedRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedRoots(epoch {})", self.plan.epoch)
    }
}

impl Member {
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
            public_key: ContentKey::derive(matrix, &self.seed, label.as_bytes()).public_key,
            index,
            path: path(&tree.leaves, index as usize)?,
        })
    }
}

/// A content key that is known to be its member's: made by
/// [`PinnedRoots::authenticate`] only. Cheap to clone, to be kept by who verifies
/// more than once.
#[derive(Clone, Debug)]
pub struct AuthenticatedKey {
    pub(crate) id: MemberId,
    pub(crate) label: ContentLabel,
    pub(crate) leaf: Hash,
    pub(crate) public_key: ContentPublicKey,
    // what vouches for it
    pub(crate) source: Hash,
}

impl AuthenticatedKey {
    /// Whose key.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// What for.
    pub fn label(&self) -> &ContentLabel {
        &self.label
    }

    /// The key.
    pub fn public_key(&self) -> &ContentPublicKey {
        &self.public_key
    }
}
