//! Scope of rounds with open commitments: which key may sign which message.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write;

use mldsa_core::internals::Poly;
use mldsa_core::{MlDsa87, Randomness, Signature};

use crate::epoch::authenticate::AuthenticatedKey;
use crate::epoch::merkle::{Node, leaf, leaves};
use crate::epoch::message::{SignedMessage, Subject};
use crate::epoch::proof::verify;
use crate::epoch::registry::Registry;
use crate::epoch::tree::leaf_parts;
use crate::epoch::write_once::WriteOnceStore;
use crate::error::{EncodingError, RoundError, StorageError, VerifyError};
use crate::journal::one_time::OneTimeKeyJournal;
use crate::keys::member::{Member, is_signed};
use crate::keys::one_time_key::OneTimePublicKey;
use crate::keys::scope::{EpochLabel, Scope};
use crate::member_id::MemberId;
use crate::round::aggregate::Aggregate;
use crate::round::definition::{CommitmentMode, Round, Setting};
use crate::wire::framing::{hash_lp, lp};
use crate::wire::task::{AttemptId, SigningTask};

/// Registry and epoch of rounds with open commitments. The one-time key of a task depends on its
/// payload.
#[derive(Clone, Debug)]
pub struct OpenCommitments {
    registry: Arc<Registry>,
    epoch: u64,
}

impl OpenCommitments {
    /// Rounds of this registry in this epoch.
    #[must_use]
    pub fn new(registry: &Arc<Registry>, epoch: u64) -> Self {
        Self {
            registry: Arc::clone(registry),
            epoch,
        }
    }

    /// The identifier of an attempt at a task, bound to its domain and payload.
    ///
    /// # Errors
    /// [`EncodingError::Range`] for an attempt above 63.
    pub fn attempt_id(&self, task: &SigningTask, attempt: u8) -> Result<AttemptId, EncodingError> {
        self.bind(task).id().attempt(attempt)
    }

    fn bind(&self, task: &SigningTask) -> SigningTask {
        task.bound(self.registry.root(), self.epoch)
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Source of the authenticated keys, in the place of a list of roots.
    pub(crate) fn source(&self) -> Node {
        let epoch = self.epoch.to_be_bytes();
        let rho = self.registry.matrix().rho();
        hash_lp(b"MLADSA base", &[rho, self.registry.root(), &epoch])
    }

    fn scope(&self) -> Scope {
        let registry = &self.registry;
        Scope::open(registry.matrix().rho(), self.epoch, registry.root())
    }

    pub(crate) fn label(&self, attempt: &AttemptId) -> EpochLabel {
        self.scope().label(attempt.as_bytes())
    }

    fn subject(&self, attempt: &AttemptId) -> Subject {
        Subject {
            epoch: self.epoch,
            roots: self.source(),
            attempt: attempt.clone(),
        }
    }

    /// Decodes a message of a member and verifies its signature, epoch and mode.
    ///
    /// # Errors
    /// As [`AgreedRoots::receive`](crate::AgreedRoots::receive).
    pub fn receive(&self, bytes: &[u8]) -> Result<SignedMessage, RoundError> {
        let message = SignedMessage::receive(bytes, &self.registry)?;
        (*message.subject() == self.subject(message.attempt_id()))
            .then_some(message)
            .ok_or(RoundError::OtherRound)
    }

    /// Authenticates a one-time key that its member signed with both keys.
    ///
    /// # Errors
    /// [`RoundError::UnknownMember`], [`RoundError::InvalidKeyProof`].
    pub fn authenticate(
        &self,
        id: &MemberId,
        attempt: &AttemptId,
        signed: &SignedKey,
    ) -> Result<AuthenticatedKey, RoundError> {
        let (label, public_key) = (self.label(attempt), &signed.public_key);
        let key = self.registry.key(id).ok_or(RoundError::UnknownMember)?;
        let message = message(id, &label, public_key);
        if !is_signed(key, b"F.ck", &message, signed.signature.as_ref()) {
            return Err(RoundError::InvalidKeyProof);
        }
        let matrix = self.registry.matrix();
        verify(matrix, id, &label, public_key, signed.proof.as_ref())?;
        Ok(AuthenticatedKey {
            id: *id,
            attempt: attempt.clone(),
            leaf: leaf(&leaf_parts(id, &label, public_key)),
            public_key: public_key.clone(),
            source: self.source(),
        })
    }

    /// Keys that the calling process has derived itself.
    pub(crate) fn own_keys<'a>(
        &self,
        attempt: &AttemptId,
        ids: impl Iterator<Item = &'a MemberId> + Clone,
        public_keys: Vec<OneTimePublicKey>,
    ) -> Vec<AuthenticatedKey> {
        let label = self.label(attempt);
        let parts: Vec<_> = ids
            .clone()
            .zip(&public_keys)
            .map(|(id, public_key)| leaf_parts(id, &label, public_key))
            .collect();
        let source = self.source();
        ids.zip(leaves(&parts))
            .zip(public_keys)
            .map(|((id, leaf), public_key)| AuthenticatedKey {
                id: *id,
                attempt: attempt.clone(),
                leaf,
                public_key,
                source,
            })
            .collect()
    }

    /// A round with open commitments.
    ///
    /// # Errors
    /// Those of [`Round::new`].
    pub fn round(
        &self,
        task: &SigningTask,
        attempt: u8,
        keys: impl IntoIterator<Item = AuthenticatedKey>,
    ) -> Result<Arc<Round>, RoundError> {
        self.round_with(task, attempt, keys.into_iter().collect(), None)
    }

    /// [`Self::round`] with the known sum of all t.
    pub(crate) fn round_with(
        &self,
        task: &SigningTask,
        attempt: u8,
        keys: Vec<AuthenticatedKey>,
        t: Option<&[Poly]>,
    ) -> Result<Arc<Round>, RoundError> {
        let setting = Setting {
            registry: &self.registry,
            scope: self.scope(),
            subject: self.subject(&self.attempt_id(task, attempt)?),
            mode: CommitmentMode::Open,
            width: None,
            t,
        };
        Round::assemble(setting, &self.bind(task), keys)
    }

    /// Verifies that a quorum signed the expected task, and consumes the task: another payload
    /// for it is rejected from then on.
    ///
    /// # Errors
    /// [`VerifyError::TaskConsumed`], [`VerifyError::OtherTask`] also for an aggregate with
    /// offset commitments, [`VerifyError::Storage`], and those of [`Aggregate::verify`].
    pub fn verify<S: WriteOnceStore + ?Sized>(
        &self,
        aggregate: &Aggregate,
        keys: &[AuthenticatedKey],
        task: &SigningTask,
        consumed: &mut S,
    ) -> Result<Arc<Round>, VerifyError> {
        if !aggregate.has_open_commitments() {
            return Err(VerifyError::OtherTask);
        }
        let attempt = aggregate.attempt_id().attempt();
        let expected = self.attempt_id(task, attempt)?;
        aggregate.check_claims(self.epoch, expected.task(), task)?;
        let keys = aggregate.signer_keys(&self.registry, &self.source(), keys)?;
        let round = self.round(task, attempt, keys)?;
        aggregate.verify_round(&round)?;
        match consumed.write(&consumed_name(task), &task.digest()) {
            Err(StorageError::OtherValue) => Err(VerifyError::TaskConsumed),
            result => Ok(result.map(|()| round)?),
        }
    }
}

/// Name of a domain and task among the consumed ones.
fn consumed_name(task: &SigningTask) -> String {
    let hash: Node = hash_lp(&[], &[&lp(&[task.domain(), task.id().as_bytes()])]);
    let mut name = String::from("decided-");
    for byte in hash {
        // Writing to a string does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// One-time public key, signed with the registration key and with itself.
#[derive(Clone, Debug)]
pub struct SignedKey {
    public_key: OneTimePublicKey,
    signature: Signature<MlDsa87>,
    proof: Signature<MlDsa87>,
}

impl Member {
    /// Publishes the one-time key of `attempt` for a round with open commitments. The journal
    /// binds the seed to this registry, matrix and mode for the epoch first. `rnd` is 64 fresh
    /// random bytes.
    ///
    /// # Errors
    /// [`RoundError::Journal`], [`RoundError::Fault`].
    pub fn sign_one_time_key(
        &self,
        open: &OpenCommitments,
        attempt: &AttemptId,
        journal: &mut OneTimeKeyJournal,
        hedge: Randomness<'_>,
        rnd: &[u8; 64],
    ) -> Result<SignedKey, RoundError> {
        journal.check_seed(&self.seed)?;
        let source = open.source();
        journal.acknowledge(open.epoch, &source, &source)?;
        let (matrix, label) = (open.registry.matrix(), open.label(attempt));
        let public_key = OneTimePublicKey::derive(matrix, &self.seed, &label);
        let message = message(&self.id, &label, &public_key);
        let signature = self.sign(b"F.ck", &message, hedge);
        let proof = self.prove(matrix, &label, rnd);
        Ok(SignedKey {
            signature: signature.ok_or(RoundError::Fault)?,
            proof: proof.ok_or(RoundError::Fault)?,
            public_key,
        })
    }
}

pub(crate) fn message(
    id: &MemberId,
    label: &EpochLabel,
    public_key: &OneTimePublicKey,
) -> [u8; 64] {
    let (id, label, key) = (id.as_bytes(), label.as_bytes(), public_key.as_bytes());
    hash_lp(&[], &[b"F.ck", id, label, key])
}
