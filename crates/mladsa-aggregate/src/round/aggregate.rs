//! The finished aggregate: what travels, and how it is verified.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mldsa_core::{MlDsa87, ParameterSet, Signature};

use crate::epoch::agreed::{AgreedRoots, AuthenticatedKey};
use crate::epoch::merkle::Hash;
use crate::epoch::policy::Policy;
use crate::epoch::registry::Registry;
use crate::error::Error;
use crate::member_id::MemberId;
use crate::round::cohort::{Decision, Kind, Mode, Round};
use crate::wire::bits::SignerBits;
use crate::wire::framing::{Reader, lp};
use crate::wire::label::{BaseLabel, ContentLabel};

/// A signature with what a verifier needs to rebuild its key, but neither the key
/// nor any root: those it derives. 4,627 bytes of it are an ordinary ML-DSA-87
/// signature.
///
/// A valid aggregate stays valid for ever: the application consumes each (context,
/// base label) once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    mode: Mode,
    kind: Kind,
    ctx: Box<[u8]>,
    label: ContentLabel,
    epoch: u64,
    payload: Box<[u8]>,
    bits: Box<[u8]>,
    signature: Signature<MlDsa87>,
}

const AGGREGATE: &[u8; 8] = b"MLADSAF2";

impl Aggregate {
    pub(crate) fn new(round: &Round, signature: Signature<MlDsa87>) -> Self {
        Self {
            mode: round.mode,
            kind: round.kind,
            ctx: round.domain.clone(),
            label: round.subject.label.clone(),
            epoch: round.subject.epoch,
            payload: round.payload.clone(),
            bits: round.bits.as_bytes().into(),
            signature,
        }
    }

    /// The ordinary ML-DSA-87 signature. It says nothing about who signed unless
    /// its key was rebuilt: see
    /// [`Self::verify_expecting`].
    pub fn signature(&self) -> &Signature<MlDsa87> {
        &self.signature
    }

    /// How many hints the signature spends, of 75.
    pub fn hint_weight(&self) -> u8 {
        self.signature.as_bytes().last().copied().unwrap_or(0)
    }

    /// How the cohort committed.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The domain.
    pub fn ctx(&self) -> &[u8] {
        &self.ctx
    }

    /// The content label, with the attempt that succeeded.
    pub fn label(&self) -> &ContentLabel {
        &self.label
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The signed payload.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Who signed, by the aggregation bits.
    ///
    /// # Errors
    /// [`Error::BadLength`], [`Error::EmptyCohort`] for bits that do not fit the
    /// registry.
    pub fn signers(&self, registry: &Registry) -> Result<Vec<MemberId>, Error> {
        let n = registry.len();
        let bits = SignerBits::from_bytes(&self.bits, n)?;
        let mut positions = bits.positions(n).peekable();
        Ok(registry
            .ids()
            .enumerate()
            .filter_map(|(i, id)| positions.next_if_eq(&i).map(|_| *id))
            .collect())
    }

    /// Verifies that a quorum signed the expected decision: rebuilds the cohort from
    /// the bits and its key from the members' authenticated keys, and only then
    /// verifies the signature. `public_keys` may hold the keys of more members,
    /// contents and epochs. Returns the rebuilt round, which says who signed.
    ///
    /// Domain, label, kind and payload come from the caller: what the aggregate says
    /// of them is compared, never believed.
    ///
    /// # Errors
    /// [`Error::UnexpectedDecision`], [`Error::QuorumMissed`],
    /// [`Error::ModeRefused`] for base mode, [`Error::OutOfRange`] for another
    /// epoch, [`Error::CohortMismatch`] if a signer's key is not among
    /// `public_keys`, [`Error::VerifyFailed`], and those of [`Self::signers`] and
    /// [`Round::new`].
    pub fn verify_expecting(
        &self,
        agreed: &AgreedRoots,
        public_keys: &[AuthenticatedKey],
        decision: &Decision<'_>,
        policy: &Policy,
    ) -> Result<Arc<Round>, Error> {
        if self.mode != Mode::Offset {
            return Err(Error::ModeRefused);
        }
        if self.epoch != agreed.plan().epoch() {
            return Err(Error::OutOfRange);
        }
        if self.label.base() != decision.label.as_bytes() {
            return Err(Error::UnexpectedDecision);
        }
        self.expect(decision)?;
        let source = agreed.digest();
        let cohort = self.cohort(agreed.registry(), source, public_keys, policy)?;
        let round = Round::new(agreed, decision, self.label.attempt(), cohort)?;
        self.verify_round(&round)?;
        Ok(round)
    }

    /// Refuses another decision than the expected one, but for its label.
    pub(crate) fn expect(&self, decision: &Decision<'_>) -> Result<(), Error> {
        let same = *self.ctx == *decision.ctx
            && self.kind == decision.kind
            && *self.payload == *decision.payload;
        same.then_some(()).ok_or(Error::UnexpectedDecision)
    }

    /// The keys of the signers for this content, which `source` vouches for, if they
    /// are enough.
    pub(crate) fn cohort(
        &self,
        registry: &Registry,
        source: &Hash,
        public_keys: &[AuthenticatedKey],
        policy: &Policy,
    ) -> Result<Vec<AuthenticatedKey>, Error> {
        let signers = self.signers(registry)?;
        policy.check(registry, signers.iter())?;
        let mut known: Vec<&AuthenticatedKey> = public_keys
            .iter()
            .filter(|public_key| public_key.label == self.label && public_key.source == *source)
            .collect();
        known.sort_by_key(|public_key| public_key.id);
        signers
            .iter()
            .map(|id| {
                let at = known.binary_search_by_key(id, |public_key| public_key.id);
                at.ok()
                    .and_then(|at| known.get(at))
                    .map(|public_key| (*public_key).clone())
                    .ok_or(Error::CohortMismatch)
            })
            .collect()
    }

    pub(crate) fn verify_round(&self, round: &Round) -> Result<(), Error> {
        round
            .key()
            .verify_mu(round.mu(), self.signature.as_bytes())
            .map_err(|_| Error::VerifyFailed)
    }

    /// The object on the wire: magic, mode, kind, context, label, attempt, epoch,
    /// payload, bits, signature.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = AGGREGATE.to_vec();
        out.push(match self.mode {
            Mode::Base => 0,
            Mode::Offset => 1,
        });
        out.push(self.kind.code());
        out.extend(lp(&[&self.ctx, self.label.base()]));
        out.push(self.label.attempt());
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend(lp(&[&self.payload, &self.bits]));
        out.extend_from_slice(self.signature.as_bytes());
        out
    }

    /// Reads what [`Self::to_bytes`] wrote, and nothing else. A mode that will be
    /// refused is still read.
    ///
    /// # Errors
    /// [`Error::BadLength`] for a truncated or longer string, a context over 255
    /// bytes or a label outside 1 to 1,024; [`Error::OutOfRange`] for an unknown
    /// mode or kind; [`Error::AttemptsExhausted`] for an attempt above 63;
    /// [`Error::VerifyFailed`] for a malformed signature.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, AGGREGATE)?;
        let [mode, kind] = reader.array()?;
        let mode = match mode {
            0 => Mode::Base,
            1 => Mode::Offset,
            _ => return Err(Error::OutOfRange),
        };
        let kind = match kind {
            0 => Kind::Decision,
            1 => Kind::Consensus,
            _ => return Err(Error::OutOfRange),
        };
        let ctx = reader.part()?;
        if ctx.len() > 255 {
            return Err(Error::BadLength);
        }
        let base = BaseLabel::new(reader.part()?)?;
        let [attempt] = reader.array()?;
        let label = base.attempt(attempt)?;
        let epoch = u64::from_be_bytes(reader.array()?);
        let payload = reader.part()?;
        let bits = reader.part()?;
        let signature = reader.take(MlDsa87::SIG_LEN)?;
        reader.end()?;
        Ok(Self {
            mode,
            kind,
            ctx: ctx.into(),
            label,
            epoch,
            payload: payload.into(),
            bits: bits.into(),
            signature: Signature::from_bytes(signature).map_err(|_| Error::VerifyFailed)?,
        })
    }
}
