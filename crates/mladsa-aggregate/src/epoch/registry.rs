//! Members and their registration: who may take part at all.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{Context, MlDsa87, ParameterSet, Randomness, Signature, VerifyingKey};

use crate::epoch::merkle::{Hash, leaves, root};
use crate::error::Error;
use crate::keys::matrix::Matrix;
use crate::keys::member::Member;
use crate::keys::scope::Scope;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};

/// Members in a registry.
pub const MAX_MEMBERS: usize = 8192;

impl Member {
    /// The registration key with its proof of possession.
    ///
    /// # Errors
    /// [`Error::Fault`] if signing fails.
    pub fn register(&self, hedge: Randomness<'_>) -> Result<Registration, Error> {
        let key = self.registration_key.verifying_key().clone();
        let pop = self.sign(b"F.pop", &pop_message(&self.id, &key), hedge)?;
        Ok(Registration {
            id: self.id,
            key,
            pop,
        })
    }
}

/// What a member publishes once: its registration key and proof of possession.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    id: MemberId,
    key: VerifyingKey<MlDsa87>,
    pop: Signature<MlDsa87>,
}

const REGISTRATION: &[u8; 8] = b"MLADSAR1";

impl Registration {
    /// The name.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The registration key.
    pub fn key(&self) -> &VerifyingKey<MlDsa87> {
        &self.key
    }

    /// The proof of possession, an ordinary ML-DSA-87 signature under the context
    /// `F.pop`.
    pub fn proof_of_possession(&self) -> &Signature<MlDsa87> {
        &self.pop
    }

    /// `"MLADSAR1" || lp(id) || key || proof`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = REGISTRATION.to_vec();
        out.extend(lp(&[self.id.as_bytes()]));
        out.extend_from_slice(self.key.as_bytes());
        out.extend_from_slice(self.pop.as_bytes());
        out
    }

    /// Reads what [`Self::to_bytes`] wrote. The proof is checked by
    /// [`Registry::new`].
    ///
    /// # Errors
    /// [`Error::BadLength`]; [`Error::BadPoP`] for a malformed proof.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, REGISTRATION)?;
        let id = MemberId::new(reader.part()?)?;
        let key = reader.take(MlDsa87::PK_LEN)?;
        let key = VerifyingKey::from_bytes(key).map_err(|_| Error::BadLength)?;
        let pop = reader.take(MlDsa87::SIG_LEN)?;
        let pop = Signature::from_bytes(pop).map_err(|_| Error::BadPoP)?;
        reader.end()?;
        Ok(Self { id, key, pop })
    }
}

fn pop_message(id: &MemberId, key: &VerifyingKey<MlDsa87>) -> [u8; 64] {
    hash_lp(&[], &[b"F.pop", id.as_bytes(), key.as_bytes()])
}

/// The members of a committee in id order, with the matrix they share. Holding
/// one means that every proof of possession was checked.
pub struct Registry {
    matrix: Matrix,
    entries: Vec<(MemberId, VerifyingKey<MlDsa87>)>,
    root: Hash,
}

impl Registry {
    /// Checks every proof of possession.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`], [`Error::TooManyMembers`], [`Error::BadPoP`],
    /// [`Error::DuplicateId`].
    pub fn new(
        rho: &[u8; 32],
        registrations: impl IntoIterator<Item = Registration>,
    ) -> Result<Arc<Self>, Error> {
        let ctx = Context::new(b"F.pop").map_err(|_| Error::BadLength)?;
        let mut entries = Vec::new();
        for Registration { id, key, pop } in registrations {
            if entries.len() == MAX_MEMBERS {
                return Err(Error::TooManyMembers);
            }
            key.verify(&pop_message(&id, &key), ctx, pop.as_ref())
                .map_err(|_| Error::BadPoP)?;
            entries.push((id, key));
        }
        entries.sort_by_key(|(id, _)| *id);
        if entries
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.0 == b.0))
        {
            return Err(Error::DuplicateId);
        }
        let parts: Vec<_> = entries
            .iter()
            .map(|(id, key)| ([id.as_bytes()], key.as_bytes().as_slice()))
            .collect();
        let root = root(&leaves(&parts))?;
        Ok(Arc::new(Self {
            matrix: Matrix::expand(rho),
            entries,
            root,
        }))
    }

    /// Where labels of `epoch` are used.
    pub(crate) fn scope(&self, epoch: u64) -> Scope {
        Scope::new(self.matrix.rho(), epoch, &self.root)
    }

    /// The shared matrix.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The root over all entries.
    pub fn root(&self) -> &Hash {
        &self.root
    }

    /// How many members.
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The members in id order: the order of the aggregation bits.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &MemberId> {
        self.entries.iter().map(|(id, _)| id)
    }

    /// The registration key of a member.
    ///
    /// # Errors
    /// [`Error::UnknownMember`].
    pub fn key(&self, id: &MemberId) -> Result<&VerifyingKey<MlDsa87>, Error> {
        let (_, key) = self
            .entries
            .get(self.position(id)?)
            .ok_or(Error::UnknownMember)?;
        Ok(key)
    }

    pub(crate) fn position(&self, id: &MemberId) -> Result<usize, Error> {
        self.entries
            .binary_search_by_key(id, |(id, _)| *id)
            .map_err(|_| Error::UnknownMember)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry({} members)", self.len())
    }
}
