//! Handle of a service: submission, synchronous verification, epochs.

use core::fmt;
use core::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use mldsa_core::ParameterSet;

use super::shared::Shared;
use super::state::{OwnedVote, QueuedVote};
use super::stats::Origin;
use super::sync::AtomicBool;
use super::worker::Worker;
use super::{Pending, ServiceBuilder, ServiceError, ServiceStats, Source};
use crate::batch::{Mode, Resolved};
use crate::{BuildError, Committee, RejectReason, Report, Vote};

/// Verifies votes as they arrive from the network, in batches, on threads of its own.
///
/// *Submitted* votes are queued: a batch is taken whenever a worker is free, so that a lone
/// vote is verified at once and many share lanes. Peers are served in turn, and a full queue
/// evicts from the peer that has most in it. *Synchronous* calls (`verify`, `verify_batch`,
/// `verify_quorum`) are answered from the cache or verified on the calling thread,
/// and wait for nothing else. Both share one cache of valid votes.
///
/// A vote is verified by the committee of its [`MemberId`](crate::MemberId). The current
/// committee and the previous one are retained; votes of any other get
/// [`ServiceError::OtherEpoch`], which is no fault of their sender.
///
/// Clones are handles of one service; dropping the last one shuts it down.
///
/// A service belongs to the process that built it: a child process made by `fork` has no workers
/// and must build its own.
///
/// Verdicts and order depend on no clock; a monotonic one measures the queued time.
///
/// ```
/// use batch_verify::{Committee, Source, VerificationService, Vote};
/// use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let context = Context::new(b"mychain/v1/vote")?;
/// let committee = Committee::<MlDsa44>::builder(context).epoch(1).build([(key.verifying_key(), 1)])?;
/// let service = VerificationService::builder(committee.clone()).threads(1).build()?;
///
/// let member = committee.member(0).expect("one member");
/// let signature = key.sign_with_context(b"vote", context, Randomness::Deterministic)?;
/// let vote = Vote::new(member, b"vote", signature.as_ref());
/// // From peer 17, verified while the engine does something else.
/// let answer = service.submit(Source::peer(17), &vote)?;
/// // On this thread, or from the cache.
/// service.verify(&vote)?;
/// answer.wait()?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct VerificationService<P: ParameterSet>(Arc<Handle<P>>);

struct Handle<P: ParameterSet>(Arc<Shared<P>>);

impl<P: ParameterSet> Drop for Handle<P> {
    fn drop(&mut self) {
        self.0.abandon(ServiceError::ShuttingDown, true);
    }
}

type PendingVerdict = Pending<Result<(), ServiceError>>;

impl<P: ParameterSet> VerificationService<P> {
    /// Returns the options of a service that begins with `committee`.
    pub fn builder(committee: Committee<P>) -> ServiceBuilder<P> {
        ServiceBuilder::new(committee)
    }

    pub(super) fn new(shared: Shared<P>) -> Self {
        Self(Arc::new(Handle(Arc::new(shared))))
    }

    pub(super) fn worker(&self) -> Worker<P> {
        Worker(Arc::clone(&self.0.0))
    }

    pub(super) fn shared(&self) -> &Shared<P> {
        &self.0.0
    }

    /// Returns the current committee.
    pub fn committee(&self) -> Committee<P> {
        self.shared().committees()[0].clone()
    }

    /// Makes `next` the current committee. Earlier ones are retained up to
    /// [`ServiceBuilder::retained_committees`]; queued votes are verified by their own.
    ///
    /// # Errors
    /// [`BuildError::Epoch`] if a retained committee with the same context has a later epoch, or
    /// the same epoch and other members: nothing changes. Committees with other contexts may
    /// follow in any order, and a retained one becomes the current one again.
    pub fn set_committee(&self, next: Committee<P>) -> Result<(), BuildError> {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!("set_committee", epoch = next.epoch()).entered();
        let shared = self.shared();
        let mut committees = shared
            .committees
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut related = committees
            .iter()
            .filter(|committee| committee.context() == next.context());
        let current = related.clone().map(Committee::epoch).max();
        if let Some(current) = current
            && (next.epoch() < current
                || related.any(|known| known.epoch() == next.epoch() && *known != next))
        {
            return Err(BuildError::Epoch { current });
        }
        let earlier = committees.iter().filter(|committee| **committee != next);
        let earlier = earlier.take(shared.retained_committees).cloned();
        *committees = [next.clone()].into_iter().chain(earlier).collect();
        shared.cache.retain(&committees);
        Ok(())
    }

    /// Submits a vote, which is copied unless it is answered at once. Dropping the answer
    /// cancels it; [`Pending::detach`] keeps it.
    ///
    /// # Errors
    /// [`ServiceError`], if the vote was answered at once: all but `Evicted`.
    pub fn submit(&self, source: Source, vote: &Vote<'_>) -> Result<PendingVerdict, ServiceError> {
        let answer = self.enqueue(source, vote)?;
        if answer.is_queued() {
            self.shared().work.notify_one();
        }
        Ok(answer)
    }

    /// Submits votes that have arrived together, each as [`submit`](Self::submit) does and
    /// with its own answer, in order.
    #[must_use]
    pub fn submit_batch<'a>(
        &self,
        votes: impl IntoIterator<Item = (Source, Vote<'a>)>,
    ) -> Vec<Result<PendingVerdict, ServiceError>> {
        // A panic of the caller's iterator leaves no vote that no worker is woken for.
        let votes: Vec<_> = votes.into_iter().collect();
        let votes = votes.iter();
        let answers = votes.map(|(source, vote)| self.enqueue(*source, vote));
        let answers = answers.collect();
        self.shared().work.notify_all();
        answers
    }

    fn enqueue(&self, source: Source, vote: &Vote<'_>) -> Result<PendingVerdict, ServiceError> {
        let shared = self.shared();
        let peer = source.peer;
        shared.votes.fetch_add(1, Ordering::Relaxed);
        let committees = shared.committees();
        let committee = match self.screen(&committees, vote) {
            Ok(committee) => committee,
            Err(ServiceError::Rejected(reason)) => {
                shared.lock().on_verdict(peer, false);
                shared.count_rejected(Origin::of(source), reason);
                shared.limit(peer, |limiter, peer| limiter.on_verdict(peer, Err(reason)));
                return Err(ServiceError::Rejected(reason));
            }
            Err(error) => return Err(shared.refuse(error)),
        };
        let (reply, receiver) = oneshot::channel();
        let pending = Pending::new(receiver, || Err(ServiceError::Abandoned));
        let of_vote = core::slice::from_ref(committee);
        if shared.cache.get(of_vote, vote, source) {
            let _ = reply.send(Ok(()));
            return Ok(pending);
        }
        let vote = OwnedVote::new(vote);
        let bytes = vote.queued_bytes();
        shared.acquire(peer, bytes)?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let mut entry = Box::new(QueuedVote {
            vote,
            committee: committee.clone(),
            source,
            since: Instant::now(),
            cancelled: Arc::clone(&cancelled),
            reply,
            generation: 0,
        });
        let mut state = shared.lock();
        entry.generation = state.accept();
        let admitted = state.admit(entry, |_| true, |state, entry| state.push(bytes, entry));
        drop(state);
        match admitted {
            Ok(evicted) => {
                let evicted = evicted.into_iter();
                shared.answer(evicted.map(|entry| (entry, Err(ServiceError::Evicted))));
                Ok(pending.with_flag(cancelled))
            }
            Err((error, entry)) => {
                shared.answer([(entry, Err(error))]);
                Err(error)
            }
        }
    }

    /// Returns the committee of a vote that may be queued.
    fn screen<'c>(
        &self,
        committees: &'c [Committee<P>],
        vote: &Vote<'_>,
    ) -> Result<&'c Committee<P>, ServiceError> {
        let shared = self.shared();
        if shared.closed.load(Ordering::Relaxed) {
            return Err(ServiceError::ShuttingDown);
        }
        let mut committees = committees.iter();
        let committee = committees.find(|committee| committee.contains(vote.member));
        let committee = committee.ok_or(ServiceError::OtherEpoch)?;
        if vote.signature.len() != P::SIG_LEN {
            return Err(ServiceError::Rejected(RejectReason::SignatureLength));
        }
        if vote.message.len() > shared.max_message_bytes {
            return Err(ServiceError::TooLarge);
        }
        Ok(committee)
    }

    /// Verifies one vote: from the cache, or alone on this thread. No limit applies.
    ///
    /// # Errors
    /// The reason of the rejection.
    pub fn verify(&self, vote: &Vote<'_>) -> Result<(), RejectReason> {
        let shared = self.shared();
        if shared.cache.answer(vote) {
            return Ok(());
        }
        shared.votes.fetch_add(1, Ordering::Relaxed);
        let committees = shared.committees();
        let resolved = Resolved::vote(&committees, vote, false);
        let verdict = resolved.and_then(|vote| shared.scheduler.lanes.verify_one(&vote));
        if verdict.is_ok() {
            shared.cache.insert(&committees, vote, Source::own());
        }
        shared.count_verified(Origin::Synchronous, [verdict]);
        verdict
    }

    /// Verifies votes: from the cache, the others in one batch of this thread and the batch
    /// threads. No limit applies.
    pub fn verify_batch<'a>(&self, votes: impl IntoIterator<Item = Vote<'a>>) -> Report {
        let votes: Vec<Vote<'a>> = votes.into_iter().collect();
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!("verify_batch", votes = votes.len()).entered();
        self.report(&self.shared().committees(), Mode::Full, &votes)
    }

    /// Returns whether a vote is cached as valid, and changes nothing.
    #[must_use]
    pub fn is_cached(&self, vote: &Vote<'_>) -> bool {
        let shared = self.shared();
        shared.cache.contains(&shared.committees(), vote)
    }

    pub(super) fn report(
        &self,
        committees: &[Committee<P>],
        mode: Mode,
        votes: &[Vote<'_>],
    ) -> Report {
        let shared = self.shared();
        shared
            .votes
            .fetch_add(votes.len() as u64, Ordering::Relaxed);
        let is_cached = |&index: &usize| shared.cache.get(committees, &votes[index], Source::own());
        let fresh: Vec<usize> = (0..votes.len()).filter(|index| !is_cached(index)).collect();
        if fresh.is_empty() {
            return Report {
                verdicts: vec![Ok(()); votes.len()],
                ..Report::default()
            };
        }
        let resolve = |&index: &usize| Resolved::vote(committees, &votes[index], false);
        let mut report = shared.scheduler.report(mode, &fresh, resolve);
        shared.count_verified(Origin::Synchronous, report.verdicts.iter().copied());
        let mut verdicts = vec![Ok(()); votes.len()];
        for (&index, &verdict) in fresh.iter().zip(&report.verdicts) {
            verdicts[index] = verdict;
            if verdict.is_ok() {
                shared
                    .cache
                    .insert(committees, &votes[index], Source::own());
            }
        }
        for (index, first) in &mut report.duplicates {
            (*index, *first) = (fresh[*index], fresh[*first]);
        }
        report.verdicts = verdicts;
        report
    }

    /// Returns the end of everything that was accepted before this call. What is submitted later
    /// does not delay it.
    pub fn drain(&self) -> Pending<()> {
        let (done, receiver) = oneshot::channel();
        self.shared().lock().drain(done);
        Pending::new(receiver, || ())
    }

    /// Accepts nothing more. Queued votes are answered with [`ServiceError::ShuttingDown`],
    /// votes that are being verified with their verdict. Synchronous calls go on.
    pub fn shutdown(&self) {
        self.shared().abandon(ServiceError::ShuttingDown, true);
    }

    /// Returns the counters.
    pub fn stats(&self) -> ServiceStats {
        self.shared().stats()
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
