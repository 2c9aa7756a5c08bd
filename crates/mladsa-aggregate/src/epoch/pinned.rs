//! List of roots pinned locally by one participant.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::epoch::merkle::Node;
use crate::epoch::plan::EpochPlan;
use crate::epoch::registry::Registry;
use crate::epoch::statement::RootAnnouncement;
use crate::epoch::write_once::WriteOnceStore;
use crate::error::{EncodingError, RootsError, StorageError};
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};

/// List of roots of an epoch, pinned locally by one participant.
/// [`AgreedRoots`](crate::AgreedRoots) proves that others have pinned the same list; nothing is
/// opened or verified before.
#[derive(Clone)]
pub struct PinnedRoots {
    registry: Arc<Registry>,
    plan: Arc<EpochPlan>,
    // by position in the registry
    roots: Vec<Option<Node>>,
    digest: Node,
}

impl PinnedRoots {
    /// Verifies the announcements and pins them as the complete list of the epoch. A member
    /// without an announcement cannot sign in it.
    ///
    /// # Errors
    /// [`RootsError::NoRoots`], [`RootsError::DuplicateMember`], [`RootsError::NotPinned`] if
    /// the store holds another list, [`RootsError::Storage`], and those of
    /// [`RootAnnouncement::verify`].
    pub fn pin<S: WriteOnceStore + ?Sized>(
        store: &mut S,
        registry: &Arc<Registry>,
        plan: &EpochPlan,
        announcements: &[RootAnnouncement],
    ) -> Result<Self, RootsError> {
        if announcements.is_empty() {
            return Err(RootsError::NoRoots);
        }
        let mut roots = alloc::vec![None; registry.len()];
        for announcement in announcements {
            let slot = registry.position(announcement.id());
            let slot = slot.and_then(|at| roots.get_mut(at));
            let slot = slot.ok_or(RootsError::UnknownMember)?;
            if slot.is_some() {
                return Err(RootsError::DuplicateMember);
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
        match store.write(&name(plan), &list) {
            Err(StorageError::OtherValue) => Err(RootsError::NotPinned),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(Self::new(registry, plan, roots, &list)),
        }
    }

    /// Loads the list of the epoch of `plan` from `store`, if it holds one.
    ///
    /// # Errors
    /// [`RootsError::NotPinned`] if it belongs to another plan or registry,
    /// [`RootsError::Storage`], [`RootsError::Encoding`].
    pub fn load<S: WriteOnceStore + ?Sized>(
        store: &S,
        registry: &Arc<Registry>,
        plan: &EpochPlan,
    ) -> Result<Option<Self>, RootsError> {
        let Some(list) = store.read(&name(plan))? else {
            return Ok(None);
        };
        let mut reader = Reader::without_magic(&list);
        if reader.part()? != plan.binding(registry) {
            return Err(RootsError::NotPinned);
        }
        let mut roots = alloc::vec![None; registry.len()];
        while !reader.is_empty() {
            let id = MemberId::new(reader.part()?)?;
            let root = reader.part()?.try_into();
            let slot = registry.position(&id).and_then(|at| roots.get_mut(at));
            *slot.ok_or(RootsError::UnknownMember)? =
                Some(root.map_err(|_| EncodingError::Length)?);
        }
        Ok(Some(Self::new(registry, plan, roots, &list)))
    }

    fn new(
        registry: &Arc<Registry>,
        plan: &EpochPlan,
        roots: Vec<Option<Node>>,
        list: &[u8],
    ) -> Self {
        Self {
            registry: Arc::clone(registry),
            plan: Arc::new(plan.clone()),
            roots,
            digest: hash_lp(b"MLADSA roots", &[&plan.epoch().to_be_bytes(), list]),
        }
    }

    /// Digest of matrix, registry, plan and list, which members acknowledge.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &EpochPlan {
        &self.plan
    }

    /// The registry.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The pinned root of a member.
    ///
    /// # Errors
    /// [`RootsError::UnknownMember`]; [`RootsError::NotPinned`] if it announced none.
    pub fn root(&self, id: &MemberId) -> Result<&[u8; 32], RootsError> {
        let at = self.registry.position(id);
        self.roots
            .get(at.ok_or(RootsError::UnknownMember)?)
            .and_then(Option::as_ref)
            .ok_or(RootsError::NotPinned)
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
