//! Registration of a member for one epoch.

use mldsa_core::{MlDsa87, ParameterSet, Randomness, Signature, VerifyingKey};

use alloc::vec::Vec;

use crate::committee::epoch::Epoch;
use crate::committee::member::{Member, is_signed};
use crate::committee::merkle::Node;
use crate::error::{CommitteeError, EncodingError};
use crate::member_id::MemberName;
use crate::wire::framing::{Reader, hash_lp, lp};

/// What a member publishes for one epoch: its registration key, the Merkle root over its one-time
/// keys, and the proof of possession, which is a signature on both with the registration key.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    pub(super) id: MemberName,
    pub(super) key: VerifyingKey<MlDsa87>,
    pub(super) root: Node,
    pub(super) proof: Signature<MlDsa87>,
}

const REGISTRATION: &[u8; 8] = b"MLADSAR2";

impl Member {
    /// Signs the registration key and the root of the one-time keys of the epoch with the
    /// registration key, under the context `F.pop`.
    ///
    /// # Errors
    /// [`CommitteeError::SigningFault`].
    pub fn register(&self, hedge: Randomness<'_>) -> Result<Registration, CommitteeError> {
        let key = self.registration_key.verifying_key().clone();
        let message = proof_message(&self.epoch, &self.id, &key, self.root());
        let proof = self.sign(b"F.pop", &message, hedge);
        Ok(Registration {
            id: self.id,
            key,
            root: *self.root(),
            proof: proof.ok_or(CommitteeError::SigningFault)?,
        })
    }
}

impl Registration {
    /// Returns the name.
    pub fn id(&self) -> &MemberName {
        &self.id
    }

    /// Verifies the proof of possession.
    ///
    /// # Errors
    /// [`CommitteeError::InvalidProof`], also for a registration for another epoch.
    pub fn verify(&self, epoch: &Epoch) -> Result<(), CommitteeError> {
        let message = proof_message(epoch, &self.id, &self.key, &self.root);
        is_signed(&self.key, b"F.pop", &message, self.proof.as_ref())
            .then_some(())
            .ok_or(CommitteeError::InvalidProof)
    }

    /// Encodes as `"MLADSAR2" || lp(id) || key || root || proof`: 7,263 bytes and the name.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = REGISTRATION.to_vec();
        self.write(&mut out);
        out
    }

    /// Decodes a registration. [`Self::verify`] verifies the proof.
    ///
    /// # Errors
    /// [`EncodingError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        let mut reader = Reader::new(bytes, REGISTRATION)?;
        let registration = Self::read(&mut reader)?;
        reader.end()?;
        Ok(registration)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(lp(&[self.id.as_bytes()]));
        out.extend_from_slice(self.key.as_bytes());
        out.extend_from_slice(&self.root);
        out.extend_from_slice(self.proof.as_bytes());
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, EncodingError> {
        let id = MemberName::new(reader.part()?)?;
        let key = reader.take(MlDsa87::PK_LEN)?;
        let key = VerifyingKey::from_bytes(key).map_err(|_| EncodingError::Length)?;
        Ok(Self {
            id,
            key,
            root: reader.array()?,
            proof: reader.signature()?,
        })
    }
}

/// Computes `SHAKE256(lp("F.pop", id, key, epoch parameters, root), 64)`.
fn proof_message(
    epoch: &Epoch,
    id: &MemberName,
    key: &VerifyingKey<MlDsa87>,
    root: &Node,
) -> [u8; 64] {
    let (rho, epoch) = (&epoch.matrix.rho, epoch.to_bytes());
    let parts: [&[u8]; 6] = [b"F.pop", id.as_bytes(), key.as_bytes(), rho, &epoch, root];
    hash_lp(&[], &parts)
}
