//! Handle of a service: submission, synchronous verification, epochs.

use core::fmt;
use core::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, Weak};

use mldsa_core::ParameterSet;

use super::queue::Push;
use super::state::queued_bytes;
use super::worker::{Shared, Worker};
use super::{Drain, OwnedVote, PendingVerdict, ServiceBuilder, ServiceError, ServiceStats, Source};
use crate::batch::Mode;
use crate::{Committee, CommitteeVerifier, RejectReason, Report, Verdict, Vote};

/// Verifies votes as they arrive from the network, in batches, on threads of its own.
///
/// *Submitted* votes are queued: a batch is taken whenever a worker is free, so that a lone
/// vote is verified at once and many share lanes. Peers are served in turn, and a full queue
/// evicts from the peer that has most in it. *Synchronous* calls (`verify`, `verify_votes`,
/// `verify_quorum`, `tally`) are answered from the cache or verified on the calling thread,
/// and wait for nothing else. Both share one cache of valid votes.
///
/// A vote is verified by the committee of its [`MemberId`](crate::MemberId). The current
/// committee and the previous one are retained; votes of any other get
/// [`ServiceError::OtherEpoch`], which is no fault of their sender.
///
/// Clones are handles of one service; dropping the last one shuts it down.
///
/// ```
/// use batch_verify::{Committee, OwnedVote, Priority, Source, VerificationService};
/// use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let context = Context::new(b"mychain/v1/vote")?;
/// let committee = Committee::<MlDsa44>::builder(context).epoch(1).build([(key.verifying_key(), 1)])?;
/// let service = VerificationService::builder(committee.clone()).threads(1).build()?;
///
/// let member = committee.member(0).expect("one member");
/// let signature = key.sign(b"vote", context, Randomness::Deterministic)?;
/// let vote = OwnedVote::new(member, *b"vote", signature.as_ref());
/// // From peer 17, verified while the engine does something else.
/// let answer = service.submit(Source::peer(17, Priority::CurrentRound), vote.clone())?;
/// // On this thread, or from the cache.
/// service.verify(&vote.as_vote())?;
/// answer.wait()?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct VerificationService<P: ParameterSet>(Arc<Handle<P>>);

struct Handle<P: ParameterSet>(Arc<Shared<P>>);

/// A service that may have no handles any more.
pub(super) struct WeakService<P: ParameterSet>(Weak<Handle<P>>);

impl<P: ParameterSet> WeakService<P> {
    pub(super) fn upgrade(&self) -> Option<VerificationService<P>> {
        self.0.upgrade().map(VerificationService)
    }
}

impl<P: ParameterSet> Drop for Handle<P> {
    fn drop(&mut self) {
        self.0.abandon(ServiceError::ShuttingDown, true);
    }
}

impl<P: ParameterSet> VerificationService<P> {
    /// Options of a service that begins with `committee`.
    pub fn builder(committee: Committee<P>) -> ServiceBuilder<P> {
        ServiceBuilder::new(committee)
    }

    pub(super) fn new(shared: Shared<P>) -> Self {
        Self(Arc::new(Handle(Arc::new(shared))))
    }

    pub(super) fn worker(&self) -> Worker<P> {
        Worker(Arc::clone(&self.0.0))
    }

    /// For work of the service itself, which must not keep it open.
    pub(super) fn weak(&self) -> WeakService<P> {
        WeakService(Arc::downgrade(&self.0))
    }

    pub(super) fn shared(&self) -> &Shared<P> {
        &self.0.0
    }

    /// The current committee.
    #[must_use]
    pub fn committee(&self) -> Committee<P> {
        self.shared().committees()[0].clone()
    }

    /// Makes `next` the current committee. Earlier ones are retained up to
    /// [`ServiceBuilder::retained_committees`]; queued votes are verified by their own.
    pub fn set_committee(&self, next: Committee<P>) {
        let shared = self.shared();
        let mut committees = shared
            .committees
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let earlier = committees.iter().filter(|committee| **committee != next);
        let all = [next.clone()].into_iter().chain(earlier.cloned());
        *committees = all.take(shared.retained).collect();
        shared.cache.retain(&committees);
    }

    /// Submits a vote. Dropping the answer cancels it; [`PendingVerdict::detach`] keeps it.
    ///
    /// # Errors
    /// [`ServiceError`], if the vote was answered at once: all but `Evicted`.
    pub fn submit(&self, source: Source, vote: OwnedVote) -> Result<PendingVerdict, ServiceError> {
        let answer = self.enqueue(source, vote);
        self.shared().notify();
        answer
    }

    /// Submits votes that have arrived together, each as [`submit`](Self::submit) does and
    /// with its own answer, in order.
    #[must_use]
    pub fn submit_all(
        &self,
        votes: impl IntoIterator<Item = (Source, OwnedVote)>,
    ) -> Vec<Result<PendingVerdict, ServiceError>> {
        let votes = votes.into_iter();
        let answers = votes
            .map(|(source, vote)| self.enqueue(source, vote))
            .collect();
        self.shared().notify_all();
        answers
    }

    fn enqueue(&self, source: Source, vote: OwnedVote) -> Result<PendingVerdict, ServiceError> {
        let shared = self.shared();
        let peer = source.peer;
        shared.lock().stats.votes += 1;
        let committee = match self.screen(&vote) {
            Ok(committee) => committee,
            Err(error) => {
                if let ServiceError::Rejected(reason) = error {
                    shared.on_verified(peer, Err(reason));
                    shared.limit(peer, |limiter, peer| limiter.on_verdict(peer, Err(reason)));
                }
                return Err(shared.lock().stats.count(error));
            }
        };
        let (reply, receiver) = oneshot::channel();
        let cached = {
            let committee = core::slice::from_ref(&committee);
            let lookup = shared.cache.lookup(committee, &vote.as_vote());
            lookup.is_some_and(|lookup| shared.cache.get(&lookup))
        };
        if cached {
            shared.limit(peer, |limiter, peer| limiter.on_verdict(peer, Ok(())));
            let _ = reply.send(Ok(()));
            return Ok(PendingVerdict::new(receiver, None));
        }
        let bytes = queued_bytes(&vote);
        match shared.limit(peer, |limiter, peer| limiter.try_acquire(peer, bytes)) {
            Some(None | Some(true)) => {}
            Some(Some(false)) => return Err(shared.lock().stats.count(ServiceError::PeerBudget)),
            None => return Err(ServiceError::HookPanicked),
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        let mut state = shared.lock();
        let entry = state.entry(vote, committee, peer, Arc::clone(&cancelled), reply);
        let open = !state.closed && state.has_workers();
        let pushed = match open {
            true => state.queues[source.priority as usize].push(peer, bytes, entry),
            false => Push::Full(entry),
        };
        let (error, entries) = match pushed {
            Push::Queued(evicted) => (None, evicted),
            Push::Full(entry) if open => (Some(ServiceError::QueueFull), vec![entry]),
            Push::Full(entry) if state.closed => (Some(ServiceError::ShuttingDown), vec![entry]),
            Push::Full(entry) => (Some(ServiceError::Abandoned), vec![entry]),
        };
        for _ in &entries {
            state.stats.count(error.unwrap_or(ServiceError::Evicted));
        }
        drop(state);
        for entry in entries {
            shared.answer(entry, Err(error.unwrap_or(ServiceError::Evicted)));
        }
        match error {
            Some(error) => Err(error),
            None => Ok(PendingVerdict::new(receiver, Some(cancelled))),
        }
    }

    /// The committee of a vote that may be queued.
    fn screen(&self, vote: &OwnedVote) -> Result<Committee<P>, ServiceError> {
        let shared = self.shared();
        if shared.lock().closed {
            return Err(ServiceError::ShuttingDown);
        }
        let committees = shared.committees();
        let mut committees = committees.iter();
        let committee = committees.find(|committee| committee.contains(vote.member));
        let committee = committee.ok_or(ServiceError::OtherEpoch)?;
        if vote.signature.len() != P::SIG_LEN {
            return Err(ServiceError::Rejected(RejectReason::SignatureLength));
        }
        if vote.message.len() > shared.max_message_bytes {
            return Err(ServiceError::TooLarge);
        }
        Ok(committee.clone())
    }

    /// Verifies one vote: from the cache, or alone on this thread. No limit applies.
    ///
    /// # Errors
    /// The reason of the rejection.
    pub fn verify(&self, vote: &Vote<'_>) -> Result<(), RejectReason> {
        let committees = self.shared().committees();
        let shared = self.shared();
        let lookup = shared.cache.lookup(&committees, vote);
        if let Some(lookup) = &lookup {
            if shared.cache.get(lookup) {
                shared.lock().stats.votes += 1;
                return Ok(());
            }
            shared.cache.record_miss();
        }
        let resolved = crate::batch::Resolved::vote(&committees, vote, false);
        let verdict = resolved.and_then(|vote| shared.engine.lanes.verify_one(&vote));
        if let (Ok(()), Some(lookup)) = (verdict, &lookup) {
            shared.cache.insert(lookup);
        }
        let mut state = shared.lock();
        state.stats.votes += 1;
        state.stats.verified += 1;
        state.stats.rejected += u64::from(verdict.is_err());
        verdict
    }

    /// Verifies votes: from the cache, the others in one batch of this thread and the batch
    /// threads. No limit applies.
    pub fn verify_votes<'a>(&self, votes: impl IntoIterator<Item = Vote<'a>>) -> Report {
        let votes: Vec<Vote<'a>> = votes.into_iter().collect();
        self.report(&self.shared().committees(), Mode::Full, &votes)
    }

    /// Whether a vote is cached as valid. Changes nothing.
    #[must_use]
    pub fn is_cached(&self, vote: &Vote<'_>) -> bool {
        let shared = self.shared();
        let committees = shared.committees();
        let lookup = shared.cache.lookup(&committees, vote);
        lookup.is_some_and(|lookup| shared.cache.contains(&lookup))
    }

    pub(super) fn report(
        &self,
        committees: &Arc<[Committee<P>]>,
        mode: Mode,
        votes: &[Vote<'_>],
    ) -> Report {
        let shared = self.shared();
        let lookups: Vec<_> = votes
            .iter()
            .map(|vote| shared.cache.lookup(committees, vote))
            .collect();
        let hit = |lookup: &Option<_>| {
            lookup
                .as_ref()
                .is_some_and(|lookup| shared.cache.get(lookup))
        };
        let cached: Vec<bool> = lookups.iter().map(hit).collect();
        let fresh: Vec<usize> = (0..votes.len()).filter(|&index| !cached[index]).collect();
        let verifier = CommitteeVerifier {
            engine: shared.engine.clone(),
            committees: Arc::clone(committees),
        };
        let request = crate::batch::Request {
            mode,
            ..shared.engine.request()
        };
        let mut report = verifier.report(request, fresh.iter().map(|&index| votes[index]));
        let mut verdicts = vec![Verdict::Valid; votes.len()];
        for (&index, &verdict) in fresh.iter().zip(&report.verdicts) {
            verdicts[index] = verdict;
            if let (Verdict::Valid, Some(lookup)) = (verdict, &lookups[index]) {
                shared.cache.insert(lookup);
            }
            shared.cache.record_miss();
        }
        for duplicate in &mut report.duplicates {
            duplicate.index = fresh[duplicate.index];
            duplicate.first = fresh[duplicate.first];
        }
        let mut state = shared.lock();
        state.stats.votes += votes.len() as u64;
        state.stats.verified += fresh.len() as u64;
        state.stats.rejected += report.summary.rejected() as u64;
        drop(state);
        report.summary.items = votes.len();
        report.summary.valid_items += votes.len() - fresh.len();
        report.verdicts = verdicts;
        report
    }

    /// The end of everything that was accepted before this call. What is submitted later does
    /// not delay it.
    pub fn drain(&self) -> Drain {
        let (done, receiver) = oneshot::channel();
        self.shared().lock().drain(done);
        Drain::new(receiver)
    }

    /// Accepts nothing more. Queued votes are answered with [`ServiceError::ShuttingDown`],
    /// votes that are being verified with their verdict. Synchronous calls go on.
    pub fn shutdown(&self) {
        self.shared().abandon(ServiceError::ShuttingDown, true);
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> ServiceStats {
        let shared = self.shared();
        let cache = shared.cache.stats();
        let state = shared.lock();
        ServiceStats {
            queued_votes: state.queues.iter().map(|queue| queue.len()).sum(),
            queued_bytes: state.queues.iter().map(|queue| queue.bytes()).sum(),
            cached_votes: cache.entries,
            cached_bytes: cache.bytes,
            cache_hits: cache.hits,
            cache_misses: cache.misses,
            ..state.stats
        }
    }
}

impl ServiceStats {
    /// Counts an answer that is no verdict, or a rejection at once.
    fn count(&mut self, error: ServiceError) -> ServiceError {
        match error {
            ServiceError::Rejected(_) => self.rejected += 1,
            ServiceError::OtherEpoch => self.other_epoch += 1,
            ServiceError::QueueFull => self.queue_full += 1,
            ServiceError::Evicted => self.evicted += 1,
            ServiceError::TooLarge => self.too_large += 1,
            ServiceError::PeerBudget => self.peer_budget += 1,
            ServiceError::ShuttingDown => self.shutting_down += 1,
            ServiceError::Abandoned => self.abandoned += 1,
            ServiceError::HookPanicked => {}
        }
        error
    }
}

impl<P: ParameterSet> Clone for VerificationService<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: ParameterSet> fmt::Debug for VerificationService<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerificationService")
            .field("committee", &self.committee())
            .finish_non_exhaustive()
    }
}
