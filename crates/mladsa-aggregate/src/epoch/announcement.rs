//! Signed roots: what members publish before anything is opened.

use alloc::vec::Vec;

use mldsa_core::{Context, MlDsa87, ParameterSet, Randomness, Signature};

use crate::epoch::merkle::Hash;
use crate::epoch::plan::EpochPlan;
use crate::epoch::registry::Registry;
use crate::epoch::tree::EpochTree;
use crate::error::Error;
use crate::guard::journal::Guard;
use crate::keys::member::Member;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};

impl Member {
    /// Signs the root of a tree: what is published before anything is opened. From
    /// here on the guard holds the seed to this plan, registry and matrix for the
    /// epoch.
    ///
    /// # Errors
    /// [`Error::CohortMismatch`] for another member's tree, [`Error::UnknownMember`] for
    /// a registry without this member,
    /// [`Error::EpochConflict`] if the seed serves another plan in this epoch,
    /// [`Error::GuardFailure`], [`Error::Fault`].
    pub fn announce(
        &self,
        tree: &EpochTree,
        guard: &mut Guard,
        hedge: Randomness<'_>,
    ) -> Result<RootAnnouncement, Error> {
        if tree.id != self.id || guard.fingerprint() != self.seed.fingerprint() {
            return Err(Error::CohortMismatch);
        }
        tree.registry.position(&self.id)?;
        let (epoch, plan) = (tree.plan.epoch(), tree.plan.binding(&tree.registry));
        guard.bind(epoch, &plan)?;
        let message = root_message(epoch, &plan, tree.root());
        Ok(RootAnnouncement {
            id: self.id,
            epoch,
            root: *tree.root(),
            signature: self.sign(b"F.kt", &message, hedge)?,
        })
    }
}

fn root_message(epoch: u64, plan: &Hash, root: &Hash) -> [u8; 64] {
    hash_lp(&[], &[b"F.kt", &epoch.to_be_bytes(), plan, root])
}

/// A member's signed root for an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootAnnouncement {
    id: MemberId,
    epoch: u64,
    root: Hash,
    signature: Signature<MlDsa87>,
}

const ANNOUNCEMENT: &[u8; 8] = b"MLADSAT2";

impl RootAnnouncement {
    /// Who announces.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The announced root.
    pub fn root(&self) -> &Hash {
        &self.root
    }

    /// Whether its member announces this for that plan: for telling one bad
    /// announcement from the others.
    ///
    /// # Errors
    /// [`Error::UnknownMember`], [`Error::OutOfRange`] for another epoch,
    /// [`Error::BadTreeSignature`].
    pub fn verify(&self, registry: &Registry, plan: &EpochPlan) -> Result<(), Error> {
        let key = registry.key(&self.id)?;
        if self.epoch != plan.epoch() {
            return Err(Error::OutOfRange);
        }
        let ctx = Context::new(b"F.kt").map_err(|_| Error::BadLength)?;
        let message = root_message(self.epoch, &plan.binding(registry), &self.root);
        key.verify(&message, ctx, self.signature.as_ref())
            .map_err(|_| Error::BadTreeSignature)
    }

    /// `"MLADSAT2" || lp(id) || BE64(epoch) || root || signature`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = ANNOUNCEMENT.to_vec();
        out.extend(lp(&[self.id.as_bytes()]));
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.root);
        out.extend_from_slice(self.signature.as_bytes());
        out
    }

    /// Reads what [`Self::to_bytes`] wrote. The signature is checked by
    /// [`Self::verify`].
    ///
    /// # Errors
    /// [`Error::BadLength`]; [`Error::BadTreeSignature`] for a malformed
    /// signature.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, ANNOUNCEMENT)?;
        let id = MemberId::new(reader.part()?)?;
        let epoch = u64::from_be_bytes(reader.array()?);
        let root = reader.array()?;
        let signature = reader.take(MlDsa87::SIG_LEN)?;
        let signature = Signature::from_bytes(signature).map_err(|_| Error::BadTreeSignature)?;
        reader.end()?;
        Ok(Self {
            id,
            epoch,
            root,
            signature,
        })
    }
}
