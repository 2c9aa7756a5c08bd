//! The committee of an epoch.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{MlDsa87, VerifyingKey};

use crate::committee::epoch::Epoch;
use crate::committee::merkle::Levels;
use crate::committee::registration::Registration;
use crate::committee::view::{CommitteeView, MAX_MEMBERS, MemberEntry};
use crate::error::{CommitteeError, EncodingError};
use crate::member_id::MemberName;
use crate::wire::framing::{Reader, hash_lp};

/// SigningCommittee of an epoch, as the ledger has finalised it: parameters, members with registration
/// key, root of one-time keys and weight, and the threshold. All proofs of possession of a value
/// of this type are verified; nothing else decides here who is a member.
pub struct SigningCommittee {
    view: CommitteeView,
    // by position, which is the order of the names
    registrations: Vec<(Registration, u64)>,
    tree: Levels,
    total: u64,
}

const COMMITTEE: &[u8; 8] = b"MLADSAC2";

impl SigningCommittee {
    /// Greatest number of members.
    pub const MAX_MEMBERS: usize = MAX_MEMBERS;

    /// Computes the smallest weight above two thirds of `total`.
    pub const fn two_thirds(total: u64) -> u64 {
        total - total.saturating_sub(1) / 3
    }

    /// Creates a committee of members with their weights, in any order. The signers of an aggregate
    /// have at least the weight `threshold`.
    ///
    /// # Errors
    /// [`CommitteeError::NoMembers`], [`CommitteeError::TooManyMembers`],
    /// [`CommitteeError::InvalidProof`]; [`CommitteeError::DuplicateMember`] for two members with
    /// one name or one registration key; [`CommitteeError::Weight`] for a weight of zero or a sum
    /// of 2^64 or more, and for a threshold of zero or above the sum.
    pub fn new(
        epoch: &Arc<Epoch>,
        members: impl IntoIterator<Item = (Registration, u64)>,
        threshold: u64,
    ) -> Result<Arc<Self>, CommitteeError> {
        let mut registrations: Vec<_> = members.into_iter().take(Self::MAX_MEMBERS + 1).collect();
        if registrations.len() > Self::MAX_MEMBERS {
            return Err(CommitteeError::TooManyMembers);
        }
        registrations.sort_by_key(|(registration, _)| registration.id);
        let mut pairs = registrations.windows(2);
        if pairs.any(|pair| matches!(pair, [a, b] if a.0.id == b.0.id)) {
            return Err(CommitteeError::DuplicateMember);
        }
        let mut total = 0u64;
        let mut entries = Vec::with_capacity(registrations.len());
        let mut key_digests = BTreeSet::new();
        for (registration, weight) in &registrations {
            let sum = total.checked_add(*weight).filter(|_| *weight > 0);
            total = sum.ok_or(CommitteeError::Weight)?;
            registration.verify(epoch)?;
            let key_digest = hash_lp(&[], &[registration.key.as_bytes()]);
            // Two names of one seed: they would use the same one-time keys with two journals.
            if !key_digests.insert(key_digest) {
                return Err(CommitteeError::DuplicateMember);
            }
            entries.push(MemberEntry {
                id: registration.id,
                weight: *weight,
                root: registration.root,
                key_digest,
            });
        }
        let leaves: Vec<_> = entries.iter().map(MemberEntry::leaf).collect();
        let tree = Levels::new(&leaves).ok_or(CommitteeError::NoMembers)?;
        if !(1..=total).contains(&threshold) {
            return Err(CommitteeError::Weight);
        }
        let entries = entries.into_iter().map(Some).collect();
        Ok(Arc::new(Self {
            view: CommitteeView::new(epoch, threshold, tree.root(), entries),
            registrations,
            tree,
            total,
        }))
    }

    /// Encodes as `"MLADSAC2" || lp(domain) || BE64(epoch) || BE32(slots) || attempts ||
    /// BE64(threshold)`, then `BE64(weight) || lp(id) || key || root || proof` of every member in
    /// the order of the names.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = COMMITTEE.to_vec();
        out.extend(self.epoch().to_bytes());
        out.extend_from_slice(&self.view.threshold().to_be_bytes());
        for (registration, weight) in &self.registrations {
            out.extend_from_slice(&weight.to_be_bytes());
            registration.write(&mut out);
        }
        out
    }

    /// Decodes a committee and verifies its proofs. The caller compares its
    /// [identity](Self::identity), unless the bytes come from a source that it trusts.
    ///
    /// # Errors
    /// [`CommitteeError::Encoding`], also for members that are not in the order of the names, and
    /// those of [`Self::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Arc<Self>, CommitteeError> {
        let mut reader = Reader::new(bytes, COMMITTEE)?;
        let epoch = Epoch::read(&mut reader)?;
        let threshold = u64::from_be_bytes(reader.array()?);
        let mut members: Vec<(Registration, u64)> = Vec::new();
        while !reader.is_empty() {
            let weight = u64::from_be_bytes(reader.array()?);
            let registration = Registration::read(&mut reader)?;
            let last = members.last().map(|(last, _)| last.id);
            if last.is_some_and(|last| last >= registration.id) {
                return Err(EncodingError::Range.into());
            }
            if members.len() == Self::MAX_MEMBERS {
                return Err(CommitteeError::TooManyMembers);
            }
            members.push((registration, weight));
        }
        Self::new(&epoch, members, threshold)
    }

    /// Returns the identity of the committee: see [`CommitteeView::identity`].
    pub fn identity(&self) -> &[u8; 32] {
        self.view.identity()
    }

    /// Returns the committee as a verifier needs it, with all members.
    pub fn view(&self) -> &CommitteeView {
        &self.view
    }

    /// Returns the parameters of the epoch.
    pub fn epoch(&self) -> &Arc<Epoch> {
        self.view.epoch()
    }

    /// Returns the number of members.
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.registrations.len()
    }

    /// Returns the members with their weights in the order of the names, which is the order of the
    /// bits of an aggregate.
    pub fn members(&self) -> impl ExactSizeIterator<Item = (&MemberName, u64)> {
        self.registrations
            .iter()
            .map(|(registration, weight)| (&registration.id, *weight))
    }

    /// Returns the opening of a member in the tree of the committee, for
    /// [`CommitteeView::add_member`]. `None` for another name.
    pub fn member_opening(&self, id: &MemberName) -> Option<Vec<u8>> {
        let at = self.position(id)?;
        self.view.opening(at, &self.tree.path(at)?)
    }

    pub(crate) fn position(&self, id: &MemberName) -> Option<usize> {
        let found = self
            .registrations
            .binary_search_by_key(id, |(registration, _)| registration.id);
        found.ok()
    }

    pub(crate) fn key(&self, id: &MemberName) -> Option<&VerifyingKey<MlDsa87>> {
        let (registration, _) = self.registrations.get(self.position(id)?)?;
        Some(&registration.key)
    }

    /// Returns the sum of the weights of members, each named once. Others have none.
    pub(crate) fn weight<'a>(&self, ids: impl IntoIterator<Item = &'a MemberName>) -> u64 {
        let weights = ids
            .into_iter()
            .filter_map(|id| self.registrations.get(self.position(id)?));
        weights.map(|(_, weight)| *weight).sum()
    }

    /// Returns whether members, each named once, reach the threshold.
    pub(crate) fn is_quorum<'a>(&self, ids: impl IntoIterator<Item = &'a MemberName>) -> bool {
        self.weight(ids) >= self.view.threshold()
    }

    /// Returns the greatest weight of faulty members, less than a third.
    pub(crate) fn max_faulty(&self) -> u64 {
        (self.total - 1) / 3
    }
}

impl fmt::Debug for SigningCommittee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SigningCommittee({} members, epoch {})",
            self.len(),
            self.epoch().number()
        )
    }
}
