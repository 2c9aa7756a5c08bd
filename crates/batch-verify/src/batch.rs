//! The public door: build a verifier once, hand it batches.

use core::fmt;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::AtomicBool;
use std::panic::catch_unwind;
use std::time::Instant;

use mldsa_core::{Backend, Context, ParameterSet};

use crate::cache::KeyCache;
use crate::judge::Judge;
use crate::schedule::{Executor, Order, Schedule};
use crate::{
    BatchSize, Duplicates, Item, KeySet, Mode, Outcome, Reason, Repeat, Report, Summary, Threads,
};

/// Verifies batches of signatures under one parameter set.
///
/// `Sync`: one verifier serves any number of threads at once. Verdicts depend
/// on the items, the keys and the context only; what it keeps between calls is
/// working memory and expanded keys.
pub struct BatchVerifier<P: ParameterSet> {
    pub(crate) judge: Judge<P>,
    mode: Mode,
    schedule: Schedule,
    metrics: Option<Metrics>,
}

type Metrics = Box<dyn Fn(&Summary) + Send + Sync>;

impl<P: ParameterSet> BatchVerifier<P> {
    /// A verifier with no key set, the empty context, [`Mode::Full`],
    /// [`Threads::Shared`], [`BatchSize::Auto`] and [`Duplicates::Once`], unless
    /// told otherwise.
    pub fn builder() -> Builder<P> {
        Builder {
            keys: None,
            context: Vec::new(),
            mode: Mode::Full,
            threads: Threads::Shared,
            batch_size: BatchSize::Auto,
            inline_below: 9,
            duplicates: Duplicates::Once,
            key_cache_bytes: 8 << 20,
            allow_weak_prehash: false,
            backend: Backend::detect(),
            metrics: None,
        }
    }

    /// The key set, if there is one.
    #[must_use]
    pub fn keys(&self) -> Option<&KeySet<P>> {
        self.judge.keys.as_ref()
    }

    /// Verifies `items`; the report has one outcome per item, in input order.
    /// An empty batch gives an empty report.
    #[must_use]
    pub fn verify(&self, items: &[Item<'_>]) -> Report {
        self.report(self.order(), items, &|_, item| *item).0
    }

    /// [`verify`](Self::verify) for items from an iterator, which are collected.
    #[must_use]
    pub fn verify_items<'a>(&self, items: impl IntoIterator<Item = Item<'a>>) -> Report {
        self.verify(&items.into_iter().collect::<Vec<_>>())
    }

    /// Like [`verify`](Self::verify) into memory of the caller's. Allocates
    /// nothing once it has seen a batch of that size, if the keys are in a set
    /// with [`KeyPolicy::Expanded`](crate::KeyPolicy::Expanded) or `Compact` and
    /// the call runs inline or comes from a worker of the pool.
    ///
    /// # Errors
    /// [`BatchError::OutputLength`] unless there is one place per item; nothing
    /// is written then.
    pub fn verify_into(
        &self,
        items: &[Item<'_>],
        outcomes: &mut [Outcome],
    ) -> Result<Summary, BatchError> {
        if items.len() != outcomes.len() {
            return Err(BatchError::OutputLength);
        }
        Ok(self.run_into(items, &|_, item| *item, outcomes))
    }

    pub(crate) fn run_into<'a, T: Sync>(
        &self,
        elements: &'a [T],
        project: &(impl Fn(usize, &'a T) -> Item<'a> + Sync),
        outcomes: &mut [Outcome],
    ) -> Summary {
        self.run(self.order(), elements, project, outcomes, |_| {})
            .0
    }

    /// Like [`verify`](Self::verify) for the caller's own type, without a copy:
    /// `project` shows the item in each element. It is called on any worker,
    /// several times for each element; the verdict is on what the last call
    /// showed.
    ///
    /// # Errors
    /// [`Panicked`] if `project` panicked for some element. Such an element is
    /// reported `Skipped`; the others have their verdicts in the report that
    /// comes with the error.
    pub fn verify_by<'a, T: Sync>(
        &self,
        elements: &'a [T],
        project: impl Fn(usize, &'a T) -> Item<'a> + Sync,
    ) -> Result<Report, Panicked> {
        match self.report(self.order(), elements, &project) {
            (report, None) => Ok(report),
            (report, Some(index)) => Err(Panicked {
                index,
                report: Box::new(report),
            }),
        }
    }

    /// Whether every item is valid, and if not, which is the first that is not.
    /// Stops early; the verifier's mode plays no part.
    ///
    /// # Errors
    /// [`BatchError::Empty`] for an empty batch, [`BatchError::Invalid`] with
    /// the lowest failing index.
    pub fn verify_all(&self, items: &[Item<'_>]) -> Result<(), BatchError> {
        if items.is_empty() {
            return Err(BatchError::Empty);
        }
        let order = Order {
            mode: Mode::FirstInvalid,
            cancel: None,
        };
        match self.report(order, items, &|_, item| *item).0.refusal() {
            Some((index, reason)) => Err(BatchError::Invalid { index, reason }),
            None => Ok(()),
        }
    }

    /// One boolean per item. Verifies everything; the verifier's mode plays no
    /// part.
    #[must_use]
    pub fn verify_each(&self, items: &[Item<'_>]) -> Vec<bool> {
        let (report, _) = self.report(Order::FULL, items, &|_, item| *item);
        report
            .outcomes()
            .iter()
            .map(|outcome| outcome.is_valid())
            .collect()
    }

    /// [`verify_each`](Self::verify_each) through a projection, which may be
    /// called off.
    pub(crate) fn verify_each_by<'a, T: Sync>(
        &self,
        elements: &'a [T],
        project: impl Fn(usize, &'a T) -> Item<'a> + Sync,
        cancel: Option<&AtomicBool>,
    ) -> Result<Vec<bool>, BatchError> {
        let order = Order {
            mode: Mode::Full,
            cancel,
        };
        match self.report(order, elements, &project) {
            (report, None) => Ok(report.outcomes().iter().map(|o| o.is_valid()).collect()),
            (_, Some(index)) => Err(BatchError::Panicked { index }),
        }
    }

    fn order(&self) -> Order<'static> {
        Order {
            mode: self.mode,
            cancel: None,
        }
    }

    pub(crate) fn report<'a, T: Sync>(
        &self,
        order: Order<'_>,
        elements: &'a [T],
        project: &(impl Fn(usize, &'a T) -> Item<'a> + Sync),
    ) -> (Report, Option<usize>) {
        let mut outcomes = vec![Outcome::Skipped; elements.len()];
        let mut repeats = Vec::new();
        let (summary, panicked) = self.run(order, elements, project, &mut outcomes, |found| {
            repeats.extend_from_slice(found);
        });
        let report = Report {
            outcomes,
            repeats,
            summary,
        };
        (report, panicked)
    }

    pub(crate) fn run<'a, T: Sync>(
        &self,
        order: Order<'_>,
        elements: &'a [T],
        project: &(impl Fn(usize, &'a T) -> Item<'a> + Sync),
        outcomes: &mut [Outcome],
        repeats: impl FnOnce(&[Repeat]),
    ) -> (Summary, Option<usize>) {
        let start = Instant::now();
        let (mut summary, panicked) =
            self.schedule
                .run(&self.judge, order, elements, project, outcomes, repeats);
        summary.count(outcomes);
        let strangers = &self.judge.strangers;
        let members = self.keys().and_then(KeySet::cache);
        let (hits, misses) = strangers.hits_and_misses();
        let (more_hits, more_misses) = members.map_or((0, 0), KeyCache::hits_and_misses);
        summary.cache_hits = hits + more_hits;
        summary.cache_misses = misses + more_misses;
        summary.cache_bytes = strangers.memory_bytes() + members.map_or(0, KeyCache::memory_bytes);
        summary.elapsed = start.elapsed();
        if let Some(metrics) = &self.metrics {
            let told = catch_unwind(AssertUnwindSafe(|| metrics(&summary)));
            // A hook that panics loses its figures, not the verdicts. Dropping
            // the payload could panic again.
            told.unwrap_or_else(mem::forget);
        }
        (summary, panicked)
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.schedule.executor
    }
}

impl<P: ParameterSet> fmt::Debug for BatchVerifier<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchVerifier")
            .field("set", &P::NAME)
            .field("keys", &self.judge.keys)
            .field("context", &self.judge.context)
            .field("mode", &self.mode)
            .field("executor", &self.schedule.executor)
            .field("batch_size", &self.schedule.batch_size)
            .field("duplicates", &self.schedule.duplicates)
            .finish_non_exhaustive()
    }
}

/// Collects the choices for a [`BatchVerifier`].
#[must_use]
pub struct Builder<P: ParameterSet> {
    keys: Option<KeySet<P>>,
    context: Vec<u8>,
    mode: Mode,
    threads: Threads,
    batch_size: BatchSize,
    inline_below: usize,
    duplicates: Duplicates,
    key_cache_bytes: usize,
    allow_weak_prehash: bool,
    backend: Backend,
    metrics: Option<Metrics>,
}

impl<P: ParameterSet> Builder<P> {
    /// The signers that items may name by [`SignerId`](crate::SignerId). Items
    /// that carry their public key need no set; if their key is in it, they use
    /// it.
    pub fn keys(self, keys: KeySet<P>) -> Self {
        Self {
            keys: Some(keys),
            ..self
        }
    }

    /// The context (at most 255 bytes) of every item without its own; name the
    /// network and the kind of message in it.
    pub fn context(self, context: &[u8]) -> Self {
        Self {
            context: context.to_vec(),
            ..self
        }
    }

    /// How far [`verify`](BatchVerifier::verify) and its relatives go.
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Where the work runs.
    pub fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// How many items a worker takes at once.
    pub fn batch_size(self, batch_size: BatchSize) -> Self {
        Self { batch_size, ..self }
    }

    /// Batches of fewer items stay on the calling thread (9: up to one group of
    /// lanes).
    pub fn inline_below(self, items: usize) -> Self {
        Self {
            inline_below: items,
            ..self
        }
    }

    /// What happens to repeats.
    pub fn duplicates(self, duplicates: Duplicates) -> Self {
        Self { duplicates, ..self }
    }

    /// Memory for the expanded keys of signers that are in no set (8 MiB). A key
    /// is expanded after its second valid signature; with 0 none ever is.
    pub fn key_cache_bytes(self, bytes: usize) -> Self {
        Self {
            key_cache_bytes: bytes,
            ..self
        }
    }

    /// Accept HashML-DSA under hashes weaker than the parameter set (off).
    pub fn allow_weak_prehash(self, allow: bool) -> Self {
        Self {
            allow_weak_prehash: allow,
            ..self
        }
    }

    /// Which instruction set verifies under keys that are in no set (the
    /// detected one). Verdicts do not depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Called with the figures of every batch, on the thread that asked for it.
    /// If it panics, the verdicts stand and the panic is dropped.
    pub fn metrics(self, metrics: impl Fn(&Summary) + Send + Sync + 'static) -> Self {
        Self {
            metrics: Some(Box::new(metrics)),
            ..self
        }
    }

    /// Builds the verifier.
    ///
    /// # Errors
    /// [`BuildError::ContextTooLong`] above 255 bytes of context,
    /// [`BuildError::BatchSize`] for batches of zero, [`BuildError::ThreadPool`]
    /// when the pool has zero threads or cannot be started.
    pub fn build(self) -> Result<BatchVerifier<P>, BuildError> {
        Context::new(&self.context).map_err(|_| BuildError::ContextTooLong)?;
        if self.batch_size == BatchSize::Fixed(0) {
            return Err(BuildError::BatchSize);
        }
        Ok(BatchVerifier {
            judge: Judge {
                keys: self.keys,
                strangers: KeyCache::new(self.key_cache_bytes),
                context: self.context,
                allow_weak_prehash: self.allow_weak_prehash,
                backend: self.backend,
            },
            mode: self.mode,
            schedule: Schedule::new(
                Executor::new(self.threads)?,
                self.batch_size,
                self.inline_below,
                self.duplicates,
            ),
            metrics: self.metrics,
        })
    }
}

impl<P: ParameterSet> fmt::Debug for Builder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("set", &P::NAME)
            .field("keys", &self.keys)
            .field("context", &self.context)
            .field("mode", &self.mode)
            .field("threads", &self.threads)
            .field("batch_size", &self.batch_size)
            .field("duplicates", &self.duplicates)
            .finish_non_exhaustive()
    }
}

/// Why a verifier could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The context has more than 255 bytes.
    ContextTooLong,
    /// A fixed batch size of zero.
    BatchSize,
    /// A pool of zero threads was asked for, or the threads could not start.
    ThreadPool,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContextTooLong => "the context has more than 255 bytes",
            Self::BatchSize => "a batch size of zero",
            Self::ThreadPool => "the thread pool could not be started",
        })
    }
}

impl core::error::Error for BuildError {}

/// Why a call has no verdicts to give, or an all-or-nothing call said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchError {
    /// There was nothing to verify.
    Empty,
    /// The item with the lowest index that failed.
    Invalid {
        /// Its index.
        index: usize,
        /// Why it failed.
        reason: Reason,
    },
    /// The output does not have one place per item.
    OutputLength,
    /// The caller's code panicked while it showed an element.
    Panicked {
        /// The lowest index where it did.
        index: usize,
    },
    /// The batch was given up before it was verified: its pool is gone, or its
    /// future was polled after it had answered.
    Abandoned,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the batch is empty"),
            Self::Invalid { index, reason } => write!(f, "item {index} is invalid: {reason}"),
            Self::OutputLength => f.write_str("the output does not have one place per item"),
            Self::Panicked { index } => write!(f, "showing element {index} panicked"),
            Self::Abandoned => f.write_str("the batch was given up"),
        }
    }
}

impl core::error::Error for BatchError {}

/// The caller's projection panicked for some element: an error, never a
/// verdict.
#[derive(Clone, Debug)]
pub struct Panicked {
    /// The lowest index where it did.
    pub index: usize,
    /// The verdicts on all others; elements without an item are `Skipped`.
    pub report: Box<Report>,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BatchError::Panicked { index: self.index }.fmt(f)
    }
}

impl core::error::Error for Panicked {}
