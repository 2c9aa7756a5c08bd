//! The asynchronous front end: futures that any executor can await.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use std::vec;

use mldsa_core::ParameterSet;

use super::{Guarded, Intake, IntakeError, Origin, Pending, Shared, Starts};
use crate::caught::{caught, wake};
use crate::executor::is_worker;
use crate::quorum::{Count, Rule};
use crate::{
    BatchVerifier, Duplicates, Outcome, OwnedItem, OwnedSubject, OwnedVote, Policy, QuorumError,
    QuorumReport, Report, Summary, Threshold, Vote, Weights,
};

/// Items that one poll takes in before it lets others run.
const PER_POLL: usize = 128;

/// An [`Intake`] for code that awaits. It needs no runtime: wakers are all it knows.
/// Verification runs on the verifier's [`Executor`](crate::Executor), never on a
/// thread that polls, unless that thread is one of the executor's.
///
/// Every item that is submitted has exactly one answer. Dropping a future calls its
/// items off until they are in a lane.
///
/// ```
/// use batch_verify::{
///     AsyncIntake, BatchVerifier, Intake, IntakeLimits, Item, KeySet, Origin, Outcome, Priority,
/// };
/// use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
///
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     let waker = std::task::Waker::noop();
/// #     loop {
/// #         let mut task = std::task::Context::from_waker(waker);
/// #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut task) {
/// #             return output;
/// #         }
/// #     }
/// # }
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let keys = KeySet::<MlDsa44>::from_public_keys([key.verifying_key().as_bytes().as_slice()])?;
/// let verifier = BatchVerifier::builder().keys(keys).build()?;
/// let intake = AsyncIntake::new(Intake::new(verifier, IntakeLimits::default()));
///
/// let signature = key.sign(b"vote", Context::EMPTY, Randomness::Deterministic)?;
/// let vote = Item::new(0, b"vote", signature.as_ref());
/// block_on(async {
///     // From peer 17, with back-pressure: waits for a place.
///     let origin = Origin::peer(17, Priority::OwnRound);
///     assert_eq!(intake.submit(origin, vote).await, Ok(Outcome::Valid));
///     intake.shutdown().await;
/// });
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct AsyncIntake<P: ParameterSet>(Intake<P>);

impl<P: ParameterSet> Clone for AsyncIntake<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<P: ParameterSet> fmt::Debug for AsyncIntake<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncIntake").field(&self.0).finish()
    }
}

impl<P: ParameterSet> AsyncIntake<P> {
    /// Another handle to `intake`.
    #[must_use]
    pub fn new(intake: Intake<P>) -> Self {
        Self(intake)
    }

    /// The intake, for what needs no awaiting.
    #[must_use]
    pub fn intake(&self) -> &Intake<P> {
        &self.0
    }

    /// Submits an item and awaits its answer. While the queue is full it waits for a
    /// place, in the order in which the futures were polled first.
    ///
    /// The future resolves to the outcome with its reason or to the [`IntakeError`];
    /// to [`IntakeError::QueueFull`] only for an item that is larger than the queue.
    pub fn submit(&self, origin: impl Into<Origin>, item: impl Into<OwnedItem>) -> Submit<P> {
        Submit {
            entrance: Entrance::new(&self.0.0, origin.into()),
            item: Some(item.into()),
            pending: None,
        }
    }

    /// Submits an item without waiting for a place.
    ///
    /// # Errors
    /// The answer, if the item was not taken: [`IntakeError::QueueFull`],
    /// [`IntakeError::PeerBudget`], [`IntakeError::ShuttingDown`],
    /// [`IntakeError::HookPanicked`].
    pub fn try_submit(
        &self,
        origin: impl Into<Origin>,
        item: impl Into<OwnedItem>,
    ) -> Result<Pending<P>, IntakeError> {
        self.0.0.submit(origin.into(), item.into())
    }

    /// Submits items that go in as places become free, all under the keys of the first
    /// poll, and awaits the report on all of them. Repeats are not listed in it.
    ///
    /// The future resolves to [`Unanswered`] if some item has no verdict.
    pub fn submit_batch(
        &self,
        origin: impl Into<Origin>,
        items: impl Into<Vec<OwnedItem>>,
    ) -> SubmitBatch<P> {
        let entrance = Entrance::new(&self.0.0, origin.into());
        SubmitBatch::new(entrance, items.into(), false)
    }

    /// Submits the votes of a quorum and awaits what
    /// [`verify_quorum`](BatchVerifier::verify_quorum) says of them, under the keys of
    /// the first poll. Votes that were verified before are answered from memory, so
    /// that a certificate of votes that have been seen costs their look-up.
    ///
    /// The future resolves to [`QuorumFailure`] if there is no quorum, or if some vote
    /// has no verdict.
    pub fn submit_quorum(&self, origin: impl Into<Origin>, quorum: OwnedQuorum) -> SubmitQuorum<P> {
        SubmitQuorum {
            entrance: Some(Entrance::new(&self.0.0, origin.into())),
            quorum,
            counting: None,
        }
    }

    /// Awaits a moment when nothing waits and nothing runs.
    pub fn drain(&self) -> Drain<P> {
        Drain::new(&self.0)
    }

    /// Takes nothing more in, from now on; what waits is answered with
    /// [`IntakeError::ShuttingDown`]. Awaiting it waits for what runs.
    pub fn shutdown(&self) -> Drain<P> {
        self.0.shutdown();
        Drain::new(&self.0)
    }
}

/// The way of items into an intake, one after the other.
struct Entrance<P: ParameterSet> {
    intake: Arc<Shared<P>>,
    origin: Origin,
    /// Of the first poll.
    verifier: Option<Arc<BatchVerifier<P>>>,
    /// The item under way: since when.
    since: Option<Instant>,
    /// Its bytes, once its peer may send it.
    admitted: Option<usize>,
    /// Its place in the line of those who wait.
    ticket: Option<u64>,
}

impl<P: ParameterSet> Entrance<P> {
    fn new(intake: &Arc<Shared<P>>, origin: Origin) -> Self {
        Self {
            intake: Arc::clone(intake),
            origin,
            verifier: None,
            since: None,
            admitted: None,
            ticket: None,
        }
    }

    /// Takes the item in; afterwards there is none.
    fn poll(
        &mut self,
        item: &mut Option<OwnedItem>,
        starts: &mut Starts<'_, P>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Pending<P>, IntakeError>> {
        let verifier = self
            .verifier
            .get_or_insert_with(|| self.intake.verifier.current());
        let verifier = Arc::clone(verifier);
        let since = match (&item, self.since) {
            (None, _) => return Poll::Ready(Err(IntakeError::Abandoned)),
            (_, Some(since)) => since,
            (Some(offered), None) => {
                let since = *self.since.insert(Instant::now());
                let bytes = offered.len();
                if let Err(error) = self.intake.admit(self.origin, bytes) {
                    *item = None;
                    return Poll::Ready(Err(self.refused(error)));
                }
                self.admitted = Some(bytes);
                since
            }
        };
        loop {
            let (origin, ticket) = (self.origin, self.ticket);
            let intake = &self.intake;
            match intake.offer(&verifier, origin, since, ticket, item, starts) {
                Ok(pending) => {
                    (self.since, self.admitted) = (None, None);
                    // Who was answered from memory has left its place to others.
                    self.leave();
                    return Poll::Ready(Ok(pending));
                }
                Err(IntakeError::QueueFull) => {
                    // Nobody else may be left to make a place.
                    if is_worker(&**verifier.executor()) && self.intake.help() {
                        continue;
                    }
                    let bytes = item.as_ref().map_or(0, OwnedItem::len);
                    let waker = context.waker().clone();
                    let (ticket, replaced) = {
                        let queue = &mut self.intake.lock().queue;
                        queue.stand(origin.priority, ticket, bytes, waker)
                    };
                    self.ticket = Some(ticket);
                    // Else a place may have become free before this waker stood in the
                    // line.
                    if replaced.is_some() {
                        return Poll::Pending;
                    }
                }
                Err(error) => {
                    *item = None;
                    return Poll::Ready(Err(self.refused(error)));
                }
            }
        }
    }

    /// The answer of the item under way.
    fn refused(&mut self, error: IntakeError) -> IntakeError {
        self.leave();
        if let Some(since) = self.since.take() {
            let admitted = self.admitted.take();
            let waited = since.elapsed();
            self.intake.refuse(self.origin, admitted, error, waited);
        }
        error
    }

    fn leave(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            let (gone, woken) = {
                let queue = &mut self.intake.lock().queue;
                queue.leave(self.origin.priority, ticket, &self.intake.limits)
            };
            woken.into_iter().for_each(wake);
            caught(move || drop(gone));
        }
    }
}

impl<P: ParameterSet> Drop for Entrance<P> {
    fn drop(&mut self) {
        if self.since.is_some() {
            self.refused(IntakeError::Cancelled);
        }
    }
}

/// The answer of [`AsyncIntake::submit`], some time.
#[must_use = "futures do nothing unless they are polled"]
pub struct Submit<P: ParameterSet> {
    entrance: Entrance<P>,
    item: Option<OwnedItem>,
    pending: Option<Pending<P>>,
}

impl<P: ParameterSet> Future for Submit<P> {
    type Output = Result<Outcome, IntakeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let pending = match &mut this.pending {
            Some(pending) => pending,
            None => {
                let intake = Arc::clone(&this.entrance.intake);
                let mut starts = Starts::new(&intake);
                match this.entrance.poll(&mut this.item, &mut starts, context) {
                    Poll::Ready(Ok(pending)) => this.pending.insert(pending),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Pending,
                }
            }
        };
        Pin::new(pending).poll(context)
    }
}

/// The answer of [`AsyncIntake::submit_batch`], some time.
#[must_use = "futures do nothing unless they are polled"]
pub struct SubmitBatch<P: ParameterSet> {
    entrance: Entrance<P>,
    items: vec::IntoIter<OwnedItem>,
    /// The item on its way in.
    entering: Option<OwnedItem>,
    /// How many have gone before it.
    entered: usize,
    /// Those that are in, by index.
    pending: VecDeque<(usize, Pending<P>)>,
    outcomes: Vec<Outcome>,
    errors: Vec<(usize, IntakeError)>,
    start: Option<Instant>,
    /// Whether the first that is not valid, in order, ends it.
    strict: bool,
}

impl<P: ParameterSet> SubmitBatch<P> {
    fn new(entrance: Entrance<P>, items: Vec<OwnedItem>, strict: bool) -> Self {
        Self {
            entrance,
            outcomes: vec![Outcome::Skipped; items.len()],
            items: items.into_iter(),
            entering: None,
            entered: 0,
            pending: VecDeque::new(),
            errors: Vec::new(),
            start: None,
            strict,
        }
    }

    /// Until every item has its answer, or one of a strict batch is not valid.
    fn poll_outcomes(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.start.get_or_insert_with(Instant::now);
        let intake = Arc::clone(&self.entrance.intake);
        // Workers begin when all that this poll takes in is there.
        let mut starts = Starts::new(&intake);
        let mut taken = 0;
        loop {
            if self.entering.is_none() {
                self.entering = self.items.next();
            }
            if self.entering.is_none() {
                break;
            }
            if taken == PER_POLL {
                context.waker().wake_by_ref();
                break;
            }
            let entered = self.entrance.poll(&mut self.entering, &mut starts, context);
            match entered {
                Poll::Pending => break,
                Poll::Ready(Ok(pending)) => self.pending.push_back((self.entered, pending)),
                Poll::Ready(Err(error)) => self.errors.push((self.entered, error)),
            }
            self.entered += 1;
            taken += 1;
        }
        drop(starts);
        // In order, so that one answer at a time has somebody to wake.
        while let Some((index, pending)) = self.pending.front_mut() {
            match Pin::new(pending).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(outcome)) => {
                    self.outcomes[*index] = outcome;
                    if self.strict && !outcome.is_valid() {
                        self.items = Vec::new().into_iter();
                        self.pending.clear();
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(Err(error)) => self.errors.push((*index, error)),
            }
            self.pending.pop_front();
        }
        match self.entering {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        }
    }
}

impl<P: ParameterSet> Future for SubmitBatch<P> {
    type Output = Result<Report, Unanswered>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.poll_outcomes(context).is_pending() {
            return Poll::Pending;
        }
        let limits = &this.entrance.intake.limits;
        let mut summary = Summary {
            threads: limits.workers,
            batch_size: limits.batch,
            elapsed: this
                .start
                .map_or_else(Default::default, |start| start.elapsed()),
            ..Summary::default()
        };
        let outcomes = core::mem::take(&mut this.outcomes);
        summary.count(&outcomes);
        if let Some(verifier) = &this.entrance.verifier {
            (
                summary.cache_bytes,
                summary.cache_hits,
                summary.cache_misses,
            ) = verifier.caches();
        }
        let report = Report {
            outcomes,
            repeats: Vec::new(),
            summary,
        };
        let mut errors = core::mem::take(&mut this.errors);
        errors.sort_unstable_by_key(|(index, _)| *index);
        Poll::Ready(if errors.is_empty() {
            Ok(report)
        } else {
            Err(Unanswered {
                errors,
                report: Box::new(report),
            })
        })
    }
}

/// Some items of a batch have no verdict.
#[derive(Clone, Debug)]
pub struct Unanswered {
    /// Which, by increasing index, and why.
    pub errors: Vec<(usize, IntakeError)>,
    /// The verdicts on all others; these items are `Skipped`.
    pub report: Box<Report>,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors.first() {
            Some((index, error)) => write!(f, "item {index} has no verdict: {error}"),
            None => f.write_str("an item has no verdict"),
        }
    }
}

impl core::error::Error for Unanswered {}

/// What [`verify_quorum`](BatchVerifier::verify_quorum) is asked, owned.
#[derive(Clone, Debug)]
pub struct OwnedQuorum {
    /// What the votes are for.
    pub subject: OwnedSubject,
    /// The votes.
    pub votes: Vec<OwnedVote>,
    /// The weight of every signer.
    pub weights: Arc<Weights>,
    /// What their weight has to reach.
    pub threshold: Threshold,
    /// What is asked of the votes.
    pub policy: Policy,
    /// What a vote that stands twice means.
    pub duplicates: Duplicates,
}

impl OwnedQuorum {
    fn votes(&self) -> Vec<Vote<'_>> {
        self.votes.iter().map(OwnedVote::as_vote).collect()
    }

    fn rule(&self) -> Rule<'_> {
        Rule {
            weights: &self.weights,
            threshold: self.threshold,
            policy: self.policy,
            duplicates: self.duplicates,
        }
    }
}

/// Why an awaited quorum was not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuorumFailure {
    /// The votes are none.
    Votes(QuorumError),
    /// A vote has no verdict.
    Unanswered {
        /// Its index.
        vote: usize,
        /// Why.
        error: IntakeError,
    },
}

impl fmt::Display for QuorumFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Votes(error) => error.fmt(f),
            Self::Unanswered { vote, error } => write!(f, "vote {vote} has no verdict: {error}"),
        }
    }
}

impl core::error::Error for QuorumFailure {}

impl From<QuorumError> for QuorumFailure {
    fn from(error: QuorumError) -> Self {
        Self::Votes(error)
    }
}

/// The answer of [`AsyncIntake::submit_quorum`], some time.
#[must_use = "futures do nothing unless they are polled"]
pub struct SubmitQuorum<P: ParameterSet> {
    /// Until the first poll.
    entrance: Option<Entrance<P>>,
    quorum: OwnedQuorum,
    counting: Option<(Count, SubmitBatch<P>)>,
}

impl<P: ParameterSet> SubmitQuorum<P> {
    /// The next window of votes, or the answer.
    fn step(
        quorum: &OwnedQuorum,
        mut count: Count,
        entrance: Entrance<P>,
    ) -> Result<Result<QuorumReport, (Count, SubmitBatch<P>)>, QuorumError> {
        let votes = quorum.votes();
        if let Some(report) = count.step(&votes, quorum.rule())? {
            return Ok(Ok(report));
        }
        let subject = quorum.subject.as_subject();
        let item = |&vote: &usize| {
            let Vote { signer, signature } = votes[vote];
            OwnedItem::from(subject.item(signer, signature))
        };
        let items = count.window().iter().map(item).collect();
        let strict = quorum.policy == Policy::Strict;
        let batch = SubmitBatch::new(entrance, items, strict);
        Ok(Err((count, batch)))
    }
}

impl<P: ParameterSet> Future for SubmitQuorum<P> {
    type Output = Result<QuorumReport, QuorumFailure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let quorum = &this.quorum;
        let (mut count, mut batch) = if let Some(mut entrance) = this.entrance.take() {
            let verifier = entrance.intake.verifier.current();
            let subject = quorum.subject.as_subject();
            let count = verifier.count(&subject, &quorum.votes(), quorum.rule())?;
            entrance.verifier = Some(verifier);
            match Self::step(quorum, count, entrance)? {
                Ok(report) => return Poll::Ready(Ok(report)),
                Err(next) => next,
            }
        } else if let Some(counting) = this.counting.take() {
            counting
        } else {
            let (vote, error) = (0, IntakeError::Abandoned);
            return Poll::Ready(Err(QuorumFailure::Unanswered { vote, error }));
        };
        loop {
            if batch.poll_outcomes(context).is_pending() {
                this.counting = Some((count, batch));
                return Poll::Pending;
            }
            // A vote that is proven invalid is an answer, whatever became of those after it.
            let refused = |outcome: &Outcome| matches!(outcome, Outcome::Invalid(_));
            let proven = batch.outcomes.iter().position(refused);
            let proven = proven.filter(|_| batch.strict).unwrap_or(usize::MAX);
            let errors = batch.errors.iter().filter(|(index, _)| *index < proven);
            if let Some(&(index, error)) = errors.min_by_key(|(index, _)| *index) {
                let vote = count.window().get(index).copied().unwrap_or_default();
                return Poll::Ready(Err(QuorumFailure::Unanswered { vote, error }));
            }
            count.told(&quorum.votes(), quorum.rule(), &batch.outcomes)?;
            let mut entrance = Entrance::new(&batch.entrance.intake, batch.entrance.origin);
            entrance.verifier = batch.entrance.verifier.take();
            (count, batch) = match Self::step(quorum, count, entrance)? {
                Ok(report) => return Poll::Ready(Ok(report)),
                Err(next) => next,
            };
        }
    }
}

/// A moment when an intake is idle, awaited ([`AsyncIntake::drain`]).
#[must_use = "futures do nothing unless they are polled"]
pub struct Drain<P: ParameterSet> {
    intake: Intake<P>,
    /// How often it had been idle at the first poll.
    since: Option<u64>,
    /// What the waker of this future is found by.
    ticket: Option<u64>,
}

impl<P: ParameterSet> Drain<P> {
    fn new(intake: &Intake<P>) -> Self {
        Self {
            intake: intake.clone(),
            since: None,
            ticket: None,
        }
    }
}

impl<P: ParameterSet> Future for Drain<P> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let shared = &*this.intake.0;
        let helps = is_worker(&**shared.verifier.current().executor());
        let waker = context.waker().clone();
        let mut state = shared.lock();
        let since = *this.since.get_or_insert(state.rests);
        if state.queue.is_idle() || state.rests != since {
            return Poll::Ready(());
        }
        if helps && state.queue.is_waiting() {
            // One batch a poll: other tasks of this thread want to run, too.
            drop(state);
            shared.help();
            wake(waker);
            return Poll::Pending;
        }
        let Guarded {
            draining,
            next_ticket,
            ..
        } = &mut *state;
        let ticket = *this.ticket.get_or_insert_with(|| {
            *next_ticket += 1;
            *next_ticket
        });
        let replaced = draining.insert(ticket, waker);
        drop(state);
        drop(replaced);
        Poll::Pending
    }
}

impl<P: ParameterSet> Drop for Drain<P> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let gone = self.intake.0.lock().draining.remove(&ticket);
            caught(move || drop(gone));
        }
    }
}

macro_rules! opaque {
    ($($name:ident)+) => {$(
        impl<P: ParameterSet> fmt::Debug for $name<P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )+};
}

opaque!(Submit SubmitBatch SubmitQuorum Drain);
