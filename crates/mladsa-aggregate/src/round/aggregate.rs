//! The aggregate: encoding and verification.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mldsa_core::{MlDsa87, Signature};

use crate::epoch::agreed::AgreedRoots;
use crate::epoch::authenticate::AuthenticatedKey;
use crate::epoch::merkle::Node;
use crate::epoch::registry::Registry;
use crate::error::{EncodingError, VerifyError};
use crate::member_id::MemberId;
use crate::round::definition::{CommitmentMode, Round};
use crate::wire::framing::{Reader, lp};
use crate::wire::signer_set::SignerSet;
use crate::wire::task::{AttemptId, SigningTask, TaskId, TaskKind};

/// Aggregate: an ordinary ML-DSA-87 signature (4,627 bytes) with the task, the attempt and the
/// signer set. It contains neither the aggregate key nor any root: a verifier computes them.
///
/// A valid aggregate stays valid: the application consumes each pair of domain and task once in
/// each epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    mode: CommitmentMode,
    task: SigningTask,
    attempt: AttemptId,
    epoch: u64,
    signer_set: Box<[u8]>,
    signature: Signature<MlDsa87>,
}

const AGGREGATE: &[u8; 8] = b"MLADSAF2";

impl Aggregate {
    pub(crate) fn new(round: &Round, signature: Signature<MlDsa87>) -> Self {
        Self {
            mode: round.mode(),
            task: round.task().clone(),
            attempt: round.attempt_id().clone(),
            epoch: round.subject().epoch,
            signer_set: round.signer_set().as_bytes().into(),
            signature,
        }
    }

    /// The ordinary ML-DSA-87 signature. Without [`Self::verify`], which computes the aggregate
    /// key, it proves nothing about the signers.
    #[must_use]
    pub fn signature(&self) -> &Signature<MlDsa87> {
        &self.signature
    }

    /// Number of hints of the signature, at most 75.
    #[must_use]
    pub fn hint_weight(&self) -> u8 {
        self.signature.as_bytes().last().copied().unwrap_or(0)
    }

    /// The successful attempt.
    #[must_use]
    pub fn attempt_id(&self) -> &AttemptId {
        &self.attempt
    }

    /// The claimed epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The claimed payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.task.payload()
    }

    /// The claimed signers in id order.
    ///
    /// # Errors
    /// [`VerifyError::Encoding`] for a signer set that does not fit the registry.
    pub fn signers(&self, registry: &Registry) -> Result<Vec<MemberId>, VerifyError> {
        let n = registry.len();
        let set = SignerSet::from_bytes(&self.signer_set, n)?;
        let mut positions = set.positions(n).peekable();
        Ok(registry
            .ids()
            .enumerate()
            .filter_map(|(i, id)| positions.next_if_eq(&i).map(|_| *id))
            .collect())
    }

    /// Verifies that a quorum of the committee signed the expected task: computes the aggregate key from the
    /// signer set and the members' authenticated keys, then verifies the signature. `keys` may
    /// contain the keys of more members, attempts and epochs. Returns the round, which names
    /// the signers.
    ///
    /// The expected task comes from the caller. The claims of the aggregate are compared with
    /// it.
    ///
    /// # Errors
    /// [`VerifyError::OtherTask`], [`VerifyError::OtherEpoch`], [`VerifyError::QuorumMissed`],
    /// [`VerifyError::OpenCommitments`];
    /// [`VerifyError::MissingKey`] if the key of a signer is not in `keys`;
    /// [`VerifyError::Encoding`], [`VerifyError::Round`]; [`VerifyError::InvalidSignature`].
    pub fn verify(
        &self,
        agreed: &AgreedRoots,
        keys: &[AuthenticatedKey],
        task: &SigningTask,
    ) -> Result<Arc<Round>, VerifyError> {
        if self.mode != CommitmentMode::Offset {
            return Err(VerifyError::OpenCommitments);
        }
        self.check_claims(agreed.plan().epoch(), task.id().as_bytes(), task)?;
        let keys = self.signer_keys(agreed.registry(), agreed.digest(), keys)?;
        let round = Round::new(agreed, task, self.attempt.attempt(), keys)?;
        self.verify_round(&round)?;
        Ok(round)
    }

    /// Whether the one-time keys of the signers were revealed by the round.
    #[cfg(feature = "insecure-open-commitments")]
    pub(crate) fn has_open_commitments(&self) -> bool {
        self.mode == CommitmentMode::Open
    }

    /// Compares the claims with the expected epoch, identifier and task.
    pub(crate) fn check_claims(
        &self,
        epoch: u64,
        id: &[u8],
        task: &SigningTask,
    ) -> Result<(), VerifyError> {
        if self.epoch != epoch {
            return Err(VerifyError::OtherEpoch);
        }
        let same = self.attempt.task() == id && self.task.has_content_of(task);
        same.then_some(()).ok_or(VerifyError::OtherTask)
    }

    /// The keys of the signers for this attempt with the given source, if they are a quorum.
    pub(crate) fn signer_keys(
        &self,
        registry: &Registry,
        source: &Node,
        keys: &[AuthenticatedKey],
    ) -> Result<Vec<AuthenticatedKey>, VerifyError> {
        let signers = self.signers(registry)?;
        if !registry.is_quorum(&signers) {
            return Err(VerifyError::QuorumMissed);
        }
        let mut known: Vec<&AuthenticatedKey> = keys
            .iter()
            .filter(|key| key.attempt == self.attempt && key.source == *source)
            .collect();
        known.sort_by_key(|key| key.id);
        let mut known = known.into_iter().peekable();
        signers
            .iter()
            .map(|id| {
                while known.next_if(|key| key.id < *id).is_some() {}
                let key = known.peek().filter(|key| key.id == *id);
                key.map(|key| (*key).clone()).ok_or(VerifyError::MissingKey)
            })
            .collect()
    }

    pub(crate) fn verify_round(&self, round: &Round) -> Result<(), VerifyError> {
        let key = round.aggregate_key();
        key.verify_mu(round.mu(), self.signature.as_bytes())
            .map_err(|_| VerifyError::InvalidSignature)
    }

    /// Encodes as `"MLADSAF2" || mode || kind || lp(domain, task id) || attempt || BE64(epoch)
    /// || lp(payload, signer set) || signature`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = AGGREGATE.to_vec();
        out.push(match self.mode {
            CommitmentMode::Open => 0,
            CommitmentMode::Offset => 1,
        });
        out.push(self.task.kind().code());
        out.extend(lp(&[self.task.domain(), self.attempt.task()]));
        out.push(self.attempt.attempt());
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend(lp(&[self.task.payload(), &self.signer_set]));
        out.extend_from_slice(self.signature.as_bytes());
        out
    }

    /// Decodes an aggregate, also one that [`Self::verify`] rejects for its mode.
    ///
    /// # Errors
    /// [`EncodingError::Length`] for missing or trailing bytes, or a domain or identifier of
    /// wrong length; [`EncodingError::Range`] for an unknown mode or kind or an attempt above
    /// 63; [`EncodingError::Signature`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        let mut reader = Reader::new(bytes, AGGREGATE)?;
        let [mode, kind] = reader.array()?;
        let mode = match mode {
            0 => CommitmentMode::Open,
            1 => CommitmentMode::Offset,
            _ => return Err(EncodingError::Range),
        };
        let kind = match kind {
            0 => TaskKind::Decision,
            1 => TaskKind::Consensus,
            _ => return Err(EncodingError::Range),
        };
        let domain = reader.part()?;
        let id = TaskId::new(reader.part()?)?;
        let [attempt] = reader.array()?;
        let attempt = id.attempt(attempt)?;
        let epoch = u64::from_be_bytes(reader.array()?);
        let task = SigningTask::new(id, kind, domain, reader.part()?)?;
        let signer_set = reader.part()?.into();
        let signature = reader.signature()?;
        reader.end()?;
        Ok(Self {
            mode,
            task,
            attempt,
            epoch,
            signer_set,
            signature,
        })
    }
}
