//! Signed statements of an epoch: root announcements, acknowledgements, endorsements.

use alloc::vec::Vec;

use mldsa_core::{MlDsa87, Randomness, Signature};

use crate::epoch::merkle::Node;
use crate::epoch::plan::EpochPlan;
use crate::epoch::registry::Registry;
use crate::epoch::tree::EpochTree;
use crate::error::{EncodingError, RootsError};
use crate::journal::one_time::OneTimeKeyJournal;
use crate::keys::member::{Member, is_signed};
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};

/// A 32-byte value signed by a member for an epoch. Encoding:
/// `magic || lp(id) || BE64(epoch) || value || signature`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) id: MemberId,
    pub(crate) epoch: u64,
    pub(crate) value: Node,
    pub(crate) signature: Signature<MlDsa87>,
}

impl Statement {
    pub(crate) fn to_bytes(&self, magic: &[u8; 8]) -> Vec<u8> {
        let mut out = magic.to_vec();
        out.extend(lp(&[self.id.as_bytes()]));
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.value);
        out.extend_from_slice(self.signature.as_bytes());
        out
    }

    pub(crate) fn from_bytes(magic: &[u8; 8], bytes: &[u8]) -> Result<Self, EncodingError> {
        let mut reader = Reader::new(bytes, magic)?;
        let statement = Self {
            id: MemberId::new(reader.part()?)?,
            epoch: u64::from_be_bytes(reader.array()?),
            value: reader.array()?,
            signature: reader.signature()?,
        };
        reader.end()?;
        Ok(statement)
    }

    pub(crate) fn verify(
        &self,
        registry: &Registry,
        tag: &'static [u8],
        message: &[u8; 64],
    ) -> Result<(), RootsError> {
        let key = registry.key(&self.id).ok_or(RootsError::UnknownMember)?;
        is_signed(key, tag, message, self.signature.as_ref())
            .then_some(())
            .ok_or(RootsError::InvalidSignature)
    }
}

/// Signed root of a member's key tree for an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootAnnouncement(Statement);

const ANNOUNCEMENT: &[u8; 8] = b"MLADSAT2";

impl Member {
    /// Signs the root of a key tree, which is published before any key is opened. From here on
    /// the journal binds the seed to this plan, registry and matrix for the epoch.
    ///
    /// # Errors
    /// [`RootsError::OtherTree`], [`RootsError::UnknownMember`]; [`RootsError::Journal`] if the
    /// seed serves another plan in this epoch; [`RootsError::SigningFault`].
    pub fn announce(
        &self,
        tree: &EpochTree,
        journal: &mut OneTimeKeyJournal,
        hedge: Randomness<'_>,
    ) -> Result<RootAnnouncement, RootsError> {
        journal.check_seed(&self.seed)?;
        if tree.id != self.id {
            return Err(RootsError::OtherTree);
        }
        let position = tree.registry.position(&self.id);
        position.ok_or(RootsError::UnknownMember)?;
        let (epoch, plan) = (tree.plan.epoch(), tree.plan.binding(&tree.registry));
        journal.bind_plan(epoch, &plan)?;
        let message = root_message(epoch, &plan, tree.root());
        let signature = self.sign(b"F.kt", &message, hedge);
        Ok(RootAnnouncement(Statement {
            id: self.id,
            epoch,
            value: *tree.root(),
            signature: signature.ok_or(RootsError::SigningFault)?,
        }))
    }
}

fn root_message(epoch: u64, plan: &Node, root: &Node) -> [u8; 64] {
    hash_lp(&[], &[b"F.kt", &epoch.to_be_bytes(), plan, root])
}

impl RootAnnouncement {
    /// The member.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        &self.0.id
    }

    /// The announced root.
    #[must_use]
    pub fn root(&self) -> &[u8; 32] {
        &self.0.value
    }

    /// Verifies the signature for this registry and plan.
    ///
    /// # Errors
    /// [`RootsError::UnknownMember`], [`RootsError::OtherEpoch`],
    /// [`RootsError::InvalidSignature`].
    pub fn verify(&self, registry: &Registry, plan: &EpochPlan) -> Result<(), RootsError> {
        if self.0.epoch != plan.epoch() {
            return Err(RootsError::OtherEpoch);
        }
        let message = root_message(self.0.epoch, &plan.binding(registry), &self.0.value);
        self.0.verify(registry, b"F.kt", &message)
    }

    /// Encodes as `"MLADSAT2" || lp(id) || BE64(epoch) || root || signature`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes(ANNOUNCEMENT)
    }

    /// Decodes an announcement. [`Self::verify`] verifies the signature.
    ///
    /// # Errors
    /// [`EncodingError::Length`], [`EncodingError::Signature`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        Statement::from_bytes(ANNOUNCEMENT, bytes).map(Self)
    }
}

/// Signed acknowledgement of a list of roots. The journal of the member admits no other list
/// for the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement(pub(super) Statement);

const ACKNOWLEDGEMENT: &[u8; 8] = b"MLADSAA1";

impl Acknowledgement {
    /// The member.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        &self.0.id
    }

    /// Digest of the list.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.0.value
    }

    /// Encodes as `"MLADSAA1" || lp(id) || BE64(epoch) || digest || signature`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes(ACKNOWLEDGEMENT)
    }

    /// Decodes an acknowledgement. [`Self::verify`] verifies the signature.
    ///
    /// # Errors
    /// [`EncodingError::Length`], [`EncodingError::Signature`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        Statement::from_bytes(ACKNOWLEDGEMENT, bytes).map(Self)
    }
}

/// Signed endorsement of the committee of a later epoch by a member of a committee. The journal
/// of the member admits no other committee for that epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endorsement(pub(super) Statement);

const ENDORSEMENT: &[u8; 8] = b"MLADSAC1";

impl Endorsement {
    /// The member.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        &self.0.id
    }

    /// Encodes as `"MLADSAC1" || lp(id) || BE64(epoch) || identity || signature`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes(ENDORSEMENT)
    }

    /// Decodes an endorsement. [`Self::verify`] verifies the signature.
    ///
    /// # Errors
    /// [`EncodingError::Length`], [`EncodingError::Signature`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        Statement::from_bytes(ENDORSEMENT, bytes).map(Self)
    }
}
