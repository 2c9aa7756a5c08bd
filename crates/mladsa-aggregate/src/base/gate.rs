//! The gate of base mode: who may sign what under which label.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mldsa_core::{Context, Hedge, MlDsa87, Signature};

use crate::epoch::merkle::{Hash, leaf, leaves};
use crate::epoch::pinned::AuthenticatedShare;
use crate::epoch::registry::{Member, Registry};
use crate::epoch::tree::leaf_parts;
use crate::error::Error;
use crate::keys::content_key::{ContentKey, Share};
use crate::keys::proof::verify_content_key;
use crate::round::aggregate::Aggregate;
use crate::round::cohort::{Decision, Kind, Mode, Parts, Round};
use crate::wire::framing::{hash_lp, lp};
use crate::wire::label::{BaseLabel, ContentLabel, MemberId};

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
        signed: &SignedShare,
    ) -> Result<AuthenticatedShare, Error> {
        let ctx = Context::new(b"F.ck").map_err(|_| Error::BadLength)?;
        let message = message(id, label, &signed.share);
        self.registry
            .key(id)?
            .verify(&message, ctx, signed.signature.as_ref())
            .map_err(|_| Error::BadKeyProof)?;
        let matrix = self.registry.matrix();
        verify_content_key(matrix, id, label, &signed.share, signed.proof.as_ref())?;
        Ok(AuthenticatedShare {
            id: *id,
            label: label.clone(),
            leaf: leaf(&leaf_parts(id, label, &signed.share)),
            share: signed.share.clone(),
            source: self.source(),
        })
    }

    /// The keys that `ids` have derived themselves, which nobody else has to vouch
    /// for.
    pub(crate) fn own_shares<'a>(
        &self,
        label: &ContentLabel,
        ids: impl Iterator<Item = &'a MemberId> + Clone,
        shares: Vec<Share>,
    ) -> Vec<AuthenticatedShare> {
        let parts: Vec<_> = ids
            .clone()
            .zip(&shares)
            .map(|(id, share)| leaf_parts(id, label, share))
            .collect();
        let source = self.source();
        ids.zip(leaves(&parts))
            .zip(shares)
            .map(|((id, leaf), share)| AuthenticatedShare {
                id: *id,
                label: label.clone(),
                leaf,
                share,
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
        shares: impl IntoIterator<Item = AuthenticatedShare>,
    ) -> Result<Round, Error> {
        let attempt = decision.label.attempt();
        if *decision.label != self.label(decision.ctx, decision.payload, attempt)? {
            return Err(Error::ModeRefused);
        }
        Round::assemble(self.parts(&self.source()), decision, shares)
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
        shares: &[AuthenticatedShare],
        consumed: &mut ConsumedLabels,
    ) -> Result<Round, Error> {
        if aggregate.mode() != Mode::Base {
            return Err(Error::ModeRefused);
        }
        if aggregate.epoch() != self.epoch {
            return Err(Error::OutOfRange);
        }
        let cohort = aggregate.cohort(&self.registry, shares)?;
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
pub struct SignedShare {
    share: Share,
    signature: Signature<MlDsa87>,
    proof: Signature<MlDsa87>,
}

impl Member {
    /// Publishes the key of `label` for base mode. `rnd` is 64 fresh random bytes.
    ///
    /// # Errors
    /// [`Error::Fault`] if signing fails.
    pub fn sign_share(
        &self,
        registry: &Registry,
        label: &ContentLabel,
        hedge: Hedge<'_>,
        rnd: &[u8; 64],
    ) -> Result<SignedShare, Error> {
        let matrix = registry.matrix();
        let share = ContentKey::derive(matrix, &self.seed, label.as_bytes()).share;
        Ok(SignedShare {
            signature: self.sign(b"F.ck", &message(&self.id, label, &share), hedge)?,
            proof: self.prove_content_key(matrix, label, rnd)?,
            share,
        })
    }
}

pub(crate) fn message(id: &MemberId, label: &ContentLabel, share: &Share) -> [u8; 64] {
    hash_lp(
        &[],
        &[b"F.ck", id.as_bytes(), label.as_bytes(), share.as_bytes()],
    )
}
