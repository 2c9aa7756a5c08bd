//! Batches and committees whose parameter set is known at run time.

use std::sync::Arc;
use std::time::Instant;

use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, Set, with_set};

use crate::batch::{ItemVerifier, Verifier};
use crate::{
    Accelerator, BatchVerifier, BuildError, Certificate, CertificateError, CommitteeBuilder,
    CommitteeVerifier, Item, KeyCacheStats, MemberId, Message, Mode, QuorumError, QuorumReport,
    QuorumRule, RejectReason, Report, Threshold, VerifierBuilder, Vote,
};

/// An item with its parameter set: made of an [`Item`], whose set is then that of public keys of
/// the length of its key, or of a pair of set and item.
#[derive(Clone, Copy, Debug)]
pub struct AnyItem<'a> {
    set: Set,
    item: Item<'a>,
}

impl<'a> From<Item<'a>> for AnyItem<'a> {
    fn from(item: Item<'a>) -> Self {
        // A key of another length is rejected for it in each set.
        let set = Set::from_public_key_len(item.key.len()).unwrap_or(Set::MlDsa44);
        Self { set, item }
    }
}

impl<'a> From<(Set, Item<'a>)> for AnyItem<'a> {
    fn from((set, item): (Set, Item<'a>)) -> Self {
        Self { set, item }
    }
}

/// Verifies batches of items of all parameter sets. Each verdict is that of a [`BatchVerifier`] of
/// the item's set.
///
/// ```
/// use batch_verify::{AnyBatchVerifier, Item};
/// use mldsa_core::{Context, MlDsa44, MlDsa65, SigningKey};
///
/// let context = Context::new(b"mychain/v1/transaction")?;
/// let (small, large) = (SigningKey::<MlDsa44>::generate()?, SigningKey::<MlDsa65>::generate()?);
/// let first = small.sign_hedged(b"pay 7", context)?;
/// let second = large.sign_hedged(b"pay 8", context)?;
///
/// let verifier = AnyBatchVerifier::builder().build()?;
/// let report = verifier.verify_batch([
///     Item::new(small.verifying_key(), b"pay 7", context, first.as_ref()),
///     Item::new(large.verifying_key(), b"pay 8", context, second.as_ref()),
/// ]);
/// report.require_all()?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyBatchVerifier {
    ml_dsa_44: BatchVerifier<MlDsa44>,
    ml_dsa_65: BatchVerifier<MlDsa65>,
    ml_dsa_87: BatchVerifier<MlDsa87>,
}

impl AnyBatchVerifier {
    /// Returns the options of a verifier. The bound on prepared keys is for each set.
    pub fn builder() -> VerifierBuilder<Self> {
        VerifierBuilder::new()
    }

    /// Verifies one item on this thread, without batch machinery.
    ///
    /// # Errors
    /// The reason of the rejection.
    pub fn verify<'a>(&self, item: impl Into<AnyItem<'a>>) -> Result<(), RejectReason> {
        let AnyItem { set, item } = item.into();
        match set {
            Set::MlDsa44 => self.ml_dsa_44.verify(&item),
            Set::MlDsa65 => self.ml_dsa_65.verify(&item),
            Set::MlDsa87 => self.ml_dsa_87.verify(&item),
        }
    }

    /// Verifies `items`; the report has one verdict per item, in input order, as
    /// [`BatchVerifier::verify_batch`] gives it. Items of one set are verified together; the
    /// [`Mode`] holds for the whole batch.
    pub fn verify_batch<'a, I: Into<AnyItem<'a>>>(
        &self,
        items: impl IntoIterator<Item = I>,
    ) -> Report {
        let start = Instant::now();
        let items: Vec<AnyItem<'a>> = items.into_iter().map(Into::into).collect();
        let mut report = Report {
            verdicts: vec![Err(RejectReason::NotVerified); items.len()],
            ..Report::default()
        };
        verify_set(&self.ml_dsa_44, &items, &mut report);
        verify_set(&self.ml_dsa_65, &items, &mut report);
        verify_set(&self.ml_dsa_87, &items, &mut report);
        if let (Mode::FirstInvalid, Some((lowest, _))) = (self.mode(), report.first_rejected()) {
            report.verdicts[lowest + 1..].fill(Err(RejectReason::NotVerified));
            report.duplicates.retain(|(index, _)| *index <= lowest);
        }
        report.duplicates.sort_unstable();
        report.elapsed = start.elapsed();
        report
    }

    /// Returns the figures of the caches of prepared keys of all sets.
    pub fn key_cache(&self) -> KeyCacheStats {
        let caches = [
            self.ml_dsa_44.key_cache(),
            self.ml_dsa_65.key_cache(),
            self.ml_dsa_87.key_cache(),
        ];
        caches.into_iter().sum()
    }

    fn mode(&self) -> Mode {
        self.ml_dsa_44.scheduler.options.mode
    }
}

/// Verifies the items of one set, up to the early exit of the sets before it.
fn verify_set<P: ParameterSet>(
    verifier: &BatchVerifier<P>,
    items: &[AnyItem<'_>],
    report: &mut Report,
) {
    let end = match (verifier.scheduler.options.mode, report.first_rejected()) {
        (Mode::Full, _) | (_, None) => items.len(),
        (Mode::FirstInvalid, Some((lowest, _))) => lowest,
        (Mode::AnyInvalid, Some(_)) => 0,
    };
    let indices = (0..end).filter(|index| items[*index].set == P::SET);
    let indices: Vec<usize> = indices.collect();
    let of_set = verifier.verify_batch(indices.iter().map(|index| items[*index].item));
    for (index, verdict) in indices.iter().zip(&of_set.verdicts) {
        report.verdicts[*index] = *verdict;
    }
    let duplicates = of_set.duplicates.iter();
    let duplicates = duplicates.map(|(index, first)| (indices[*index], indices[*first]));
    report.duplicates.extend(duplicates);
    report.threads = report.threads.max(of_set.threads);
    report.batch_size = report.batch_size.max(of_set.batch_size);
}

impl Verifier for AnyBatchVerifier {
    type Accelerators = (
        Option<Arc<dyn Accelerator<MlDsa44>>>,
        Option<Arc<dyn Accelerator<MlDsa65>>>,
        Option<Arc<dyn Accelerator<MlDsa87>>>,
    );
}

impl ItemVerifier for AnyBatchVerifier {}

impl VerifierBuilder<AnyBatchVerifier> {
    /// Lets a device for each parameter set verify batches that are large enough for it. Verdicts
    /// do not depend on it.
    pub fn accelerators(
        mut self,
        ml_dsa_44: impl Accelerator<MlDsa44> + 'static,
        ml_dsa_65: impl Accelerator<MlDsa65> + 'static,
        ml_dsa_87: impl Accelerator<MlDsa87> + 'static,
    ) -> Self {
        self.accelerators = (
            Some(Arc::new(ml_dsa_44)),
            Some(Arc::new(ml_dsa_65)),
            Some(Arc::new(ml_dsa_87)),
        );
        self
    }

    /// Builds a verifier for items that carry their public keys.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] if the threads cannot be started.
    pub fn build(mut self) -> Result<AnyBatchVerifier, BuildError> {
        self.threads = self.threads.started()?;
        let (ml_dsa_44, ml_dsa_65, ml_dsa_87) = core::mem::take(&mut self.accelerators);
        Ok(AnyBatchVerifier {
            ml_dsa_44: self.of_set(ml_dsa_44).build()?,
            ml_dsa_65: self.of_set(ml_dsa_65).build()?,
            ml_dsa_87: self.of_set(ml_dsa_87).build()?,
        })
    }
}

/// A committee whose parameter set is known at run time, with the threads that verify its votes:
/// a [`CommitteeVerifier`] of any set, which a `match` gives.
///
/// ```
/// use batch_verify::{AnyCommittee, QuorumRule, Vote};
/// use mldsa_core::{AnySigningKey, Context, Set};
///
/// let keys = [1, 2, 3].map(|seed| AnySigningKey::from_seed(Set::MlDsa65, &[seed; 32]));
/// let context = Context::new(b"mychain/v1/vote")?;
/// let members = keys.iter().map(|key| (key.verifying_key(), 1));
/// let committee = AnyCommittee::builder(Set::MlDsa65, context).epoch(7).build(members)?;
///
/// let sign = |key: &AnySigningKey| key.sign_hedged(b"block 7", context);
/// let signatures = keys.iter().map(sign).collect::<Result<Vec<_>, _>>()?;
/// let votes: Vec<_> = committee.members().zip(signatures.iter().map(Vec::as_slice)).collect();
/// let (member, signature) = votes[1];
/// committee.verify(&Vote::new(member, b"block 7", signature))?;
///
/// assert_eq!(committee.verify_quorum(b"block 7", &votes, QuorumRule::Certificate)?.weight(), 3);
/// let certificate = committee.certificate(votes)?;
/// assert_eq!(committee.verify_certificate(&certificate, b"block 7")?.weight(), 3);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum AnyCommittee {
    /// Members with keys of ML-DSA-44.
    MlDsa44(CommitteeVerifier<MlDsa44>),
    /// Members with keys of ML-DSA-65.
    MlDsa65(CommitteeVerifier<MlDsa65>),
    /// Members with keys of ML-DSA-87.
    MlDsa87(CommitteeVerifier<MlDsa87>),
}

/// Evaluates an expression with the committee inside.
macro_rules! of {
    ($this:expr, $committee:ident => $body:expr) => {
        with_set!(AnyCommittee, $this, verifier => {
            let $committee = verifier.committee();
            $body
        })
    };
}

impl AnyCommittee {
    /// Returns the options of a committee, as [`Committee::builder`](crate::Committee::builder). Its threads verify, too.
    pub fn builder(set: Set, context: impl AsRef<[u8]>) -> CommitteeBuilder<Self> {
        CommitteeBuilder::new(set, context.as_ref())
    }

    /// Returns the parameter set.
    pub const fn set(&self) -> Set {
        match self {
            Self::MlDsa44(_) => Set::MlDsa44,
            Self::MlDsa65(_) => Set::MlDsa65,
            Self::MlDsa87(_) => Set::MlDsa87,
        }
    }

    /// Returns the number of members, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        of!(self, committee => committee.len())
    }

    /// Returns the member at `index`, as [`Committee::member`](crate::Committee::member).
    pub fn member(&self, index: u32) -> Option<MemberId> {
        of!(self, committee => committee.member(index))
    }

    /// Returns the member with an encoded public key. Compares full keys.
    pub fn member_of(&self, public_key: impl AsRef<[u8]>) -> Option<MemberId> {
        of!(self, committee => committee.member_of(public_key))
    }

    /// Returns all members, by index.
    pub fn members(&self) -> impl Iterator<Item = MemberId> + '_ {
        (0..self.len() as u32).filter_map(|index| self.member(index))
    }

    /// Returns the weight of a member; `None` for an id of another committee.
    pub fn weight(&self, member: MemberId) -> Option<u64> {
        of!(self, committee => committee.weight(member))
    }

    /// Returns the epoch number.
    pub fn epoch(&self) -> u64 {
        of!(self, committee => committee.epoch())
    }

    /// Returns the context of all signatures.
    pub fn context(&self) -> &[u8] {
        of!(self, committee => committee.context())
    }

    /// Returns the threshold of quorums.
    pub fn threshold(&self) -> Threshold {
        of!(self, committee => committee.threshold())
    }

    /// Returns the sum of all weights.
    pub fn total_weight(&self) -> u128 {
        of!(self, committee => committee.total_weight())
    }

    /// Returns the least weight of a quorum: between 1 and the total weight.
    pub fn required_weight(&self) -> u128 {
        of!(self, committee => committee.required_weight())
    }

    /// Returns the hash of everything that defines the committee, as [`Committee::digest`](crate::Committee::digest).
    pub fn digest(&self) -> [u8; 32] {
        of!(self, committee => committee.digest())
    }

    /// Returns the committee of the next epoch from changes, as [`Committee::successor`](crate::Committee::successor).
    ///
    /// # Errors
    /// Those of [`Committee::successor`](crate::Committee::successor).
    pub fn successor<K: AsRef<[u8]>>(
        &self,
        epoch: u64,
        changes: impl IntoIterator<Item = (K, u64)>,
    ) -> Result<Self, BuildError> {
        with_set!(AnyCommittee, self, verifier => {
            let next = verifier.committee().successor(epoch, changes)?;
            Ok(verifier.for_committee(next).into())
        })
    }

    /// Verifies one vote on this thread, without batch machinery and without allocation.
    ///
    /// # Errors
    /// The reason of the rejection.
    pub fn verify(&self, vote: &Vote<'_>) -> Result<(), RejectReason> {
        with_set!(AnyCommittee, self, verifier => verifier.verify(vote))
    }

    /// Verifies `votes`, as [`CommitteeVerifier::verify_batch`].
    pub fn verify_batch<'a>(&self, votes: impl IntoIterator<Item = Vote<'a>>) -> Report {
        with_set!(AnyCommittee, self, verifier => verifier.verify_batch(votes))
    }

    /// Verifies that `votes` reach the threshold, as [`CommitteeVerifier::verify_quorum`].
    ///
    /// # Errors
    /// Those of [`CommitteeVerifier::verify_quorum`].
    pub fn verify_quorum<'a>(
        &self,
        message: impl Into<Message<'a>>,
        votes: &[(MemberId, &'a [u8])],
        rule: QuorumRule,
    ) -> Result<QuorumReport, QuorumError> {
        with_set!(AnyCommittee, self, verifier => verifier.verify_quorum(message, votes, rule))
    }

    /// Encodes a certificate of votes, as [`Certificate::new`], without verifying them.
    ///
    /// # Errors
    /// Those of [`Certificate::new`].
    pub fn certificate<S: AsRef<[u8]>>(
        &self,
        votes: impl IntoIterator<Item = (MemberId, S)>,
    ) -> Result<Vec<u8>, CertificateError> {
        of!(self, committee => Ok(Certificate::new(committee, votes)?.to_bytes()))
    }

    /// Verifies an encoded certificate, as [`Certificate::verify`].
    ///
    /// # Errors
    /// Those of [`Certificate::from_bytes`] and [`Certificate::verify`].
    pub fn verify_certificate<'a>(
        &self,
        certificate: &[u8],
        message: impl Into<Message<'a>>,
    ) -> Result<QuorumReport, CertificateError> {
        let message = message.into();
        with_set!(AnyCommittee, self, verifier => {
            Certificate::from_bytes(certificate)?.verify(verifier, message)
        })
    }
}

impl CommitteeBuilder<AnyCommittee> {
    /// Builds the committee, as that of a typed one.
    ///
    /// # Errors
    /// Those of a typed one.
    pub fn build<K: AsRef<[u8]>>(
        mut self,
        members: impl IntoIterator<Item = (K, u64)>,
    ) -> Result<AnyCommittee, BuildError> {
        self.threads = self.threads.started()?;
        let threads = self.threads.clone();
        with_set!(self.set, P => {
            let committee = self.typed::<P, K>(members)?;
            let verifier = CommitteeVerifier::builder().threads(threads);
            Ok(verifier.build(committee)?.into())
        })
    }
}

macro_rules! from_typed {
    ($($set:ident),+) => {$(
        impl From<CommitteeVerifier<$set>> for AnyCommittee {
            fn from(verifier: CommitteeVerifier<$set>) -> Self {
                Self::$set(verifier)
            }
        }
    )+};
}
from_typed!(MlDsa44, MlDsa65, MlDsa87);
