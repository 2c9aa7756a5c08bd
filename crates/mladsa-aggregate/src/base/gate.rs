//! The gate of base mode: who may sign what under which label.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write;

use mldsa_core::{Context, MlDsa87, Randomness, Signature};

use crate::epoch::agreed::AuthenticatedKey;
use crate::epoch::merkle::{Hash, leaf, leaves};
use crate::epoch::message::{Message, Subject};
use crate::epoch::pins::PinStore;
use crate::epoch::policy::Policy;
use crate::epoch::proof::verify;
use crate::epoch::registry::Registry;
use crate::epoch::tree::leaf_parts;
use crate::error::Error;
use crate::guard::journal::Guard;
use crate::keys::content_key::{ContentKey, ContentPublicKey};
use crate::keys::member::Member;
use crate::keys::scope::{EpochLabel, Scope};
use crate::member_id::MemberId;
use crate::round::aggregate::Aggregate;
use crate::round::cohort::{Decision, Mode, Parts, Round};
use crate::wire::framing::{hash_lp, lp};
use crate::wire::label::{BaseLabel, ContentLabel};

/// Where base mode may run: a registry, an epoch and an application label, from
/// which the only admissible content label of a payload follows.
#[derive(Clone, Debug)]
pub struct Gate {
    registry: Arc<Registry>,
    epoch: u64,
    base: BaseLabel,
}

impl Gate {
    /// The gate for the application's label `base`.
    pub fn new(registry: &Arc<Registry>, epoch: u64, base: BaseLabel) -> Self {
        Self {
            registry: Arc::clone(registry),
            epoch,
            base,
        }
    }

    /// The content label of a decision: bound to its domain and payload.
    ///
    /// # Errors
    /// [`Error::ModeRefused`] for another base label than this gate's,
    /// [`Error::AttemptsExhausted`].
    pub fn label(&self, decision: &Decision<'_>, attempt: u8) -> Result<ContentLabel, Error> {
        if *decision.label != self.base {
            return Err(Error::ModeRefused);
        }
        let (ctx, payload) = (decision.ctx, decision.payload);
        self.base
            .bound(ctx, payload, self.registry.root(), self.epoch)
            .attempt(attempt)
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// What vouches for a key of base mode.
    pub(crate) fn source(&self) -> Hash {
        let epoch = self.epoch.to_be_bytes();
        let rho = self.registry.matrix().rho();
        hash_lp(b"MLADSA base", &[rho, self.registry.root(), &epoch])
    }

    fn scope(&self) -> Scope {
        Scope::base(
            self.registry.matrix().rho(),
            self.epoch,
            self.registry.root(),
        )
    }

    pub(crate) fn epoch_label(&self, label: &ContentLabel) -> EpochLabel {
        self.scope().label(label.as_bytes())
    }

    /// Reads a message of a member and checks its signature, and that it is of this
    /// epoch and mode.
    ///
    /// # Errors
    /// As [`AgreedRoots::receive`](crate::AgreedRoots::receive).
    pub fn receive(&self, bytes: &[u8]) -> Result<Message, Error> {
        let message = Message::receive(bytes, &self.registry)?;
        let subject = message.subject();
        (*subject == self.subject(&subject.label))
            .then_some(message)
            .ok_or(Error::OtherRound)
    }

    fn subject(&self, label: &ContentLabel) -> Subject {
        Subject {
            epoch: self.epoch,
            roots: self.source(),
            label: label.clone(),
        }
    }

    /// Accepts a content key that its member signed with both keys.
    ///
    /// # Errors
    /// [`Error::UnknownMember`], [`Error::BadKeyProof`].
    pub fn authenticate(
        &self,
        id: &MemberId,
        label: &ContentLabel,
        signed: &SignedKey,
    ) -> Result<AuthenticatedKey, Error> {
        let ctx = Context::new(b"F.ck").map_err(|_| Error::BadLength)?;
        let epoch_label = self.epoch_label(label);
        let message = message(id, &epoch_label, &signed.public_key);
        self.registry
            .key(id)?
            .verify(&message, ctx, signed.signature.as_ref())
            .map_err(|_| Error::BadKeyProof)?;
        let (matrix, public_key) = (self.registry.matrix(), &signed.public_key);
        verify(matrix, id, &epoch_label, public_key, signed.proof.as_ref())?;
        Ok(AuthenticatedKey {
            id: *id,
            label: label.clone(),
            leaf: leaf(&leaf_parts(id, &epoch_label, public_key)),
            public_key: public_key.clone(),
            source: self.source(),
        })
    }

    /// The keys that `ids` have derived themselves, which nobody else has to vouch
    /// for.
    pub(crate) fn own_keys<'a>(
        &self,
        label: &ContentLabel,
        ids: impl Iterator<Item = &'a MemberId> + Clone,
        public_keys: Vec<ContentPublicKey>,
    ) -> Vec<AuthenticatedKey> {
        let epoch_label = self.epoch_label(label);
        let parts: Vec<_> = ids
            .clone()
            .zip(&public_keys)
            .map(|(id, public_key)| leaf_parts(id, &epoch_label, public_key))
            .collect();
        let source = self.source();
        ids.zip(leaves(&parts))
            .zip(public_keys)
            .map(|((id, leaf), public_key)| AuthenticatedKey {
                id: *id,
                label: label.clone(),
                leaf,
                public_key,
                source,
            })
            .collect()
    }

    /// A round of base mode.
    ///
    /// # Errors
    /// Those of [`Self::label`] and [`Round::new`].
    pub fn round(
        &self,
        decision: &Decision<'_>,
        attempt: u8,
        public_keys: impl IntoIterator<Item = AuthenticatedKey>,
    ) -> Result<Arc<Round>, Error> {
        let parts = Parts {
            registry: &self.registry,
            scope: self.scope(),
            subject: self.subject(&self.label(decision, attempt)?),
            mode: Mode::Base,
            width: None,
        };
        Round::assemble(parts, decision, public_keys)
    }

    /// Verifies that a quorum signed the expected decision in base mode, and
    /// consumes the application's label: another decision under it is refused from
    /// now on.
    ///
    /// # Errors
    /// [`Error::ModeRefused`] for offset mode, another label, or a label that was
    /// consumed by another decision, [`Error::GuardFailure`], and those of
    /// [`Aggregate::verify_expecting`].
    pub fn verify<S: PinStore + ?Sized>(
        &self,
        aggregate: &Aggregate,
        public_keys: &[AuthenticatedKey],
        decision: &Decision<'_>,
        policy: &Policy,
        consumed: &mut S,
    ) -> Result<Arc<Round>, Error> {
        if aggregate.mode() != Mode::Base {
            return Err(Error::ModeRefused);
        }
        if aggregate.epoch() != self.epoch {
            return Err(Error::OutOfRange);
        }
        aggregate.expect(decision)?;
        let attempt = aggregate.label().attempt();
        if *aggregate.label() != self.label(decision, attempt)? {
            return Err(Error::UnexpectedDecision);
        }
        let source = self.source();
        let cohort = aggregate.cohort(&self.registry, &source, public_keys, policy)?;
        let round = self.round(decision, attempt, cohort)?;
        aggregate.verify_round(&round)?;
        match consumed.pin(&consumed_name(decision), &decision.digest()) {
            Err(Error::RootNotPinned) => Err(Error::ModeRefused),
            result => result.map(|()| round),
        }
    }
}

/// The name of a domain and label among those that were decided.
fn consumed_name(decision: &Decision<'_>) -> String {
    let hash: Hash = hash_lp(&[], &[&lp(&[decision.ctx, decision.label.as_bytes()])]);
    let mut name = String::from("decided-");
    for byte in hash {
        // Writing to a string does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// A content key of base mode, signed with the registration key and with itself.
#[derive(Clone, Debug)]
pub struct SignedKey {
    public_key: ContentPublicKey,
    signature: Signature<MlDsa87>,
    proof: Signature<MlDsa87>,
}

impl Member {
    /// Publishes the key of `label` for base mode, after its guard has bound the
    /// seed to this registry, matrix and mode for the epoch. `rnd` is 64 fresh
    /// random bytes.
    ///
    /// # Errors
    /// [`Error::EpochConflict`] if the seed serves something else in this epoch,
    /// [`Error::GuardFailure`]; [`Error::Fault`] if signing fails.
    pub fn sign_content_key(
        &self,
        gate: &Gate,
        label: &ContentLabel,
        guard: &mut Guard,
        hedge: Randomness<'_>,
        rnd: &[u8; 64],
    ) -> Result<SignedKey, Error> {
        if guard.fingerprint() != self.seed.fingerprint() {
            return Err(Error::GuardFailure);
        }
        let source = gate.source();
        guard.agree(gate.epoch, &source, &source)?;
        let (matrix, label) = (gate.registry.matrix(), gate.epoch_label(label));
        let public_key = ContentKey::derive(matrix, &self.seed, &label).public_key;
        let message = message(&self.id, &label, &public_key);
        Ok(SignedKey {
            signature: self.sign(b"F.ck", &message, hedge)?,
            proof: self.prove(matrix, &label, rnd)?,
            public_key,
        })
    }
}

pub(crate) fn message(
    id: &MemberId,
    label: &EpochLabel,
    public_key: &ContentPublicKey,
) -> [u8; 64] {
    let parts: [&[u8]; 4] = [
        b"F.ck",
        id.as_bytes(),
        label.as_bytes(),
        public_key.as_bytes(),
    ];
    hash_lp(&[], &parts)
}
