//! Signed roots: what members publish before anything is opened.

use alloc::vec::Vec;

use mldsa_core::{Hedge, MlDsa87, ParameterSet, Signature};

use crate::epoch::merkle::Hash;
use crate::epoch::tree::EpochTree;
use crate::error::Error;
use crate::keys::member::Member;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};

impl Member {
    /// Signs the root of a tree: what is published before anything is opened.
    ///
    /// # Errors
    /// [`Error::CohortMismatch`] for another member's tree, [`Error::Fault`].
    pub fn announce(&self, tree: &EpochTree, hedge: Hedge<'_>) -> Result<RootAnnouncement, Error> {
        if tree.id != self.id {
            return Err(Error::CohortMismatch);
        }
        let message = root_message(tree.plan.epoch, &tree.root);
        Ok(RootAnnouncement {
            id: self.id,
            epoch: tree.plan.epoch,
            root: tree.root,
            signature: self.sign(b"F.kt", &message, hedge)?,
        })
    }
}

pub(super) fn root_message(epoch: u64, root: &Hash) -> [u8; 64] {
    hash_lp(&[], &[b"F.kt", &epoch.to_be_bytes(), root])
}

/// A member's signed root for an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootAnnouncement {
    pub(super) id: MemberId,
    pub(super) epoch: u64,
    pub(super) root: Hash,
    pub(super) signature: Signature<MlDsa87>,
}

const ANNOUNCEMENT: &[u8; 8] = b"MLADSAT1";

impl RootAnnouncement {
    /// Who announces.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The announced root.
    pub fn root(&self) -> &Hash {
        &self.root
    }

    /// `"MLADSAT1" || lp(id) || BE64(epoch) || root || signature`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = ANNOUNCEMENT.to_vec();
        out.extend(lp(&[self.id.as_bytes()]));
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.root);
        out.extend_from_slice(self.signature.as_bytes());
        out
    }

    /// Reads what [`Self::to_bytes`] wrote. The signature is checked by
    /// [`PinnedRoots::pin`].
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
