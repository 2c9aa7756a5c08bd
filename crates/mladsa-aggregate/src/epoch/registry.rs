//! Registration of members, and the registry of a committee.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{MlDsa87, ParameterSet, Randomness, Signature, VerifyingKey};

use crate::epoch::merkle::{Node, leaves, root};
use crate::epoch::quorum::{Quorum, Threshold};
use crate::error::{EncodingError, RegistrationError};
use crate::keys::matrix::Matrix;
use crate::keys::member::{Member, is_signed};
use crate::keys::scope::Scope;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};

impl Member {
    /// Signs the registration key with itself: the proof of possession, under the context
    /// `F.pop`.
    ///
    /// # Errors
    /// [`RegistrationError::SigningFault`].
    pub fn register(&self, hedge: Randomness<'_>) -> Result<Registration, RegistrationError> {
        let key = self.registration_key.verifying_key().clone();
        let proof = self.sign(b"F.pop", &proof_message(&self.id, &key), hedge);
        Ok(Registration {
            id: self.id,
            key,
            proof: proof.ok_or(RegistrationError::SigningFault)?,
        })
    }
}

/// Registration key of a member with its proof of possession, published once.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    id: MemberId,
    key: VerifyingKey<MlDsa87>,
    proof: Signature<MlDsa87>,
}

const REGISTRATION: &[u8; 8] = b"MLADSAR1";

impl Registration {
    /// The name.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The registration key.
    #[must_use]
    pub fn key(&self) -> &VerifyingKey<MlDsa87> {
        &self.key
    }

    /// Encodes as `"MLADSAR1" || lp(id) || key || proof`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = REGISTRATION.to_vec();
        out.extend(lp(&[self.id.as_bytes()]));
        out.extend_from_slice(self.key.as_bytes());
        out.extend_from_slice(self.proof.as_bytes());
        out
    }

    /// Decodes a registration. [`Registry::new`] verifies the proof.
    ///
    /// # Errors
    /// [`EncodingError::Length`], [`EncodingError::Signature`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        let mut reader = Reader::new(bytes, REGISTRATION)?;
        let id = MemberId::new(reader.part()?)?;
        let key = reader.take(MlDsa87::PK_LEN)?;
        let key = VerifyingKey::from_bytes(key).map_err(|_| EncodingError::Length)?;
        let proof = reader.signature()?;
        reader.end()?;
        Ok(Self { id, key, proof })
    }
}

fn proof_message(id: &MemberId, key: &VerifyingKey<MlDsa87>) -> [u8; 64] {
    hash_lp(&[], &[b"F.pop", id.as_bytes(), key.as_bytes()])
}

/// Registered members of a committee in id order, with the matrix that they share and the
/// threshold. All proofs of possession of a value of this type are verified.
pub struct Registry {
    matrix: Matrix,
    entries: Vec<(MemberId, VerifyingKey<MlDsa87>)>,
    root: Node,
    quorum: Quorum,
}

impl Registry {
    /// Maximum number of members.
    pub const MAX_MEMBERS: usize = 8192;

    /// Verifies every proof of possession. `rho` is the public seed of the matrix.
    ///
    /// # Errors
    /// [`RegistrationError::NoMembers`], [`RegistrationError::TooManyMembers`],
    /// [`RegistrationError::InvalidProof`], [`RegistrationError::DuplicateMember`];
    /// [`RegistrationError::Threshold`], [`RegistrationError::UnknownMember`] for the threshold.
    pub fn new(
        rho: &[u8; 32],
        registrations: impl IntoIterator<Item = Registration>,
        threshold: &Threshold,
    ) -> Result<Arc<Self>, RegistrationError> {
        let mut entries = Vec::new();
        for Registration { id, key, proof } in registrations {
            if entries.len() == Self::MAX_MEMBERS {
                return Err(RegistrationError::TooManyMembers);
            }
            if !is_signed(&key, b"F.pop", &proof_message(&id, &key), proof.as_ref()) {
                return Err(RegistrationError::InvalidProof);
            }
            entries.push((id, key));
        }
        entries.sort_by_key(|(id, _)| *id);
        if entries
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.0 == b.0))
        {
            return Err(RegistrationError::DuplicateMember);
        }
        let parts: Vec<_> = entries
            .iter()
            .map(|(id, key)| ([id.as_bytes()], key.as_bytes().as_slice()))
            .collect();
        let root = root(&leaves(&parts)).ok_or(RegistrationError::NoMembers)?;
        let ids: Vec<_> = entries.iter().map(|(id, _)| id).collect();
        let quorum = Quorum::new(threshold, &ids)?;
        Ok(Arc::new(Self {
            matrix: Matrix::expand(rho),
            entries,
            root,
            quorum,
        }))
    }

    /// Scope of the labels of `epoch`.
    pub(crate) fn scope(&self, epoch: u64) -> Scope {
        Scope::new(self.matrix.rho(), epoch, &self.root)
    }

    pub(crate) fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The Merkle root over all names and keys.
    #[must_use]
    pub fn root(&self) -> &[u8; 32] {
        &self.root
    }

    /// Identity of this committee in an epoch: digest of the scheme, the matrix, the names and
    /// registration keys, the weights, the threshold and the epoch. A verifier pins it: see
    /// [`AgreedRoots::from_pin`](crate::AgreedRoots::from_pin).
    #[must_use]
    pub fn identity(&self, epoch: u64) -> [u8; 32] {
        let (rho, epoch, quorum) = (
            self.matrix.rho(),
            epoch.to_be_bytes(),
            self.quorum.to_bytes(),
        );
        let parts: [&[u8]; 5] = [b"ML-ADSA-87", rho, &self.root, &epoch, &quorum];
        hash_lp(b"MLADSA committee", &parts)
    }

    /// Whether members of this registry, each named once, reach its threshold.
    pub(crate) fn is_quorum<'a>(&self, signers: impl IntoIterator<Item = &'a MemberId>) -> bool {
        let positions = signers.into_iter().filter_map(|id| self.position(id));
        self.quorum.is_met(positions)
    }

    /// The number of members.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The members in id order, which is the order of the bits of a signer set.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &MemberId> {
        self.entries.iter().map(|(id, _)| id)
    }

    /// The registration key of a member.
    #[must_use]
    pub fn key(&self, id: &MemberId) -> Option<&VerifyingKey<MlDsa87>> {
        let (_, key) = self.entries.get(self.position(id)?)?;
        Some(key)
    }

    pub(crate) fn position(&self, id: &MemberId) -> Option<usize> {
        let entries = &self.entries;
        entries.binary_search_by_key(id, |(id, _)| *id).ok()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry({} members)", self.len())
    }
}
