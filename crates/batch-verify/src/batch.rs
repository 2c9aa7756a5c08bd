//! A verifier: built once, handed batches.

use core::fmt;
use std::sync::Arc;
use std::time::Instant;

use mldsa_core::ParameterSet;

use crate::cache::KeyCache;
use crate::caught::caught;
use crate::executor::{Executor, executor};
use crate::judge::Judge;
use crate::schedule::{Request, Schedule};
use crate::{
    BatchError, BuildError, Item, KeySet, Mode, Outcome, Panicked, Repeat, Report, Summary, Threads,
};

/// Verifies batches of signatures under one parameter set.
///
/// `Sync`: one verifier serves any number of threads at once. Verdicts depend
/// on the items, the keys and the context only; what it keeps between calls is
/// working memory and expanded keys, which clones share.
#[derive(Clone)]
pub struct BatchVerifier<P: ParameterSet> {
    pub(crate) judge: Judge<P>,
    pub(crate) mode: Mode,
    pub(crate) schedule: Schedule,
    pub(crate) metrics: Option<Metrics>,
}

pub(crate) type Metrics = Arc<dyn Fn(&Summary) + Send + Sync>;

impl<P: ParameterSet> BatchVerifier<P> {
    /// The key set, if there is one.
    #[must_use]
    pub fn keys(&self) -> Option<&KeySet<P>> {
        self.judge.keys.as_ref()
    }

    /// The same verifier under another set: the next epoch's. Calls of this one go
    /// on under the set they began with.
    #[must_use]
    pub fn with_keys(&self, keys: KeySet<P>) -> Self {
        let mut next = self.clone();
        next.judge.keys = Some(keys);
        next
    }

    /// The same verifier on other threads, for engines that bring their own with
    /// each call; [`with_executor`](Self::with_executor) never fails.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] when the pool has zero threads or cannot be
    /// started.
    pub fn with_threads(&self, threads: Threads) -> Result<Self, BuildError> {
        let executor = executor(threads).ok_or(BuildError::ThreadPool)?;
        Ok(self.with_executor(executor))
    }

    /// The same verifier on the threads of an executor.
    #[must_use]
    pub fn with_executor(&self, executor: Arc<dyn Executor>) -> Self {
        let mut next = self.clone();
        next.schedule.executor = executor;
        next
    }

    /// Verifies one item on this thread, without batch machinery.
    #[must_use]
    pub fn verify_one(&self, item: Item<'_>) -> Outcome {
        self.judge.alone(item)
    }

    /// Verifies `items`; the report has one outcome per item, in input order.
    /// An empty batch gives an empty report.
    #[must_use]
    pub fn verify(&self, items: &[Item<'_>]) -> Report {
        self.report(self.request(), items, &|_, item| *item).0
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
        self.verify_by_into(items, |_, item| *item, outcomes)
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
        match self.report_by(elements, project) {
            (report, None) => Ok(report),
            (report, Some(index)) => Err(Panicked {
                index,
                report: Box::new(report),
            }),
        }
    }

    /// [`verify_by`](Self::verify_by) with the report and, beside it, the lowest
    /// index where `project` panicked: for engines that go on with the rest.
    #[must_use]
    pub fn report_by<'a, T: Sync>(
        &self,
        elements: &'a [T],
        project: impl Fn(usize, &'a T) -> Item<'a> + Sync,
    ) -> (Report, Option<usize>) {
        self.report(self.request(), elements, &project)
    }

    /// [`verify_by`](Self::verify_by) into memory of the caller's, as
    /// [`verify_into`](Self::verify_into): without allocation. Panics of `project`
    /// are counted in the summary.
    ///
    /// # Errors
    /// [`BatchError::OutputLength`] unless there is one place per element; nothing
    /// is written then.
    pub fn verify_by_into<'a, T: Sync>(
        &self,
        elements: &'a [T],
        project: impl Fn(usize, &'a T) -> Item<'a> + Sync,
        outcomes: &mut [Outcome],
    ) -> Result<Summary, BatchError> {
        if elements.len() != outcomes.len() {
            return Err(BatchError::OutputLength);
        }
        let (summary, _) = self.run(self.request(), elements, &project, outcomes, |_| {});
        Ok(summary)
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
        let request = Request {
            mode: Mode::FirstInvalid,
            ..Request::FULL
        };
        match self.report(request, items, &|_, item| *item).0.refusal() {
            Some((index, reason)) => Err(BatchError::Invalid { index, reason }),
            None => Ok(()),
        }
    }

    /// One boolean per item. Verifies everything; the verifier's mode plays no
    /// part.
    #[must_use]
    pub fn verify_each(&self, items: &[Item<'_>]) -> Vec<bool> {
        let (report, _) = self.report(Request::FULL, items, &|_, item| *item);
        report
            .outcomes()
            .iter()
            .map(|outcome| outcome.is_valid())
            .collect()
    }

    /// [`verify_each`](Self::verify_each) through a projection.
    pub(crate) fn verify_each_by<'a, T: Sync>(
        &self,
        elements: &'a [T],
        project: impl Fn(usize, &'a T) -> Item<'a> + Sync,
    ) -> Result<Vec<bool>, BatchError> {
        match self.report(Request::FULL, elements, &project) {
            (report, None) => Ok(report.outcomes().iter().map(|o| o.is_valid()).collect()),
            (_, Some(index)) => Err(BatchError::Panicked { index }),
        }
    }

    /// What the request asks for, and the lowest index that panicked.
    pub(crate) fn outcomes<'a, T: Sync>(
        &self,
        elements: &'a [T],
        project: impl Fn(usize, &'a T) -> Item<'a> + Sync,
        request: Request<'_>,
    ) -> (Vec<Outcome>, Option<usize>) {
        let (report, panicked) = self.report(request, elements, &project);
        (report.into_outcomes(), panicked)
    }

    fn request(&self) -> Request<'static> {
        Request {
            mode: self.mode,
            ..Request::FULL
        }
    }

    pub(crate) fn report<'a, T: Sync>(
        &self,
        request: Request<'_>,
        elements: &'a [T],
        project: &(impl Fn(usize, &'a T) -> Item<'a> + Sync),
    ) -> (Report, Option<usize>) {
        let mut outcomes = vec![Outcome::Skipped; elements.len()];
        let mut repeats = Vec::new();
        let (summary, panicked) = self.run(request, elements, project, &mut outcomes, |found| {
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
        request: Request<'_>,
        elements: &'a [T],
        project: &(impl Fn(usize, &'a T) -> Item<'a> + Sync),
        outcomes: &mut [Outcome],
        repeats: impl FnOnce(&[Repeat]),
    ) -> (Summary, Option<usize>) {
        let start = Instant::now();
        let (mut summary, panicked) =
            self.schedule
                .run(&self.judge, request, elements, project, outcomes, repeats);
        summary.count(outcomes);
        (
            summary.cache_bytes,
            summary.cache_hits,
            summary.cache_misses,
        ) = self.caches();
        summary.elapsed = start.elapsed();
        if let Some(metrics) = &self.metrics {
            // A hook that panics loses its figures, not the verdicts.
            caught(|| metrics(&summary));
        }
        (summary, panicked)
    }

    /// Bytes of expanded keys in the caches; look-ups that found one, and that did not.
    pub(crate) fn caches(&self) -> (usize, u64, u64) {
        let outsiders = &self.judge.key_cache;
        let members = self.keys().and_then(KeySet::cache);
        let (hits, misses) = outsiders.hits_and_misses();
        let (more_hits, more_misses) = members.map_or((0, 0), KeyCache::hits_and_misses);
        let bytes = outsiders.memory_bytes() + members.map_or(0, KeyCache::memory_bytes);
        (bytes, hits + more_hits, misses + more_misses)
    }

    pub(crate) fn executor(&self) -> &Arc<dyn Executor> {
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
