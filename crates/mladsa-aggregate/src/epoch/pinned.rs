//! The pinned list of roots, which one party holds for itself.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::epoch::announcement::RootAnnouncement;
use crate::epoch::merkle::Hash;
use crate::epoch::pins::PinStore;
use crate::epoch::plan::EpochPlan;
use crate::epoch::registry::Registry;
use crate::error::Error;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};

/// The list of roots of an epoch as one party has pinned it. Whether others have
/// pinned the same, [`AgreedRoots`](crate::AgreedRoots) says: nothing is opened or
/// verified before that.
#[derive(Clone)]
pub struct PinnedRoots {
    registry: Arc<Registry>,
    plan: Arc<EpochPlan>,
    // by position in the registry
    roots: Vec<Option<Hash>>,
    digest: Hash,
}

impl PinnedRoots {
    /// Checks the announcements and pins them as the complete list of the epoch:
    /// members without one take no part in it.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`], [`Error::DuplicateId`], those of
    /// [`RootAnnouncement::verify`] and of the store.
    pub fn pin<S: PinStore + ?Sized>(
        store: &mut S,
        registry: &Arc<Registry>,
        plan: &EpochPlan,
        announcements: &[RootAnnouncement],
    ) -> Result<Self, Error> {
        if announcements.is_empty() {
            return Err(Error::EmptyCohort);
        }
        let mut roots = alloc::vec![None; registry.len()];
        for announcement in announcements {
            let slot = roots.get_mut(registry.position(announcement.id())?);
            let slot = slot.ok_or(Error::UnknownMember)?;
            if slot.is_some() {
                return Err(Error::DuplicateId);
            }
            announcement.verify(registry, plan)?;
            *slot = Some(*announcement.root());
        }
        let mut list = lp(&[&plan.binding(registry)]);
        for (id, root) in registry.ids().zip(&roots) {
            if let Some(root) = root {
                list.extend(lp(&[id.as_bytes(), root]));
            }
        }
        store.pin(&name(plan), &list)?;
        Ok(Self::new(registry, plan, roots, &list))
    }

    /// The list that `store` holds for the epoch of `plan`, if it holds one.
    ///
    /// # Errors
    /// [`Error::RootNotPinned`] if it belongs to another plan or registry,
    /// [`Error::GuardFailure`], [`Error::BadLength`].
    pub fn load<S: PinStore + ?Sized>(
        store: &S,
        registry: &Arc<Registry>,
        plan: &EpochPlan,
    ) -> Result<Option<Self>, Error> {
        let Some(list) = store.pinned(&name(plan))? else {
            return Ok(None);
        };
        let mut reader = Reader::rest_of(&list);
        if reader.part()? != plan.binding(registry) {
            return Err(Error::RootNotPinned);
        }
        let mut roots = alloc::vec![None; registry.len()];
        while !reader.is_empty() {
            let id = MemberId::new(reader.part()?)?;
            let slot = roots.get_mut(registry.position(&id)?);
            let root = reader.part()?.try_into().map_err(|_| Error::BadLength)?;
            *slot.ok_or(Error::UnknownMember)? = Some(root);
        }
        Ok(Some(Self::new(registry, plan, roots, &list)))
    }

    fn new(
        registry: &Arc<Registry>,
        plan: &EpochPlan,
        roots: Vec<Option<Hash>>,
        list: &[u8],
    ) -> Self {
        Self {
            registry: Arc::clone(registry),
            plan: Arc::new(plan.clone()),
            roots,
            digest: hash_lp(b"MLADSA roots", &[&plan.epoch().to_be_bytes(), list]),
        }
    }

    /// A digest of matrix, registry, plan and list: what members acknowledge.
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
}

fn name(plan: &EpochPlan) -> String {
    alloc::format!("epoch-{}.roots", plan.epoch())
}

impl fmt::Debug for PinnedRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedRoots(epoch {})", self.plan.epoch())
    }
}
