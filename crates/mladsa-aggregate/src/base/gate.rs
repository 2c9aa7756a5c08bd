//! The gate of base mode: who may sign what under which label.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mldsa_core::{Context, Hedge, MlDsa87, Signature};

use crate::epoch::merkle::{Hash, leaf, leaves};
use crate::epoch::pinned::AuthenticatedKey;
use crate::epoch::registry::Registry;
use crate::epoch::tree::leaf_parts;
use crate::error::Error;
use crate::keys::content_key::{ContentKey, ContentPublicKey};
use crate::keys::member::Member;
use crate::keys::proof::verify_content_key;
use crate::member_id::MemberId;
use crate::round::aggregate::Aggregate;
use crate::round::cohort::{Decision, Kind, Mode, Parts, Round};
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

    /// The content label of `payload`: bound to it.
    ///
    /// # Errors
    /// [`Error::AttemptsExhausted`].
    pub fn label(&self, ctx: &[u8], payload: &[u8], attempt: u8) -> Result<ContentLabel, Error> {
        self.base
            .bound(ctx, payload, self.registry.root(), self.epoch)
            .attempt(attempt)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What vouches for a key of base mode.
    pub(crate) fn source(&self) -> Hash {
        let epoch = self.epoch.to_be_bytes();
        hash_lp(b"MLADSA base", &[self.registry.root(), &epoch])
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
        let message = message(id, label, &signed.public_key);
        self.registry
            .key(id)?
            .verify(&message, ctx, signed.signature.as_ref())
            .map_err(|_| Error::BadKeyProof)?;
        let matrix = self.registry.matrix();
        verify_content_key(matrix, id, label, &signed.public_key, signed.proof.as_ref())?;
        Ok(AuthenticatedKey {
            id: *id,
            label: label.clone(),
            leaf: leaf(&leaf_parts(id, label, &signed.public_key)),
            public_key: signed.public_key.clone(),
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
        let parts: Vec<_> = ids
            .clone()
            .zip(&public_keys)
            .map(|(id, public_key)| leaf_parts(id, label, public_key))
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
    /// [`Error::ModeRefused`] for a label that is not bound to the payload, and
    /// those of [`Round::new`].
    pub fn round(
        &self,
        decision: &Decision<'_>,
        public_keys: impl IntoIterator<Item = AuthenticatedKey>,
    ) -> Result<Round, Error> {
        let attempt = decision.label.attempt();
        if *decision.label != self.label(decision.ctx, decision.payload, attempt)? {
            return Err(Error::ModeRefused);
        }
        Round::assemble(self.parts(&self.source()), decision, public_keys)
    }

    fn parts<'a>(&'a self, source: &'a Hash) -> Parts<'a> {
        Parts {
            registry: &self.registry,
            source,
            epoch: self.epoch,
            mode: Mode::Base,
            width: None,
        }
    }

    /// Verifies an aggregate of base mode and consumes the application's label:
    /// another payload under it is refused from now on.
    ///
    /// # Errors
    /// [`Error::ModeRefused`] for offset mode, another label, or a label that was
    /// consumed by another payload, and those of [`Aggregate::verify`].
    pub fn verify(
        &self,
        aggregate: &Aggregate,
        public_keys: &[AuthenticatedKey],
        consumed: &mut ConsumedLabels,
    ) -> Result<Round, Error> {
        if aggregate.mode() != Mode::Base {
            return Err(Error::ModeRefused);
        }
        if aggregate.epoch() != self.epoch {
            return Err(Error::OutOfRange);
        }
        let cohort = aggregate.cohort(&self.registry, public_keys)?;
        let round = self.round(&aggregate.decision(), cohort)?;
        aggregate.verify_round(&round)?;
        consumed.consume(aggregate.ctx(), &self.base, round.kind, aggregate.payload())?;
        Ok(round)
    }
}

/// Which (context, base label) a verifier has seen decided, and how. The
/// application keeps it for as long as it accepts aggregates of base mode.
#[derive(Clone, Debug, Default)]
pub struct ConsumedLabels(BTreeMap<Vec<u8>, Hash>);

impl ConsumedLabels {
    fn consume(
        &mut self,
        ctx: &[u8],
        base: &BaseLabel,
        kind: Kind,
        payload: &[u8],
    ) -> Result<(), Error> {
        let kind: &[u8] = match kind {
            Kind::Decision => &[0],
            Kind::Consensus => &[1],
        };
        let decided = hash_lp(b"MLADSA decided", &[kind, payload]);
        let known = self.0.entry(lp(&[ctx, base.as_bytes()])).or_insert(decided);
        (*known == decided).then_some(()).ok_or(Error::ModeRefused)
    }
}

/// A content key of base mode, signed with the registration key and with itself.
#[derive(Clone, Debug)]
pub struct SignedKey {
    public_key: ContentPublicKey,
    signature: Signature<MlDsa87>,
    proof: Signature<MlDsa87>,
}

impl Member {
    /// Publishes the key of `label` for base mode. `rnd` is 64 fresh random bytes.
    ///
    /// # Errors
    /// [`Error::Fault`] if signing fails.
    pub fn sign_content_key(
        &self,
        registry: &Registry,
        label: &ContentLabel,
        hedge: Hedge<'_>,
        rnd: &[u8; 64],
    ) -> Result<SignedKey, Error> {
        let matrix = registry.matrix();
        let public_key = ContentKey::derive(matrix, &self.seed, label.as_bytes()).public_key;
        Ok(SignedKey {
            signature: self.sign(b"F.ck", &message(&self.id, label, &public_key), hedge)?,
            proof: self.prove_content_key(matrix, label, rnd)?,
            public_key,
        })
    }
}

pub(crate) fn message(
    id: &MemberId,
    label: &ContentLabel,
    public_key: &ContentPublicKey,
) -> [u8; 64] {
    hash_lp(
        &[],
        &[
            b"F.ck",
            id.as_bytes(),
            label.as_bytes(),
            public_key.as_bytes(),
        ],
    )
}
