//! Verifiers: of committee votes, and of items that carry their public keys.

use core::fmt;
use std::sync::Arc;

use mldsa_core::ParameterSet;

use super::lanes::Lanes;
use super::options::{Mode, Options};
use super::resolve::Resolved;
use super::scheduler::Scheduler;
use crate::committee::{KeyCache, KeyCacheStats, KeyTable};
use crate::executor::Pool;
use crate::{Committee, Item, RejectReason, Report, Threshold, Vote};

/// Verifies batches of [`Item`]s, which carry their public keys and contexts.
///
/// For transactions, light clients and other signatures of keys that are in no committee. A
/// valid item says nothing about membership: votes are verified by a [`CommitteeVerifier`],
/// which has the same options.
///
/// `Sync`: one verifier serves any number of threads at once. Verdicts depend on the items
/// only; clones share working memory and prepared keys.
///
/// ```
/// use batch_verify::{BatchVerifier, Item};
/// use mldsa_core::{Context, MlDsa44, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
/// let context = Context::new(b"mychain/v1/transaction")?;
/// let signature = key.sign_hedged(b"pay 7", context)?;
///
/// let verifier = BatchVerifier::<MlDsa44>::builder().build()?;
/// let report = verifier.verify_batch([
///     Item::new(key.verifying_key(), b"pay 7", context, signature.as_ref()),
///     Item::new(key.verifying_key(), b"pay 8", context, signature.as_ref()),
/// ]);
/// assert_eq!(report.first_rejected().map(|(index, _)| index), Some(1));
/// assert!(report.require_all().is_err());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchVerifier<P: ParameterSet> {
    pub(crate) scheduler: Scheduler<P>,
}

/// Verifies votes of the members of a [`Committee`], under its context.
///
/// Any other member id is rejected with [`RejectReason::UnknownMember`]: of another epoch,
/// of another chain, or of another kind of message. `Sync`, as [`BatchVerifier`].
///
/// ```
/// use batch_verify::{Committee, Vote};
/// use mldsa_core::{Context, MlDsa44, SigningKey};
///
/// let keys = [1, 2].map(|seed| SigningKey::<MlDsa44>::from_seed(&[seed; 32]));
/// let context = b"mychain/v1/vote";
/// let members = keys.iter().map(|key| (key.verifying_key(), 1));
/// let committee = Committee::<MlDsa44>::builder(context).epoch(7).build(members)?;
/// let signature = keys[1].sign_hedged(b"block 7", Context::new(context)?)?;
///
/// let verifier = committee.verifier();
/// let member = committee.member(1).expect("two members");
/// let report = verifier.verify_batch([Vote::new(member, b"block 7", signature.as_ref())]);
/// report.require_all()?;
///
/// // The next epoch has ids of its own.
/// let next = committee.successor(8, None::<(&[u8], u64)>)?;
/// let report = next.verifier().verify_batch([Vote::new(member, b"block 7", signature.as_ref())]);
/// assert!(report.require_all().is_err());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommitteeVerifier<P: ParameterSet> {
    pub(crate) scheduler: Scheduler<P>,
    /// The committee of quorums first.
    pub(crate) committees: Arc<[Committee<P>]>,
    pub(crate) threshold: Threshold,
}

impl<P: ParameterSet> BatchVerifier<P> {
    /// Verifies one item on this thread, without batch machinery.
    ///
    /// # Errors
    /// The reason of the rejection.
    pub fn verify(&self, item: &Item<'_>) -> Result<(), RejectReason> {
        let item = Resolved::item(item, self.scheduler.options.allow_weak_prehash)?;
        self.scheduler.lanes.verify_one(&item)
    }

    /// Verifies `items`; the report has one verdict per item, in input order. The iterator
    /// runs once, on this thread. On the calling thread alone, it allocates only the report and
    /// keys for the key cache, once it has seen a batch of that size (at most 16,384 items).
    pub fn verify_batch<'a>(&self, items: impl IntoIterator<Item = Item<'a>>) -> Report {
        let options = self.scheduler.options;
        let resolve = |item: Item<'a>| Resolved::item(&item, options.allow_weak_prehash);
        self.scheduler.report(options.mode, items, resolve)
    }

    /// Returns the figures of the cache of prepared keys.
    pub fn key_cache(&self) -> KeyCacheStats {
        let cache = self.scheduler.lanes.key_cache.as_deref();
        cache.map(KeyCache::stats).unwrap_or_default()
    }
}

impl<P: ParameterSet> Committee<P> {
    /// Returns a verifier of votes with default options: [`Mode::Full`](crate::Mode::Full) and
    /// [`Threads::Shared`](crate::Threads::Shared).
    #[must_use]
    pub fn verifier(&self) -> CommitteeVerifier<P> {
        let scheduler = Scheduler::new(Options::DEFAULT, Pool::Shared, Lanes::without_cache());
        CommitteeVerifier::new(scheduler, self.clone())
    }

    /// Verifies one vote on this thread, without batch machinery and without allocation.
    ///
    /// # Errors
    /// The reason of the rejection.
    pub fn verify(&self, vote: &Vote<'_>) -> Result<(), RejectReason> {
        let vote = Resolved::vote(core::slice::from_ref(self), vote, false)?;
        Lanes::without_cache().verify_one(&vote)
    }
}

impl<P: ParameterSet> CommitteeVerifier<P> {
    pub(crate) fn new(scheduler: Scheduler<P>, committee: Committee<P>) -> Self {
        Self {
            scheduler,
            threshold: committee.threshold(),
            committees: Arc::new([committee]),
        }
    }

    /// Returns the committee that quorums are counted in.
    pub fn committee(&self) -> &Committee<P> {
        &self.committees[0]
    }

    /// Returns a verifier with the same options for another committee, such as the next epoch's,
    /// and its threshold.
    #[must_use]
    pub fn for_committee(&self, committee: Committee<P>) -> Self {
        Self::new(self.scheduler.clone(), committee)
    }

    /// Returns a verifier that also takes votes of members of `other`: the same validators under
    /// another context, or the previous epoch. Member ids tell the committees apart; quorums are
    /// counted in [`committee`](Self::committee) only.
    #[must_use]
    pub fn with_committee(&self, other: Committee<P>) -> Self {
        let committees = self.committees.iter().cloned();
        Self {
            committees: committees.chain([other]).collect(),
            ..self.clone()
        }
    }

    /// Returns a verifier that counts quorums against another threshold than that of the
    /// committee, such as [`Threshold::ONE_THIRD`] for one honest vote.
    #[must_use]
    pub fn with_threshold(&self, threshold: Threshold) -> Self {
        Self {
            threshold,
            ..self.clone()
        }
    }

    /// Verifies one vote on this thread, without batch machinery and without allocation.
    ///
    /// # Errors
    /// The reason of the rejection.
    pub fn verify(&self, vote: &Vote<'_>) -> Result<(), RejectReason> {
        let vote = Resolved::vote(
            &self.committees,
            vote,
            self.scheduler.options.allow_weak_prehash,
        )?;
        self.scheduler.lanes.verify_one(&vote)
    }

    /// Verifies `votes`; the report has one verdict per vote, in input order. The iterator
    /// runs once, on this thread: `votes.iter().map(|vote| Vote::new(..))` verifies any type. On
    /// the calling thread alone, it allocates only the report, once it has seen a batch of that
    /// size (at most 16,384 votes), and keys for [`KeyStorage::Lru`](crate::KeyStorage).
    pub fn verify_batch<'a>(&self, votes: impl IntoIterator<Item = Vote<'a>>) -> Report {
        self.report(self.scheduler.options.mode, votes)
    }

    /// Returns the figures of the caches of prepared keys of the committees that have one.
    pub fn key_cache(&self) -> KeyCacheStats {
        let tables = self.committees.iter().map(Committee::table);
        tables
            .filter_map(KeyTable::cache)
            .map(KeyCache::stats)
            .sum()
    }

    pub(crate) fn report<'a>(
        &self,
        mode: Mode,
        votes: impl IntoIterator<Item = Vote<'a>>,
    ) -> Report {
        let weak = self.scheduler.options.allow_weak_prehash;
        let resolve = |vote: Vote<'a>| Resolved::vote(&self.committees, &vote, weak);
        self.scheduler.report(mode, votes, resolve)
    }
}

impl<P: ParameterSet> fmt::Debug for Scheduler<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("set", &P::NAME)
            .field("pool", &self.pool)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
