//! Votes that arrive one by one and are verified together.

mod state;

use core::fmt;
use core::future::Future;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::sync::atomic::Ordering;
use core::task::{Context, Poll};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use mldsa_core::ParameterSet;

use self::state::State;
use crate::memory::{Memory, MemoryStats};
use crate::oneshot::{Lost, Receiver, Reply, oneshot};
use crate::schedule::LANES;
use crate::{BatchVerifier, Duplicates, EpochVerifier, Item, KeySet, Outcome, OwnedItem};

/// How much an [`Intake`] holds and does at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntakeLimits {
    /// Items that wait, for each priority.
    pub items: usize,
    /// Bytes that wait, for each priority.
    pub bytes: usize,
    /// Items of a batch, at least 8.
    pub batch: usize,
    /// Batches at once, each on one thread of the verifier's executor; 0 for as many
    /// as it has.
    pub workers: usize,
    /// Bytes of valid items that are remembered.
    pub memory_bytes: usize,
}

impl Default for IntakeLimits {
    /// 4096 items and 64 MiB for each priority, batches of 64, as many at a time as
    /// the executor has workers, 16 MiB of memory.
    fn default() -> Self {
        Self {
            items: 4096,
            bytes: 64 << 20,
            batch: 64,
            workers: 0,
            memory_bytes: 16 << 20,
        }
    }
}

/// What is verified first when more waits than a batch holds. One place in eight is
/// kept for each lower priority, so that none starves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Priority {
    /// Votes of the round that is being decided.
    #[default]
    OwnRound,
    /// Votes of the next round.
    NextRound,
    /// Everything that catches up.
    Sync,
}

impl Priority {
    /// All, the first first.
    pub const ALL: [Self; 3] = [Self::OwnRound, Self::NextRound, Self::Sync];
}

/// Why an item has no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntakeError {
    /// As much waits with this priority as its limits allow.
    QueueFull,
    /// The peer's budget is spent ([`Admission`]).
    PeerBudget,
    /// The intake takes nothing more in.
    ShuttingDown,
    /// The admission hook panicked.
    HookPanicked,
    /// The executor dropped the work, or the answer was taken before.
    Abandoned,
}

impl fmt::Display for IntakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QueueFull => "the queue is full",
            Self::PeerBudget => "the budget of the peer is spent",
            Self::ShuttingDown => "the intake is shutting down",
            Self::HookPanicked => "the admission hook panicked",
            Self::Abandoned => "the item was given up",
        })
    }
}

impl core::error::Error for IntakeError {}

/// Budgets by network peer, never by claimed signer: a forged vote is the fault of
/// who sent it.
///
/// A panic is an error of that item alone.
pub trait Admission: Send + Sync {
    /// Whether an item of so many bytes by this peer may wait.
    fn admits(&self, peer: u64, bytes: usize) -> bool;

    /// What became of an item by this peer.
    fn verdict(&self, _peer: u64, _outcome: Outcome) {}
}

/// Collects what arrives and verifies it in batches, with no delay: a batch is cut
/// whenever a worker is free, so that a lone item runs at once and a crowd shares
/// lanes. Valid items of members are remembered, and asking for them again is
/// answered from memory; refusals never are.
///
/// Clones are handles to one intake.
///
/// ```
/// use batch_verify::{BatchVerifier, Intake, IntakeLimits, Item, KeySet, Outcome};
/// use mldsa_core::{Context, Hedge, MlDsa44, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let keys = KeySet::<MlDsa44>::from_public_keys([key.verifying_key().as_bytes().as_slice()])?;
/// let intake = Intake::new(BatchVerifier::builder().keys(keys).build()?, IntakeLimits::default());
///
/// let signature = key.sign(b"vote", Context::EMPTY, Hedge::Deterministic)?;
/// let vote = Item::new(0, b"vote", signature.as_ref());
/// // What the network hands over, verified while the engine does something else.
/// intake.submit(vote)?.detach();
/// // What the engine asks for one by one.
/// assert_eq!(intake.verify(vote), Outcome::Valid);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Intake<P: ParameterSet>(Arc<Shared<P>>);

struct Shared<P: ParameterSet> {
    verifier: EpochVerifier<P>,
    limits: IntakeLimits,
    memory: Memory,
    admission: Option<Box<dyn Admission>>,
    state: Mutex<(State<Entry>, IntakeStats)>,
    idle: Condvar,
}

/// An item that waits.
struct Entry {
    item: OwnedItem,
    peer: Option<u64>,
    since: Instant,
    reply: Reply<Answer>,
}

type Answer = Result<Outcome, IntakeError>;

impl Lost for Answer {
    const LOST: Self = Err(IntakeError::Abandoned);
}

/// What an intake did since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntakeStats {
    /// Items that were submitted or asked for.
    pub items: u64,
    /// Items that waiting had no place for.
    pub queue_full: u64,
    /// Items over the budget of their peer.
    pub peer_budget: u64,
    /// Items that came, or were still waiting, when the intake was shut down.
    pub shutting_down: u64,
    /// Panics of the admission hook.
    pub hook_panics: u64,
    /// Items called off before they were in a batch.
    pub cancelled: u64,
    /// Items that were verified.
    pub verified: u64,
    /// Batches they were verified in.
    pub batches: u64,
    /// How long those that were verified had waited, together.
    pub waited: Duration,
    /// The longest of these times.
    pub longest_wait: Duration,
    /// Items that wait now.
    pub waiting: usize,
    /// The memory of verdicts.
    pub memory: MemoryStats,
}

impl<P: ParameterSet> Clone for Intake<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: ParameterSet> fmt::Debug for Intake<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intake")
            .field("verifier", &self.0.verifier)
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}

impl<P: ParameterSet> Intake<P> {
    /// An intake in front of `verifier`, whose mode and rule for repeats play no
    /// part: every item has its own verdict.
    #[must_use]
    pub fn new(verifier: BatchVerifier<P>, limits: IntakeLimits) -> Self {
        Self::build(verifier, limits, None)
    }

    /// The same with budgets for peers.
    #[must_use]
    pub fn with_admission(
        verifier: BatchVerifier<P>,
        limits: IntakeLimits,
        admission: impl Admission + 'static,
    ) -> Self {
        Self::build(verifier, limits, Some(Box::new(admission)))
    }

    fn build(
        verifier: BatchVerifier<P>,
        limits: IntakeLimits,
        admission: Option<Box<dyn Admission>>,
    ) -> Self {
        let limits = IntakeLimits {
            batch: limits.batch.max(LANES),
            workers: match limits.workers {
                0 => verifier.executor().workers().max(1),
                workers => workers,
            },
            ..limits
        };
        Self(Arc::new(Shared {
            verifier: EpochVerifier::new(verifier),
            limits,
            memory: Memory::new(limits.memory_bytes),
            admission,
            state: Mutex::new((State::new(), IntakeStats::default())),
            idle: Condvar::new(),
        }))
    }

    /// Takes an item in, with the highest priority and by nobody's budget. Dropping
    /// the answer calls the item off unless it is in a batch;
    /// [`detach`](Pending::detach) keeps it.
    ///
    /// # Errors
    /// [`IntakeError::QueueFull`], [`IntakeError::ShuttingDown`]: the item was not
    /// taken, and this is its answer.
    pub fn submit(&self, item: impl Into<OwnedItem>) -> Result<Pending<P>, IntakeError> {
        self.0.submit(item.into(), Priority::OwnRound, None)
    }

    /// Takes an item in that `peer` has sent.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), [`IntakeError::PeerBudget`],
    /// [`IntakeError::HookPanicked`].
    pub fn submit_from(
        &self,
        peer: u64,
        priority: Priority,
        item: impl Into<OwnedItem>,
    ) -> Result<Pending<P>, IntakeError> {
        self.0.submit(item.into(), priority, Some(peer))
    }

    /// The verdict on one item, now: from memory, or verified on this thread,
    /// together with a few that wait if any do. For engines that ask for one vote
    /// and wait. It is not refused for any limit.
    pub fn verify(&self, item: Item<'_>) -> Outcome {
        let shared = &*self.0;
        let verifier = shared.verifier.current();
        if shared.memory.knows(&verifier.judge, &item) {
            shared.lock().1.items += 1;
            return Outcome::Valid;
        }
        let waiting = {
            let mut state = shared.lock();
            state.1.items += 1;
            // As many as share lanes with it.
            state.0.cut(LANES - 1)
        };
        let outcome = if waiting.is_empty() {
            let outcome = verifier.verify_one(item);
            shared.count(1);
            outcome
        } else {
            shared.run(&verifier, Some(item), waiting)
        };
        if outcome.is_valid() {
            shared.memory.put(&verifier.judge, OwnedItem::from(item));
        }
        outcome
    }

    /// Whether an item is remembered as valid under the present keys.
    pub fn remembers(&self, item: Item<'_>) -> bool {
        self.0.memory.knows(&self.0.verifier.current().judge, &item)
    }

    /// From the next batch on, verifies under `keys`. Returns the verifier that was
    /// replaced. What is remembered holds for the keys it was verified under.
    pub fn replace_keys(&self, keys: KeySet<P>) -> Arc<BatchVerifier<P>> {
        self.0.verifier.replace_keys(keys)
    }

    /// The verifier of now.
    #[must_use]
    pub fn verifier(&self) -> Arc<BatchVerifier<P>> {
        self.0.verifier.current()
    }

    /// Returns when nothing waits and nothing runs; this thread helps. Not to be
    /// called from a hook.
    pub fn drain(&self) {
        while self.0.help() {}
        let mut state = self.0.lock();
        while !state.0.is_idle() {
            let idle = self.0.idle.wait(state);
            state = idle.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes nothing more in; what waits is answered with
    /// [`IntakeError::ShuttingDown`], what runs with its verdict.
    pub fn shutdown(&self) {
        let waiting = {
            let mut state = self.0.lock();
            let waiting = state.0.close();
            state.1.shutting_down += waiting.len() as u64;
            waiting
        };
        for entry in waiting {
            entry.reply.send(Err(IntakeError::ShuttingDown));
        }
        self.0.idle.notify_all();
    }

    /// What was done so far.
    #[must_use]
    pub fn stats(&self) -> IntakeStats {
        let state = self.0.lock();
        IntakeStats {
            waiting: state.0.waiting(),
            memory: self.0.memory.stats(),
            ..state.1
        }
    }
}

impl<P: ParameterSet> Shared<P> {
    fn lock(&self) -> MutexGuard<'_, (State<Entry>, IntakeStats)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(
        self: &Arc<Self>,
        item: OwnedItem,
        priority: Priority,
        peer: Option<u64>,
    ) -> Result<Pending<P>, IntakeError> {
        let bytes = item.len();
        self.lock().1.items += 1;
        if let (Some(peer), Some(admission)) = (peer, &self.admission) {
            match self.hook(|| admission.admits(peer, bytes)) {
                Some(true) => {}
                Some(false) => {
                    self.lock().1.peer_budget += 1;
                    return Err(IntakeError::PeerBudget);
                }
                None => return Err(IntakeError::HookPanicked),
            }
        }
        let (reply, answer) = oneshot();
        let pending = Pending {
            answer: Some(answer),
            intake: Arc::clone(self),
        };
        let entry = Entry {
            item,
            peer,
            since: Instant::now(),
            reply,
        };
        let verifier = self.verifier.current();
        if self.memory.knows(&verifier.judge, &entry.item.as_item()) {
            self.answer(&verifier, entry, Outcome::Valid);
            return Ok(pending);
        }
        let submitted = {
            let mut state = self.lock();
            let (queue, stats) = &mut *state;
            let submitted = queue.submit(priority, entry, bytes, &self.limits);
            match &submitted {
                Err((_, IntakeError::QueueFull)) => stats.queue_full += 1,
                Err(_) => stats.shutting_down += 1,
                Ok(_) => {}
            }
            submitted
        };
        match submitted {
            Err((_, error)) => Err(error),
            Ok(start) => {
                if start {
                    let worker = Worker(Some(Arc::clone(self)));
                    verifier.executor().spawn(Box::new(move || worker.run()));
                }
                Ok(pending)
            }
        }
    }

    /// Verifies what waits, at most one batch, on this thread. False if nothing does.
    fn help(&self) -> bool {
        let waiting = self.lock().0.cut(self.limits.batch);
        if waiting.is_empty() {
            return false;
        }
        self.run(&self.verifier.current(), None, waiting);
        true
    }

    /// Verifies a batch that was cut, and beside it an item of the caller's, whose
    /// outcome is returned.
    fn run(
        &self,
        verifier: &BatchVerifier<P>,
        own: Option<Item<'_>>,
        waiting: Vec<Entry>,
    ) -> Outcome {
        // Also when something panics: replies that are dropped say so.
        let _answered = Answered(self);
        let (waiting, called_off): (Vec<Entry>, Vec<Entry>) = waiting
            .into_iter()
            .partition(|entry| !entry.reply.cancelled().load(Ordering::Relaxed));
        {
            let now = Instant::now();
            let stats = &mut self.lock().1;
            stats.cancelled += called_off.len() as u64;
            for entry in &waiting {
                let waited = now.saturating_duration_since(entry.since);
                stats.waited += waited;
                stats.longest_wait = stats.longest_wait.max(waited);
            }
        }
        drop(called_off);
        let items: Vec<Item<'_>> = waiting
            .iter()
            .map(|entry| entry.item.as_item())
            .chain(own)
            .collect();
        // On this thread: one that waited for helpers could meanwhile pick up somebody
        // who waits for this batch.
        // Equal votes share a verdict, whatever the verifier does with repeats.
        let once = Some(Duplicates::Once);
        let (mut outcomes, _) = verifier.verify_alone(&items, |_, item| *item, once, None);
        self.count(items.len());
        drop(items);
        let own = own.and_then(|_| outcomes.pop());
        for (entry, outcome) in waiting.into_iter().zip(outcomes) {
            self.answer(verifier, entry, outcome);
        }
        own.unwrap_or(Outcome::Skipped)
    }

    fn count(&self, items: usize) {
        let stats = &mut self.lock().1;
        stats.verified += items as u64;
        stats.batches += u64::from(items > 0);
    }

    /// Tells everybody. `verifier` is the one that gave the outcome.
    fn answer(&self, verifier: &BatchVerifier<P>, entry: Entry, outcome: Outcome) {
        let Entry {
            item, peer, reply, ..
        } = entry;
        if outcome.is_valid() {
            // First: who has the answer may ask again.
            self.memory.put(&verifier.judge, item);
        }
        if let (Some(peer), Some(admission)) = (peer, &self.admission) {
            self.hook(|| admission.verdict(peer, outcome));
        }
        reply.send(Ok(outcome));
    }

    /// `None` if the caller's code panics.
    fn hook<R>(&self, hook: impl FnOnce() -> R) -> Option<R> {
        let result = catch_unwind(AssertUnwindSafe(hook));
        // Dropping the payload could panic again.
        let result = result.map_err(mem::forget).ok();
        self.lock().1.hook_panics += u64::from(result.is_none());
        result
    }
}

/// Ends a batch on every path.
struct Answered<'a, P: ParameterSet>(&'a Shared<P>);

impl<P: ParameterSet> Drop for Answered<'_, P> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.0.answered();
        if state.0.is_idle() {
            self.0.idle.notify_all();
        }
    }
}

/// A job of the executor. Dropped instead of run, it says so.
struct Worker<P: ParameterSet>(Option<Arc<Shared<P>>>);

impl<P: ParameterSet> Worker<P> {
    fn run(mut self) {
        let Some(shared) = self.0.take() else { return };
        loop {
            let waiting = shared.lock().0.cut_or_retire(shared.limits.batch);
            if waiting.is_empty() {
                return;
            }
            let batch = || shared.run(&shared.verifier.current(), None, waiting);
            // The metrics and waker of a caller are caught already; nothing else may
            // take a worker down.
            let _ = catch_unwind(AssertUnwindSafe(batch)).map_err(mem::forget);
        }
    }
}

impl<P: ParameterSet> Drop for Worker<P> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            let lost = shared.lock().0.lost_worker();
            // Dropped replies answer.
            drop(lost);
            shared.idle.notify_all();
        }
    }
}

/// The answer to an item, some time: to be awaited on any executor, or waited for.
/// Exactly one comes: the outcome, or the [`IntakeError`].
///
/// Who waits, or polls on a worker of the verifier's pool, verifies what waits
/// meanwhile.
#[must_use = "dropping it calls the item off; detach() does not"]
pub struct Pending<P: ParameterSet> {
    answer: Option<Receiver<Answer>>,
    intake: Arc<Shared<P>>,
}

impl<P: ParameterSet> Pending<P> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// [`IntakeError::ShuttingDown`], [`IntakeError::Abandoned`].
    pub fn wait(mut self) -> Result<Outcome, IntakeError> {
        let Some(answer) = self.answer.take() else {
            return Answer::LOST;
        };
        loop {
            if let Poll::Ready(answer) = answer.take() {
                return answer;
            }
            if !self.intake.help() {
                return answer.wait();
            }
        }
    }

    /// Has the item verified, and remembered, for nobody in particular.
    pub fn detach(mut self) {
        self.answer = None;
    }
}

impl<P: ParameterSet> Future for Pending<P> {
    type Output = Result<Outcome, IntakeError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(answer) = &self.answer else {
            return Poll::Ready(Answer::LOST);
        };
        if self.intake.verifier.current().executor().is_worker() {
            while answer.is_waiting() && self.intake.help() {}
        }
        answer.take_or_wake(|| context.waker().clone())
    }
}

impl<P: ParameterSet> Drop for Pending<P> {
    fn drop(&mut self) {
        if let Some(answer) = &self.answer {
            answer.cancel();
        }
    }
}

impl<P: ParameterSet> fmt::Debug for Pending<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pending").field(&self.answer).finish()
    }
}
