//! Votes that arrive one by one and are verified together.

mod ask;
#[cfg(feature = "async")]
mod front;
mod metrics;
mod state;
mod worker;

use core::fmt;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::sync::atomic::Ordering;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use mldsa_core::ParameterSet;

#[cfg(feature = "async")]
pub use self::front::{
    AsyncIntake, Drain, OwnedQuorum, QuorumFailure, Submit, SubmitBatch, SubmitQuorum, Unanswered,
};
pub use self::metrics::{Answered, IntakeMetrics, Verified};
use self::state::State;
use self::worker::Worker;
use crate::caught::{caught, wake};
use crate::executor::{is_worker, workers};
use crate::memory::{Memory, MemoryStats};
use crate::oneshot::{Lost, Receiver, Reply, oneshot};
use crate::schedule::{LANES, Request};
use crate::{BatchVerifier, Duplicates, EpochVerifier, Item, KeySet, Outcome, OwnedItem};

/// How much an [`Intake`] holds and does at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntakeLimits {
    /// Items that wait, for each priority, those called off included until a batch is
    /// cut. Whoever awaits a place has a claim to one, polled or not.
    pub items: usize,
    /// Bytes that wait, for each priority.
    pub bytes: usize,
    /// Bytes of the longest item that is taken in, and of the longest that is remembered:
    /// whoever shares a batch with an item waits until its message is hashed. Sign the hash
    /// of what is longer, or raise this.
    pub item_bytes: usize,
    /// Items of a batch, at least 8.
    pub batch: usize,
    /// Batches at once, each on one thread of the verifier's executor; 0 for as many
    /// as it has, which is the most.
    ///
    /// Each batch is a job of the executor, and between two of them other work of the
    /// pool goes first, so that intakes which are loaded share a pool with each other
    /// and with everything else. A job of that pool that needs an answer calls
    /// [`Pending::wait`] or polls; one that blocks otherwise keeps a thread, and on top
    /// of the last worker also the items that waited already, until it returns or more
    /// are submitted: the first of these may have to wait as well.
    pub workers: usize,
    /// Bytes of valid items that are remembered; their buffers may be an eighth larger.
    pub memory_bytes: usize,
}

impl Default for IntakeLimits {
    /// 4096 items and 64 MiB for each priority, of 256 KiB at most each, batches of 128, as
    /// many at a time as the executor has workers, 16 MiB of memory.
    fn default() -> Self {
        Self {
            items: 4096,
            bytes: 64 << 20,
            item_bytes: 256 << 10,
            batch: 128,
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

/// Where an item comes from, and how urgent it is. The default is the node itself,
/// with the highest priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The network peer who has sent it; `None` for the node itself, whose items are
    /// under no budget.
    pub peer: Option<u64>,
    /// When it is verified.
    pub priority: Priority,
}

impl Origin {
    /// An item that a network peer has sent.
    #[must_use]
    pub const fn peer(peer: u64, priority: Priority) -> Self {
        Self {
            peer: Some(peer),
            priority,
        }
    }
}

impl From<Priority> for Origin {
    /// The node itself.
    fn from(priority: Priority) -> Self {
        Self {
            peer: None,
            priority,
        }
    }
}

/// Why an item has no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntakeError {
    /// As much waits with this priority as its limits allow.
    QueueFull,
    /// It is longer than the limits take in.
    TooLarge,
    /// The peer's budget is spent ([`Admission`]).
    PeerBudget,
    /// The intake takes nothing more in.
    ShuttingDown,
    /// The admission hook panicked.
    HookPanicked,
    /// The executor dropped the work, or the answer was taken before.
    Abandoned,
    /// Whoever asked has dropped the answer: seen by [`IntakeMetrics`] only.
    Cancelled,
}

impl fmt::Display for IntakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QueueFull => "the queue is full",
            Self::TooLarge => "the item is too large",
            Self::PeerBudget => "the budget of the peer is spent",
            Self::ShuttingDown => "the intake is shutting down",
            Self::HookPanicked => "the admission hook panicked",
            Self::Abandoned => "the item was given up",
            Self::Cancelled => "the item was called off",
        })
    }
}

impl core::error::Error for IntakeError {}

/// Budgets by network peer, never by claimed signer: a forged vote is the fault of
/// who sent it.
///
/// A panic is an error of that item alone. A hook does not wait for the intake: the
/// batch it would wait for may be the one it is told of. It is to be quick: of a batch
/// that is awaited up to 128 items are asked about before a worker is started for any of
/// them.
pub trait Admission: Send + Sync {
    /// Whether an item of so many bytes by this peer may wait. Asked of no item that is
    /// larger than the queue.
    fn admits(&self, peer: u64, bytes: usize) -> bool;

    /// What became of an item by this peer.
    fn verdict(&self, _peer: u64, _outcome: Outcome) {}

    /// An item that was admitted is gone, whatever its answer: once for each
    /// [`admits`](Self::admits) that said so, with the same bytes.
    fn released(&self, _peer: u64, _bytes: usize, _answer: Result<Outcome, IntakeError>) {}
}

/// Collects what arrives and verifies it in batches, with no delay: a batch is cut
/// whenever a worker is free, so that a lone item runs at once and a crowd shares
/// lanes. Valid items of members are remembered, and asking for them again is
/// answered from memory; refusals never are.
///
/// Peers are served in turn, so that one who sends much delays itself; one whose last
/// item was refused has the lanes that others leave empty, and a group in eight. That
/// decides who waits, never a verdict.
///
/// An item is verified under the keys of the time when it was submitted: an id means
/// who it meant then, whatever set comes next.
///
/// Clones are handles to one intake.
///
/// ```
/// use batch_verify::{BatchVerifier, Intake, IntakeLimits, Item, KeySet, Outcome};
/// use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let keys = KeySet::<MlDsa44>::from_public_keys([key.verifying_key().as_bytes().as_slice()])?;
/// let intake = Intake::new(BatchVerifier::builder().keys(keys).build()?, IntakeLimits::default());
///
/// let signature = key.sign(b"vote", Context::EMPTY, Randomness::Deterministic)?;
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
    metrics: Option<Box<dyn IntakeMetrics>>,
    state: Mutex<Guarded<P>>,
    idle: Condvar,
}

/// What the lock guards.
struct Guarded<P: ParameterSet> {
    queue: State<Entry<P>, Waker>,
    stats: IntakeStats,
    /// How often it has become idle.
    rests: u64,
    /// Threads that sleep in [`Intake::drain`]; to wake none costs a call of the system
    /// too.
    asleep: usize,
    /// Those who await the idle intake, by ticket.
    #[cfg(feature = "async")]
    draining: std::collections::BTreeMap<u64, Waker>,
    #[cfg(feature = "async")]
    next_ticket: u64,
}

/// An item that waits.
struct Entry<P: ParameterSet> {
    item: OwnedItem,
    origin: Origin,
    since: Instant,
    /// Of the time when the item was submitted.
    verifier: Arc<BatchVerifier<P>>,
    /// What the memory of verdicts finds it by.
    hash: Option<u64>,
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
    /// Items that were too large.
    pub too_large: u64,
    /// Items over the budget of their peer.
    pub peer_budget: u64,
    /// Items that came, or were still waiting, when the intake was shut down.
    pub shutting_down: u64,
    /// Panics of the caller's hooks.
    pub hook_panics: u64,
    /// Items whose work the executor has dropped.
    pub abandoned: u64,
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
        Self::builder(verifier).limits(limits).build()
    }

    /// The same with budgets for peers.
    #[must_use]
    pub fn with_admission(
        verifier: BatchVerifier<P>,
        limits: IntakeLimits,
        admission: impl Admission + 'static,
    ) -> Self {
        let builder = Self::builder(verifier).limits(limits);
        builder.admission(admission).build()
    }

    /// Chooses limits, budgets and metrics first.
    pub fn builder(verifier: BatchVerifier<P>) -> IntakeBuilder<P> {
        IntakeBuilder {
            verifier,
            limits: IntakeLimits::default(),
            admission: None,
            metrics: None,
        }
    }

    /// Takes an item in, with the highest priority and by nobody's budget. Dropping
    /// the answer calls the item off unless it is in a lane;
    /// [`detach`](Pending::detach) keeps it.
    ///
    /// # Errors
    /// [`IntakeError::QueueFull`], [`IntakeError::ShuttingDown`]: the item was not
    /// taken, and this is its answer.
    pub fn submit(&self, item: impl Into<OwnedItem>) -> Result<Pending<P>, IntakeError> {
        self.0.submit(Origin::default(), item.into())
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
        self.0.submit(Origin::peer(peer, priority), item.into())
    }

    /// Takes in items that have arrived together, each as
    /// [`submit_from`](Self::submit_from) does and with an answer of its own, in their
    /// order. None is in a batch before all are in, so that no batch begins with the first
    /// of them alone.
    ///
    /// ```
    /// # use batch_verify::{BatchVerifier, Intake, IntakeLimits, Item, KeySet};
    /// use batch_verify::{Origin, Outcome, Priority};
    /// # use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
    /// # let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
    /// # let keys = KeySet::<MlDsa44>::from_public_keys([key.verifying_key()])?;
    /// # let verifier = BatchVerifier::builder().keys(keys).build()?;
    /// # let intake = Intake::new(verifier, IntakeLimits::default());
    /// # let [first, second] = [b"1", b"2"].map(|vote| {
    /// #     key.sign(vote, Context::EMPTY, Randomness::Deterministic).unwrap()
    /// # });
    /// let inbox = [
    ///     (17, Item::new(0, b"1", first.as_ref())),
    ///     (23, Item::new(0, b"2", second.as_ref())),
    /// ];
    /// let of = |(peer, item)| (Origin::peer(peer, Priority::OwnRound), item);
    /// for answer in intake.submit_all(inbox.map(of)) {
    ///     // `QueueFull` and `PeerBudget` are errors of one item.
    ///     assert_eq!(answer?.wait(), Ok(Outcome::Valid));
    /// }
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn submit_all<I: Into<OwnedItem>>(
        &self,
        items: impl IntoIterator<Item = (Origin, I)>,
    ) -> Vec<Result<Pending<P>, IntakeError>> {
        // First, since it is the caller's code.
        let items = items
            .into_iter()
            .map(|(origin, item)| (origin, item.into()));
        self.0.submit_all(items.collect())
    }

    /// Whether an item is remembered as valid under the present keys. Changes nothing,
    /// the figures included.
    pub fn remembers(&self, item: Item<'_>) -> bool {
        let verifier = self.0.verifier.current();
        let sought = self.0.memory.sought(&verifier.judge, &item);
        sought.is_some_and(|sought| self.0.memory.holds(&sought, &item))
    }

    /// Items submitted from now on are verified under `keys`, those that wait under
    /// the keys they came under. Returns the verifier that was replaced. What is
    /// remembered holds for the keys it was verified under.
    pub fn replace_keys(&self, keys: KeySet<P>) -> Arc<BatchVerifier<P>> {
        self.0.verifier.replace_keys(keys)
    }

    /// The verifier of now.
    #[must_use]
    pub fn verifier(&self) -> Arc<BatchVerifier<P>> {
        self.0.verifier.current()
    }

    /// Returns when nothing waits and nothing runs, or that has been so meanwhile; this
    /// thread helps. Not to be called from a hook, whose batch it would wait for.
    pub fn drain(&self) {
        let mut state = self.0.lock();
        let since = state.rests;
        while !state.queue.is_idle() && state.rests == since {
            if !state.queue.is_waiting() {
                // Woken by what is submitted, too: nobody else may be left to verify it.
                state.asleep += 1;
                let woken = self.0.idle.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
                state.asleep -= 1;
            } else {
                drop(state);
                self.0.help();
                self.0.let_others_go_first();
                state = self.0.lock();
            }
        }
    }

    /// Takes nothing more in; what waits is answered with
    /// [`IntakeError::ShuttingDown`], what runs with its verdict.
    pub fn shutdown(&self) {
        let waiting = self.0.cut(|state| state.queue.close());
        self.0.refuse_all(waiting, IntakeError::ShuttingDown);
    }

    /// What was done so far.
    #[must_use]
    pub fn stats(&self) -> IntakeStats {
        let state = self.0.lock();
        IntakeStats {
            waiting: state.queue.waiting().iter().sum(),
            memory: self.0.memory.stats(),
            ..state.stats
        }
    }
}

/// Collects the choices for an [`Intake`].
#[must_use]
pub struct IntakeBuilder<P: ParameterSet> {
    verifier: BatchVerifier<P>,
    limits: IntakeLimits,
    admission: Option<Box<dyn Admission>>,
    metrics: Option<Box<dyn IntakeMetrics>>,
}

impl<P: ParameterSet> IntakeBuilder<P> {
    /// How much it holds and does at once.
    pub fn limits(self, limits: IntakeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Budgets for peers.
    pub fn admission(self, admission: impl Admission + 'static) -> Self {
        let admission: Option<Box<dyn Admission>> = Some(Box::new(admission));
        Self { admission, ..self }
    }

    /// Who is told what happens.
    pub fn metrics(self, metrics: impl IntakeMetrics + 'static) -> Self {
        let metrics: Option<Box<dyn IntakeMetrics>> = Some(Box::new(metrics));
        Self { metrics, ..self }
    }

    /// Builds the intake. Its workers are started when there is work.
    #[must_use]
    pub fn build(self) -> Intake<P> {
        let threads = workers(&**self.verifier.executor());
        let limits = IntakeLimits {
            batch: self.limits.batch.max(LANES),
            workers: match self.limits.workers {
                0 => threads,
                workers => workers.min(threads),
            },
            ..self.limits
        };
        Intake(Arc::new(Shared {
            verifier: EpochVerifier::new(self.verifier),
            limits,
            memory: Memory::new(limits.memory_bytes, limits.item_bytes),
            admission: self.admission,
            metrics: self.metrics,
            state: Mutex::new(Guarded {
                queue: State::new(),
                stats: IntakeStats::default(),
                rests: 0,
                asleep: 0,
                #[cfg(feature = "async")]
                draining: std::collections::BTreeMap::new(),
                #[cfg(feature = "async")]
                next_ticket: 0,
            }),
            idle: Condvar::new(),
        }))
    }
}

impl<P: ParameterSet> fmt::Debug for IntakeBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntakeBuilder")
            .field("verifier", &self.verifier)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl<P: ParameterSet> Shared<P> {
    fn lock(&self) -> MutexGuard<'_, Guarded<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes entries out, and wakes who may have their places.
    fn cut(&self, step: impl FnOnce(&mut Guarded<P>) -> Vec<Entry<P>>) -> Vec<Entry<P>> {
        let mut state = self.lock();
        let entries = step(&mut state);
        let woken = if entries.is_empty() && !state.queue.is_closed() {
            Vec::new()
        } else {
            state.queue.woken(&self.limits)
        };
        drop(state);
        woken.into_iter().for_each(wake);
        entries
    }

    fn submit(
        self: &Arc<Self>,
        origin: Origin,
        item: OwnedItem,
    ) -> Result<Pending<P>, IntakeError> {
        let verifier = self.verifier.current();
        let since = Instant::now();
        let bytes = item.len();
        if let Err(error) = self.admit(origin, bytes) {
            self.refuse(origin, None, error, Duration::ZERO);
            return Err(error);
        }
        let mut starts = Starts::new(self);
        let offered = self.offer(&verifier, origin, since, None, &mut Some(item), &mut starts);
        offered.inspect_err(|&error| self.refuse(origin, Some(bytes), error, Duration::ZERO))
    }

    /// The same for items that arrive together, whose places are found in one step.
    fn submit_all(
        self: &Arc<Self>,
        items: Vec<(Origin, OwnedItem)>,
    ) -> Vec<Result<Pending<P>, IntakeError>> {
        let verifier = self.verifier.current();
        let since = Instant::now();
        let mut entries = Vec::with_capacity(items.len());
        let mut answers = Vec::with_capacity(items.len());
        for (origin, item) in items {
            let answer = self.admit(origin, item.len()).map(|()| {
                let (pending, entry) = self.present(&verifier, origin, since, item);
                entries.extend(entry.map(|entry| (answers.len(), entry)));
                pending
            });
            if let Err(error) = answer {
                self.refuse(origin, None, error, Duration::ZERO);
            }
            answers.push(answer);
        }
        let mut starts = Starts::new(self);
        let mut refused = Vec::new();
        let mut state = self.lock();
        for (index, entry) in entries {
            let mut entry = Some(entry);
            if let Err(error) = self.place(&mut state, None, &mut entry, &mut starts) {
                refused.push((index, entry, error));
            }
        }
        self.stir(state);
        // Before hooks are called, which may take their time.
        drop(starts);
        for (index, entry, error) in refused {
            answers[index] = Err(error);
            if let Some(Entry { origin, item, .. }) = entry {
                self.refuse(origin, Some(item.len()), error, Duration::ZERO);
            }
        }
        answers
    }

    /// Counts an item of so many bytes, and asks whether its peer may send it.
    fn admit(&self, origin: Origin, bytes: usize) -> Result<(), IntakeError> {
        {
            let mut state = self.lock();
            state.stats.items += 1;
            if state.queue.is_closed() {
                return Err(IntakeError::ShuttingDown);
            }
        }
        if bytes > self.limits.item_bytes {
            return Err(IntakeError::TooLarge);
        }
        if self.limits.items == 0 || bytes > self.limits.bytes {
            return Err(IntakeError::QueueFull);
        }
        let (Some(peer), Some(admission)) = (origin.peer, &self.admission) else {
            return Ok(());
        };
        match self.hook(|| admission.admits(peer, bytes)) {
            Some(true) => Ok(()),
            Some(false) => Err(IntakeError::PeerBudget),
            None => Err(IntakeError::HookPanicked),
        }
    }

    /// Answers an item from memory or finds it a place; with an error it stays where it
    /// is. `ticket` is of who waits for a place.
    fn offer(
        self: &Arc<Self>,
        verifier: &Arc<BatchVerifier<P>>,
        origin: Origin,
        since: Instant,
        ticket: Option<u64>,
        offered: &mut Option<OwnedItem>,
        starts: &mut Starts<'_, P>,
    ) -> Result<Pending<P>, IntakeError> {
        let item = offered.take().ok_or(IntakeError::Abandoned)?;
        let (pending, mut entry) = self.present(verifier, origin, since, item);
        if entry.is_none() {
            return Ok(pending);
        }
        let mut state = self.lock();
        let placed = self.place(&mut state, ticket, &mut entry, starts);
        if placed.is_ok() {
            self.stir(state);
        } else {
            drop(state);
        }
        *offered = entry.map(|entry| entry.item);
        let gone = placed?;
        caught(move || drop(gone));
        Ok(pending)
    }

    /// Answers an item from memory, or returns what has to wait for a place.
    fn present(
        self: &Arc<Self>,
        verifier: &Arc<BatchVerifier<P>>,
        origin: Origin,
        since: Instant,
        mut item: OwnedItem,
    ) -> (Pending<P>, Option<Entry<P>>) {
        item.trim();
        let (reply, answer) = oneshot();
        let pending = Pending {
            answer: Some(answer),
            intake: Arc::clone(self),
        };
        let shown = item.as_item();
        let sought = self.memory.sought(&verifier.judge, &shown);
        let hash = sought.as_ref().map(|sought| sought.hash);
        let known = sought.is_some_and(|sought| self.memory.knows(&sought, &shown));
        let entry = Entry {
            item,
            origin,
            since,
            verifier: Arc::clone(verifier),
            hash,
            reply,
        };
        if known {
            self.answer(entry, Outcome::Valid, since.elapsed(), true);
            return (pending, None);
        }
        (pending, Some(entry))
    }

    /// Finds an entry a place; with an error it stays where it is. Returns the waker of
    /// whoever waited for that place, which is not to be dropped under the lock.
    fn place(
        &self,
        state: &mut Guarded<P>,
        ticket: Option<u64>,
        waiting: &mut Option<Entry<P>>,
        starts: &mut Starts<'_, P>,
    ) -> Result<Option<Waker>, IntakeError> {
        let entry = waiting.take().ok_or(IntakeError::Abandoned)?;
        let (origin, bytes, hash) = (entry.origin, entry.item.len(), entry.hash);
        let queue = &mut state.queue;
        let submitted = queue.submit(origin, ticket, entry, bytes, &self.limits);
        let gone = submitted.map_err(|(entry, error)| {
            starts.none |= error == IntakeError::QueueFull;
            *waiting = Some(entry);
            error
        })?;
        if hash.is_some() {
            self.memory.missed();
        }
        starts.placed += 1;
        Ok(gone)
    }

    /// Says that an item got no place; `admitted` with its bytes, if it was.
    fn refuse(
        &self,
        origin: Origin,
        admitted: Option<usize>,
        error: IntakeError,
        waited: Duration,
    ) {
        let mut state = self.lock();
        let stats = &mut state.stats;
        match error {
            IntakeError::QueueFull => stats.queue_full += 1,
            IntakeError::TooLarge => stats.too_large += 1,
            IntakeError::PeerBudget => stats.peer_budget += 1,
            IntakeError::ShuttingDown => stats.shutting_down += 1,
            IntakeError::Abandoned => stats.abandoned += 1,
            IntakeError::Cancelled => stats.cancelled += 1,
            // Counted where it was caught.
            IntakeError::HookPanicked => {}
        }
        drop(state);
        if let Some(bytes) = admitted {
            self.release(origin, bytes, Err(error));
        }
        self.tell(origin, Err(error), waited, false);
    }

    /// Gives back what an item has taken of its peer's budget.
    fn release(&self, origin: Origin, bytes: usize, answer: Answer) {
        if let (Some(peer), Some(admission)) = (origin.peer, &self.admission) {
            self.hook(|| admission.released(peer, bytes, answer));
        }
    }

    /// Gives up what was taken out for that, as one batch.
    fn refuse_all(&self, entries: Vec<Entry<P>>, error: IntakeError) {
        if entries.is_empty() {
            self.rest(self.lock());
        } else {
            let _answered = AnsweredBatch(self);
            self.give_up(entries, error);
        }
    }

    /// Answers entries that nobody verifies.
    fn give_up(&self, entries: Vec<Entry<P>>, error: IntakeError) {
        for entry in entries {
            let error = if entry.reply.cancelled().load(Ordering::Relaxed) {
                IntakeError::Cancelled
            } else {
                error
            };
            let bytes = Some(entry.item.len());
            self.refuse(entry.origin, bytes, error, entry.since.elapsed());
            entry.reply.send(Err(error));
        }
    }

    /// Verifies what waits, at most one batch, on this thread. False if nothing does.
    fn help(&self) -> bool {
        let waiting = self.cut(|state| state.queue.cut(self.limits.batch));
        if waiting.is_empty() {
            return false;
        }
        self.run(None, waiting);
        true
    }

    /// On a thread of the pool, what else it has.
    fn let_others_go_first(&self) {
        let verifier = self.verifier.current();
        if is_worker(&**verifier.executor()) {
            caught(|| verifier.executor().yield_now());
        }
    }

    /// Verifies a batch that was cut, and beside it an item of the caller's, whose
    /// outcome is returned.
    fn run(
        &self,
        own: Option<(&Arc<BatchVerifier<P>>, Item<'_>)>,
        waiting: Vec<Entry<P>>,
    ) -> Outcome {
        // Both also when something panics.
        let _answered = AnsweredBatch(self);
        let mut waiting = Cut(self, waiting);
        let own = own.map(|(verifier, item)| {
            let group = of_epoch(verifier, &mut waiting.1);
            self.verify(verifier, Some(item), group)
        });
        while let Some(first) = waiting.1.first() {
            let verifier = Arc::clone(&first.verifier);
            let group = of_epoch(&verifier, &mut waiting.1);
            self.verify(&verifier, None, group);
        }
        own.flatten().unwrap_or(Outcome::Skipped)
    }

    /// [`run`](Self::run) for entries of one epoch.
    fn verify(
        &self,
        verifier: &BatchVerifier<P>,
        own: Option<Item<'_>>,
        entries: Vec<Entry<P>>,
    ) -> Option<Outcome> {
        let start = Instant::now();
        let mut cut = Cut(self, entries);
        let entries = &cut.1;
        let items: Vec<Item<'_>> = entries
            .iter()
            .map(|entry| entry.item.as_item())
            .chain(own)
            .collect();
        let called_off = |index: usize| {
            let entry = entries.get(index);
            entry.is_some_and(|entry| entry.reply.cancelled().load(Ordering::Relaxed))
        };
        // On this thread: one that waited for helpers could meanwhile pick up somebody
        // who waits for this batch.
        // Equal votes share a verdict, whatever the verifier does with repeats.
        let request = Request {
            duplicates: Some(Duplicates::Once),
            called_off: Some(&called_off),
            ..Request::ALONE
        };
        let (mut outcomes, _) = verifier.outcomes(&items, |_, item| *item, request);
        drop(items);
        let own = own.and_then(|_| outcomes.pop());
        let waited = |entry: &Entry<P>| start.saturating_duration_since(entry.since);
        let (mut sum, mut longest, mut count) = (Duration::ZERO, Duration::ZERO, 0);
        {
            let queue = &mut self.lock().queue;
            for (entry, outcome) in entries.iter().zip(&outcomes) {
                if *outcome == Outcome::Skipped {
                    continue;
                }
                count += 1;
                sum += waited(entry);
                longest = longest.max(waited(entry));
                if let Some(peer) = entry.origin.peer {
                    queue.verified(peer, outcome.is_valid());
                }
            }
        }
        let called_off = entries.len() - count;
        let count = count + usize::from(own.is_some());
        self.verified(verifier, count, called_off, sum, longest, start);
        for (entry, outcome) in mem::take(&mut cut.1).into_iter().zip(outcomes) {
            let waited = waited(&entry);
            match outcome {
                Outcome::Skipped => {
                    let cancelled = Err(IntakeError::Cancelled);
                    self.release(entry.origin, entry.item.len(), cancelled);
                    self.tell(entry.origin, Err(IntakeError::Cancelled), waited, false);
                }
                outcome => self.answer(entry, outcome, waited, false),
            }
        }
        own
    }

    /// Counts a batch that was verified since `start`.
    fn verified(
        &self,
        verifier: &BatchVerifier<P>,
        items: usize,
        called_off: usize,
        waited: Duration,
        longest: Duration,
        start: Instant,
    ) {
        let waiting = {
            let mut state = self.lock();
            let stats = &mut state.stats;
            stats.verified += items as u64;
            stats.batches += u64::from(items > 0);
            stats.cancelled += called_off as u64;
            stats.waited += waited;
            stats.longest_wait = stats.longest_wait.max(longest);
            state.queue.waiting()
        };
        if let Some(metrics) = &self.metrics
            && items > 0
        {
            let (key_cache_bytes, key_cache_hits, key_cache_misses) = verifier.caches();
            let batch = Verified {
                items,
                elapsed: start.elapsed(),
                waiting,
                memory: self.memory.stats(),
                key_cache_bytes,
                key_cache_hits,
                key_cache_misses,
            };
            self.hook(|| metrics.verified(&batch));
        }
    }

    /// Tells everybody.
    fn answer(&self, entry: Entry<P>, outcome: Outcome, waited: Duration, remembered: bool) {
        let Entry {
            mut item,
            origin,
            verifier,
            hash,
            reply,
            ..
        } = entry;
        let bytes = item.len();
        if outcome.is_valid() && !remembered && hash.is_some() {
            let shown = item.as_item();
            let sought = self.memory.sought_again(&verifier.judge, &shown, hash);
            if let Some(signed) = sought.and_then(|sought| self.memory.signed(&sought, &shown)) {
                // First: who has the answer may ask again.
                self.memory.put(signed, mem::take(&mut item.signature));
            }
        }
        if let (Some(peer), Some(admission)) = (origin.peer, &self.admission) {
            self.hook(|| admission.verdict(peer, outcome));
        }
        self.release(origin, bytes, Ok(outcome));
        self.tell(origin, Ok(outcome), waited, remembered);
        reply.send(Ok(outcome));
    }

    fn tell(&self, origin: Origin, answer: Answer, waited: Duration, remembered: bool) {
        if let Some(metrics) = &self.metrics {
            let answered = Answered {
                origin,
                answer,
                waited,
                remembered,
            };
            self.hook(|| metrics.answered(&answered));
        }
    }

    /// `None` if the caller's code panics.
    fn hook<R>(&self, hook: impl FnOnce() -> R) -> Option<R> {
        let result = caught(hook);
        if result.is_none() {
            self.lock().stats.hook_panics += 1;
        }
        result
    }

    /// Tells those who wait for it if the intake is idle.
    fn rest(&self, mut state: MutexGuard<'_, Guarded<P>>) {
        if state.queue.is_idle() {
            state.rests += 1;
            self.stir(state);
        }
    }

    /// Wakes those who drain.
    #[cfg_attr(not(feature = "async"), expect(unused_mut, reason = "no futures"))]
    fn stir(&self, mut state: MutexGuard<'_, Guarded<P>>) {
        let asleep = state.asleep;
        #[cfg(feature = "async")]
        let draining = mem::take(&mut state.draining);
        drop(state);
        if asleep > 0 {
            self.idle.notify_all();
        }
        #[cfg(feature = "async")]
        draining.into_values().for_each(wake);
    }
}

/// Workers for what found a place, started when this goes: after what they are started for
/// is in, and one after the other, so that none counts that nobody starts at once.
struct Starts<'a, P: ParameterSet> {
    intake: &'a Arc<Shared<P>>,
    /// Items that found a place.
    placed: usize,
    /// Some item found none: one worker more, since nobody else may be left to make one.
    none: bool,
}

impl<'a, P: ParameterSet> Starts<'a, P> {
    const fn new(intake: &'a Arc<Shared<P>>) -> Self {
        Self {
            intake,
            placed: 0,
            none: false,
        }
    }
}

impl<P: ParameterSet> Drop for Starts<'_, P> {
    fn drop(&mut self) {
        let mut came = self.placed;
        for _ in 0..self.placed + usize::from(self.none) {
            let start = {
                let queue = &mut self.intake.lock().queue;
                queue.came(core::mem::take(&mut came));
                queue.start(&self.intake.limits)
            };
            if !start {
                return;
            }
            Worker::start(self.intake);
        }
    }
}

/// Those of one epoch, in their order; the others stay.
fn of_epoch<P: ParameterSet>(
    verifier: &Arc<BatchVerifier<P>>,
    entries: &mut Vec<Entry<P>>,
) -> Vec<Entry<P>> {
    let belongs = |entry: &Entry<P>| Arc::ptr_eq(&entry.verifier, verifier);
    if entries.iter().all(belongs) {
        return mem::take(entries);
    }
    let (group, others) = mem::take(entries).into_iter().partition(belongs);
    *entries = others;
    group
}

/// Entries of a batch. What a panic leaves of them is given up.
struct Cut<'a, P: ParameterSet>(&'a Shared<P>, Vec<Entry<P>>);

impl<P: ParameterSet> Drop for Cut<'_, P> {
    fn drop(&mut self) {
        self.0
            .give_up(mem::take(&mut self.1), IntakeError::Abandoned);
    }
}

/// Ends a batch on every path.
struct AnsweredBatch<'a, P: ParameterSet>(&'a Shared<P>);

impl<P: ParameterSet> Drop for AnsweredBatch<'_, P> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.queue.answered();
        self.0.rest(state);
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
    /// Waits for the answer. Not to be called from a hook, whose batch it may wait for.
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
        if is_worker(&**self.intake.verifier.current().executor()) {
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::CallerPool;
    use mldsa_core::MlDsa44;

    struct Told(Mutex<mpsc::Sender<Answered>>);

    impl IntakeMetrics for Told {
        fn answered(&self, item: &Answered) {
            self.0.lock().unwrap().send(*item).unwrap();
        }
    }

    /// Should verification itself panic, its items are given up before everybody's eyes.
    #[test]
    fn a_batch_that_panics_is_given_up() {
        let pool = CallerPool::new(1, |_, _| {}).spawning(mem::forget, || false);
        let verifier = BatchVerifier::<MlDsa44>::builder();
        let verifier = verifier.threads(pool.into_threads()).build().unwrap();
        let (send, told) = mpsc::channel();
        let builder = Intake::builder(verifier).metrics(Told(Mutex::new(send)));
        let intake = builder.build();
        let mut pending = intake.submit(Item::new(1, b"vote", b"signature")).unwrap();
        let shared = &*intake.0;
        caught(|| {
            let _answered = AnsweredBatch(shared);
            let _cut = Cut(shared, shared.cut(|state| state.queue.cut(LANES)));
            panic!("a fault of its own");
        });
        let lost = Err(IntakeError::Abandoned);
        assert_eq!(told.try_recv().map(|item| item.answer), Ok(lost));
        assert_eq!(intake.stats().abandoned, 1);
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(Pin::new(&mut pending).poll(&mut context), Poll::Ready(lost));
        assert!(shared.lock().queue.is_idle());
    }
}
