//! Agreement on the list of roots. Openings, commitments, responses and verdicts require it.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::Randomness;

use crate::epoch::merkle::Node;
use crate::epoch::message::Subject;
use crate::epoch::pinned::PinnedRoots;
use crate::epoch::plan::EpochPlan;
use crate::epoch::quorum::two_thirds;
use crate::epoch::registry::Registry;
use crate::epoch::statement::{Acknowledgement, Endorsement, Statement};
use crate::error::RootsError;
use crate::journal::one_time::OneTimeKeyJournal;
use crate::keys::member::Member;
use crate::member_id::MemberId;
use crate::wire::framing::hash_lp;
use crate::wire::task::AttemptId;

impl Member {
    /// Acknowledges a list of roots. The application compares its digest, which covers the
    /// committee's identity, over another channel first. The journal binds the seed to this list for the epoch.
    ///
    /// # Errors
    /// [`RootsError::UnknownMember`]; [`RootsError::Journal`] if the seed serves another plan
    /// or has acknowledged another list; [`RootsError::SigningFault`].
    pub fn acknowledge(
        &self,
        pinned: &PinnedRoots,
        journal: &mut OneTimeKeyJournal,
        hedge: Randomness<'_>,
    ) -> Result<Acknowledgement, RootsError> {
        let (registry, plan) = (pinned.registry(), pinned.plan());
        let position = registry.position(&self.id);
        position.ok_or(RootsError::UnknownMember)?;
        journal.check_seed(&self.seed)?;
        let (epoch, digest) = (plan.epoch(), pinned.digest());
        journal.acknowledge(epoch, &plan.binding(registry), digest)?;
        let signature = self.sign(b"F.roots", &message(epoch, digest), hedge);
        Ok(Acknowledgement(Statement {
            id: self.id,
            epoch,
            value: *digest,
            signature: signature.ok_or(RootsError::SigningFault)?,
        }))
    }
}

impl Acknowledgement {
    /// Verifies that the member acknowledges this list.
    ///
    /// # Errors
    /// [`RootsError::UnknownMember`], [`RootsError::InvalidSignature`];
    /// [`RootsError::NotAgreed`] for another list or epoch.
    pub fn verify(&self, pinned: &PinnedRoots) -> Result<(), RootsError> {
        if (self.0.epoch, self.digest()) != (pinned.plan().epoch(), pinned.digest()) {
            return Err(RootsError::NotAgreed);
        }
        self.verify_signature(pinned.registry(), pinned.plan())
    }

    /// Verifies the signature, for any list of the epoch.
    pub(super) fn verify_signature(
        &self,
        registry: &Registry,
        plan: &EpochPlan,
    ) -> Result<(), RootsError> {
        if self.0.epoch != plan.epoch() {
            return Err(RootsError::OtherEpoch);
        }
        let message = message(self.0.epoch, self.digest());
        self.0.verify(registry, b"F.roots", &message)
    }
}

fn message(epoch: u64, digest: &Node) -> [u8; 64] {
    hash_lp(&[], &[b"F.roots", &epoch.to_be_bytes(), digest])
}

impl Member {
    /// Endorses a committee by its identity in `epoch`, which is later than that of `previous`.
    /// The application compares the identity over another channel first.
    ///
    /// # Errors
    /// [`RootsError::UnknownMember`] if this member is not in the committee of `previous`;
    /// [`RootsError::OtherEpoch`] unless `epoch` is later; [`RootsError::Journal`] if the seed
    /// has endorsed another committee for the epoch; [`RootsError::SigningFault`].
    pub fn endorse(
        &self,
        previous: &AgreedRoots,
        epoch: u64,
        identity: &[u8; 32],
        journal: &mut OneTimeKeyJournal,
        hedge: Randomness<'_>,
    ) -> Result<Endorsement, RootsError> {
        let position = previous.registry().position(&self.id);
        position.ok_or(RootsError::UnknownMember)?;
        if epoch <= previous.plan().epoch() {
            return Err(RootsError::OtherEpoch);
        }
        journal.check_seed(&self.seed)?;
        journal.endorse(epoch, identity)?;
        let message = endorsement_message(&previous.identity(), epoch, identity);
        let signature = self.sign(b"F.next", &message, hedge);
        Ok(Endorsement(Statement {
            id: self.id,
            epoch,
            value: *identity,
            signature: signature.ok_or(RootsError::SigningFault)?,
        }))
    }
}

fn endorsement_message(previous: &Node, epoch: u64, identity: &Node) -> [u8; 64] {
    let parts: [&[u8]; 4] = [b"F.next", previous, &epoch.to_be_bytes(), identity];
    hash_lp(&[], &parts)
}

impl Endorsement {
    /// Verifies that a member of the committee of `previous` endorses this identity for `epoch`.
    ///
    /// # Errors
    /// [`RootsError::UnknownMember`], [`RootsError::InvalidSignature`];
    /// [`RootsError::OtherEpoch`] for another epoch, or one that is not later;
    /// [`RootsError::OtherCommittee`] for another committee.
    pub fn verify(
        &self,
        previous: &AgreedRoots,
        epoch: u64,
        identity: &[u8; 32],
    ) -> Result<(), RootsError> {
        if self.0.epoch != epoch || epoch <= previous.plan().epoch() {
            return Err(RootsError::OtherEpoch);
        }
        if self.0.value != *identity {
            return Err(RootsError::OtherCommittee);
        }
        let message = endorsement_message(&previous.identity(), epoch, identity);
        self.0.verify(previous.registry(), b"F.next", &message)
    }
}

/// List of roots of a trusted committee that more than two thirds of the registry have
/// acknowledged. Any two such lists of an epoch have more than a third of the members in common.
/// If one of those is honest, the lists are the same, because its journal acknowledges one list
/// only.
///
/// The committee is trusted because the application pinned its identity ([`Self::from_pin`]), or
/// because a trusted committee endorsed it ([`Self::successor_of`]). There is no other
/// constructor.
#[derive(Clone)]
pub struct AgreedRoots {
    pinned: PinnedRoots,
    // by position in the registry
    acknowledged: Vec<bool>,
}

impl AgreedRoots {
    /// The list of a committee whose [identity](Registry::identity) the application has from a
    /// source that it trusts. Counts the valid acknowledgements and ignores all others.
    ///
    /// # Errors
    /// [`RootsError::OtherCommittee`]; [`RootsError::NotAgreed`] unless more than two thirds of
    /// the registry acknowledge the list.
    pub fn from_pin<'a>(
        identity: &[u8; 32],
        pinned: &PinnedRoots,
        acknowledgements: impl IntoIterator<Item = &'a Acknowledgement>,
    ) -> Result<Self, RootsError> {
        let epoch = pinned.plan().epoch();
        if pinned.registry().identity(epoch) != *identity {
            return Err(RootsError::OtherCommittee);
        }
        Self::count(pinned, acknowledgements)
    }

    /// The list of a committee of a later epoch that a quorum, and more than two thirds, of the
    /// committee of `previous` have endorsed. Invalid endorsements are ignored.
    ///
    /// # Errors
    /// [`RootsError::NotEndorsed`]; [`RootsError::NotAgreed`].
    pub fn successor_of<'a, 'b>(
        previous: &Self,
        pinned: &PinnedRoots,
        acknowledgements: impl IntoIterator<Item = &'a Acknowledgement>,
        endorsements: impl IntoIterator<Item = &'b Endorsement>,
    ) -> Result<Self, RootsError> {
        let epoch = pinned.plan().epoch();
        let next = pinned.registry().identity(epoch);
        let registry = previous.registry();
        let mut endorsed = alloc::vec![false; registry.len()];
        for endorsement in endorsements {
            let at = registry.position(endorsement.id());
            if let Some(slot) = at.and_then(|at| endorsed.get_mut(at))
                && !*slot
            {
                *slot = endorsement.verify(previous, epoch, &next).is_ok();
            }
        }
        let ids = registry.ids().zip(&endorsed);
        let ids: Vec<_> = ids
            .filter_map(|(id, endorsed)| endorsed.then_some(id))
            .collect();
        if ids.len() < two_thirds(registry.len()) || !registry.is_quorum(ids) {
            return Err(RootsError::NotEndorsed);
        }
        Self::count(pinned, acknowledgements)
    }

    fn count<'a>(
        pinned: &PinnedRoots,
        acknowledgements: impl IntoIterator<Item = &'a Acknowledgement>,
    ) -> Result<Self, RootsError> {
        let registry = pinned.registry();
        let mut acknowledged = alloc::vec![false; registry.len()];
        for acknowledgement in acknowledgements {
            let at = registry.position(acknowledgement.id());
            if let Some(slot) = at.and_then(|at| acknowledged.get_mut(at))
                && !*slot
            {
                *slot = acknowledgement.verify(pinned).is_ok();
            }
        }
        let count = acknowledged.iter().filter(|known| **known).count();
        if count < two_thirds(registry.len()) {
            return Err(RootsError::NotAgreed);
        }
        Ok(Self {
            pinned: pinned.clone(),
            acknowledged,
        })
    }

    /// The list.
    #[must_use]
    pub fn pinned(&self) -> &PinnedRoots {
        &self.pinned
    }

    /// Digest of the list.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        self.pinned.digest()
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &EpochPlan {
        self.pinned.plan()
    }

    /// The registry.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        self.pinned.registry()
    }

    /// The members that can sign: with a root on the list, which they have acknowledged.
    pub fn ids(&self) -> impl Iterator<Item = &MemberId> {
        let ids = self.registry().ids();
        ids.filter(|id| self.root(id).is_ok())
    }

    /// The agreed root of a member that has acknowledged the list.
    ///
    /// # Errors
    /// [`RootsError::UnknownMember`]; [`RootsError::NotPinned`] if it announced none,
    /// [`RootsError::NotAgreed`] if it has not acknowledged the list.
    pub fn root(&self, id: &MemberId) -> Result<&[u8; 32], RootsError> {
        let root = self.pinned.root(id)?;
        let at = self.registry().position(id);
        match at.and_then(|at| self.acknowledged.get(at)) {
            Some(true) => Ok(root),
            _ => Err(RootsError::NotAgreed),
        }
    }

    /// Identity of the committee in this epoch.
    #[must_use]
    pub fn identity(&self) -> [u8; 32] {
        self.registry().identity(self.plan().epoch())
    }

    pub(crate) fn subject(&self, attempt: &AttemptId) -> Subject {
        Subject {
            epoch: self.plan().epoch(),
            roots: *self.digest(),
            attempt: attempt.clone(),
        }
    }
}

impl fmt::Debug for AgreedRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgreedRoots(epoch {})", self.plan().epoch())
    }
}
