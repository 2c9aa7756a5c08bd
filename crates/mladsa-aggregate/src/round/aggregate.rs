//! The aggregate: encoding and verification.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mldsa_core::{MlDsa87, ParameterSet, Signature};

use crate::committee::epoch::AttemptId;
use crate::committee::full::SigningCommittee;
use crate::committee::opening::AuthenticatedKey;
use crate::committee::view::CommitteeView;
use crate::error::{AggregateError, EncodingError};
use crate::member_id::MemberName;
use crate::round::definition::Round;
use crate::round::task::{SigningTask, TaskKind};
use crate::wire::framing::{Reader, lp};
use crate::wire::signer_set::SignerSet;

/// Aggregate: an ordinary ML-DSA-87 signature (4,627 bytes) with the task, the attempt and the
/// signer set. It contains neither the aggregate key nor any root: a verifier computes them.
///
/// A valid aggregate stays valid: the application consumes each slot of an epoch once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    task: SigningTask,
    attempt: u8,
    epoch: u64,
    signer_set: Box<[u8]>,
    signature: Signature<MlDsa87>,
}

const AGGREGATE: &[u8; 8] = b"MLADSAF3";

impl Aggregate {
    pub(crate) fn new(round: &Round, signature: Signature<MlDsa87>) -> Self {
        Self {
            task: round.task().clone(),
            attempt: round.attempt_id().number,
            epoch: round.epoch.number(),
            signer_set: round.signer_set.as_bytes().into(),
            signature,
        }
    }

    /// Returns the ordinary ML-DSA-87 signature. Without [`Self::verify`], which computes the
    /// aggregate key, it proves nothing about the signers.
    pub fn signature(&self) -> &Signature<MlDsa87> {
        &self.signature
    }

    /// Returns the number of hints of the signature, at most 75.
    pub fn hint_weight(&self) -> u8 {
        self.signature.as_bytes()[MlDsa87::SIG_LEN - 1]
    }

    /// Returns the successful attempt.
    pub fn attempt_id(&self) -> AttemptId {
        AttemptId {
            slot: self.task.slot(),
            number: self.attempt,
        }
    }

    /// Returns the claimed epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the claimed payload.
    pub fn payload(&self) -> &[u8] {
        self.task.payload()
    }

    /// Returns the claimed signers in the order of the names.
    ///
    /// # Errors
    /// [`AggregateError::Encoding`] for a signer set that does not fit the committee.
    pub fn signers(&self, committee: &SigningCommittee) -> Result<Vec<MemberName>, AggregateError> {
        let positions = self.positions(committee.view())?;
        let mut positions = positions.into_iter().peekable();
        let members = committee.members().enumerate();
        let signers = members.filter_map(|(at, (id, _))| positions.next_if_eq(&at).map(|_| *id));
        Ok(signers.collect())
    }

    pub(crate) fn positions(
        &self,
        committee: &CommitteeView,
    ) -> Result<Vec<usize>, AggregateError> {
        let n = committee.len();
        let set = SignerSet::from_bytes(&self.signer_set, n)?;
        Ok(set.positions(n).collect())
    }

    /// Verifies that signers of the weight of the threshold signed the expected task: computes the
    /// aggregate key from the signer set and the members' authenticated keys, then verifies the
    /// signature. `keys` may contain the keys of more members, attempts and epochs. Returns the
    /// round, which names the signers.
    ///
    /// The expected task comes from the caller. The claims of the aggregate are compared with it.
    ///
    /// # Errors
    /// [`AggregateError::OtherTask`], [`AggregateError::OtherEpoch`], [`AggregateError::QuorumMissed`];
    /// [`AggregateError::MissingKey`] if the key of a signer is not in `keys`;
    /// [`AggregateError::Encoding`], [`AggregateError::Round`]; [`AggregateError::InvalidSignature`].
    pub fn verify(
        &self,
        committee: &CommitteeView,
        keys: &[AuthenticatedKey],
        task: &SigningTask,
    ) -> Result<Arc<Round>, AggregateError> {
        if self.epoch != committee.epoch().number() {
            return Err(AggregateError::OtherEpoch);
        }
        if self.task != *task {
            return Err(AggregateError::OtherTask);
        }
        let (attempt, source) = (self.attempt_id(), committee.identity());
        let mut known: Vec<&AuthenticatedKey> = keys
            .iter()
            .filter(|key| key.attempt == attempt && key.source == *source)
            .collect();
        known.sort_by_key(|key| key.position);
        let key_of = |at: usize| {
            let found = known.binary_search_by_key(&at, |key| key.position).ok();
            let key = found.and_then(|found| known.get(found));
            key.map(|key| (*key).clone())
                .ok_or(AggregateError::MissingKey)
        };
        let keys = self.positions(committee)?.into_iter().map(key_of);
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let weight: u128 = keys.iter().map(|key| u128::from(key.weight)).sum();
        if weight < u128::from(committee.threshold()) {
            return Err(AggregateError::QuorumMissed);
        }
        let round = Round::new(committee, task, self.attempt, keys)?;
        let verdict = round
            .aggregate_key()
            .verify_mu(round.mu(), self.signature.as_bytes());
        verdict.map_err(|_| AggregateError::InvalidSignature)?;
        Ok(round)
    }

    /// Encodes as `"MLADSAF3" || kind || BE32(slot) || attempt || BE64(epoch) || lp(payload,
    /// signer set) || signature`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = AGGREGATE.to_vec();
        out.push(self.task.kind as u8);
        out.extend_from_slice(&self.attempt_id().to_bytes());
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend(lp(&[self.task.payload(), &self.signer_set]));
        out.extend_from_slice(self.signature.as_bytes());
        out
    }

    /// Decodes an aggregate, of which nothing is verified.
    ///
    /// # Errors
    /// [`EncodingError::Length`] for missing or trailing bytes; [`EncodingError::Range`] for an
    /// unknown kind or an attempt above 63; [`EncodingError::Signature`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        let mut reader = Reader::new(bytes, AGGREGATE)?;
        let kind = match reader.array()? {
            [0] => TaskKind::Decision,
            [1] => TaskKind::Consensus,
            _ => return Err(EncodingError::Range),
        };
        let attempt = AttemptId::read(&mut reader)?;
        let epoch = u64::from_be_bytes(reader.array()?);
        let task = SigningTask::new(attempt.slot, kind, reader.part()?);
        let signer_set = reader.part()?.into();
        let signature = reader.signature()?;
        reader.end()?;
        Ok(Self {
            task,
            attempt: attempt.number,
            epoch,
            signer_set,
            signature,
        })
    }
}
