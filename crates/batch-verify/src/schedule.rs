//! Who verifies what when, and where it stops.

use core::mem;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::hash::RandomState;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, PoisonError};

use mldsa_core::ParameterSet;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::judge::{BLOCK, Judge};
use crate::plan::{Job, Scratch, Segment, sort, take_repeats};
use crate::{BuildError, Item, Outcome, Reason, Repeat, Summary};

/// How far a batch is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything.
    #[default]
    Full,
    /// Up to the lowest failing index, whatever the scheduling: every item
    /// below it is `Valid`, every item above it is `Skipped`, also if a worker
    /// had verified it already.
    FirstInvalid,
    /// As little as possible once something failed. Which items are `Skipped`,
    /// and which of several failures is seen, depends on scheduling; whether
    /// there is a failure does not. Never build blame on it.
    AnyInvalid,
}

/// Where the work runs.
#[derive(Clone, Debug, Default)]
pub enum Threads {
    /// Rayon's global pool, or the pool the call comes from.
    #[default]
    Shared,
    /// A pool of this many threads, owned by the verifier. Zero is an error.
    Dedicated(usize),
    /// A pool that the caller owns.
    Pool(Arc<ThreadPool>),
    /// The calling thread alone.
    Inline,
}

/// Items that a worker takes at once. Verdicts do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchSize {
    /// Chosen from the size of the batch: 8 to 32, four takes a worker.
    #[default]
    Auto,
    /// This many; zero is an error. Multiples of 8 fill the lanes.
    Fixed(usize),
}

/// What happens to items that repeat an earlier one of the batch: the same
/// signer, message, context and signature, in the same form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Duplicates {
    /// Verified once; repeats share the verdict and are listed in the report.
    /// In the modes that stop early, repeats far apart may go unnoticed.
    #[default]
    Once,
    /// Not looked for.
    Verify,
    /// Repeats are refused with [`Reason::Duplicate`].
    Reject,
}

/// Items whose hashes share permutations: the width of the widest lanes.
const GROUP: usize = 8;
/// Modes that stop early go through windows of this many items, doubling, so
/// that a failure in front costs little and the joins between windows do too.
/// The same for any number of threads, since repeats are looked for in one.
const FIRST_WINDOW: usize = 4 * GROUP;
const LAST_WINDOW: usize = 512 * GROUP;

#[derive(Clone, Debug)]
pub(crate) enum Executor {
    Shared,
    Pool(Arc<ThreadPool>),
    Inline,
}

impl Executor {
    pub(crate) fn new(threads: Threads) -> Result<Self, BuildError> {
        match threads {
            Threads::Shared => Ok(Self::Shared),
            Threads::Dedicated(0) => Err(BuildError::ThreadPool),
            Threads::Dedicated(n) => ThreadPoolBuilder::new()
                .num_threads(n)
                .thread_name(|i| format!("batch-verify-{i}"))
                .build()
                .map(|pool| Self::Pool(Arc::new(pool)))
                .map_err(|_| BuildError::ThreadPool),
            Threads::Pool(pool) => Ok(Self::Pool(pool)),
            Threads::Inline => Ok(Self::Inline),
        }
    }

    /// Runs `op` on a worker, so that what it forks is cheap, and tells it how
    /// many workers there are.
    fn enter<R: Send>(&self, alone: bool, op: impl FnOnce(usize) -> R + Send) -> R {
        match self {
            Self::Inline => op(1),
            _ if alone => op(1),
            Self::Shared if rayon::current_thread_index().is_none() => {
                rayon::scope(|_| op(rayon::current_num_threads()))
            }
            Self::Shared => op(rayon::current_num_threads()),
            Self::Pool(pool) => pool.install(|| op(pool.current_num_threads())),
        }
    }

    /// Whether this thread is one of those that [`spawn`](Self::spawn) may choose.
    pub(crate) fn is_here(&self) -> bool {
        match self {
            Self::Pool(pool) => pool.current_thread_index().is_some(),
            Self::Shared | Self::Inline => rayon::current_thread_index().is_some(),
        }
    }

    /// Hands over work that nobody waits for.
    pub(crate) fn spawn(&self, op: impl FnOnce() + Send + 'static) {
        match self {
            Self::Pool(pool) => pool.spawn(op),
            Self::Shared | Self::Inline => rayon::spawn(op),
        }
    }
}

/// How a batch is gone through.
#[derive(Debug)]
pub(crate) struct Schedule {
    pub(crate) executor: Executor,
    pub(crate) batch_size: BatchSize,
    pub(crate) inline_below: usize,
    pub(crate) duplicates: Duplicates,
    hasher: RandomState,
    /// Memory of calls that have ended; one for each that ran at the same time.
    idle: Mutex<Vec<Scratch>>,
}

/// What the caller asks of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'r> {
    pub(crate) mode: Mode,
    /// Whether the rest may be left out.
    pub(crate) cancel: Option<&'r AtomicBool>,
}

impl Order<'_> {
    /// Everything, whatever the verifier's mode.
    pub(crate) const FULL: Self = Self {
        mode: Mode::Full,
        cancel: None,
    };
}

impl Schedule {
    pub(crate) fn new(
        executor: Executor,
        batch_size: BatchSize,
        inline_below: usize,
        duplicates: Duplicates,
    ) -> Self {
        Self {
            executor,
            batch_size,
            inline_below,
            duplicates,
            hasher: RandomState::new(),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Writes the outcome of every element and shows the repeats to `repeats`.
    /// `outcomes` has a place for every element.
    pub(crate) fn run<'a, P: ParameterSet, T: Sync>(
        &self,
        judge: &Judge<P>,
        order: Order<'_>,
        elements: &'a [T],
        project: &(impl Fn(usize, &'a T) -> Item<'a> + Sync),
        outcomes: &mut [Outcome],
        repeats: impl FnOnce(&[Repeat]),
    ) -> (Summary, Option<usize>) {
        let mut scratch = self.lock().pop().unwrap_or_default();
        scratch.codes.clear();
        scratch
            .codes
            .resize_with(elements.len(), || AtomicU8::new(Outcome::Skipped.code()));
        scratch.repeats.clear();
        let source = Source {
            elements,
            project,
            panicked: AtomicUsize::new(0),
            first_panicked: AtomicUsize::new(usize::MAX),
        };
        let stop = Stop {
            order,
            lowest: AtomicUsize::new(usize::MAX),
        };
        let alone = elements.len() < self.inline_below;
        let mut summary = self.executor.enter(alone, |threads| {
            self.windows(judge, &source, &stop, threads, &mut scratch)
        });

        let lowest = match order.mode {
            Mode::FirstInvalid => stop.lowest.into_inner(),
            Mode::Full | Mode::AnyInvalid => usize::MAX,
        };
        for (index, (outcome, code)) in outcomes.iter_mut().zip(&mut scratch.codes).enumerate() {
            *outcome = if index > lowest {
                Outcome::Skipped
            } else {
                Outcome::of_code(*code.get_mut())
            };
        }
        scratch.repeats.retain(|repeat| repeat.index <= lowest);
        scratch.repeats.sort_unstable_by_key(|repeat| repeat.index);
        repeats(&scratch.repeats);
        summary.repeats = scratch.repeats.len();
        summary.panicked = source.panicked.into_inner();
        let first_panicked = source.first_panicked.into_inner();
        self.lock().push(scratch);
        (summary, (summary.panicked > 0).then_some(first_panicked))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn windows<'a, P: ParameterSet, T: Sync, F: Fn(usize, &'a T) -> Item<'a> + Sync>(
        &self,
        judge: &Judge<P>,
        source: &Source<'a, '_, T, F>,
        stop: &Stop<'_>,
        threads: usize,
        scratch: &mut Scratch,
    ) -> Summary {
        let len = source.elements.len();
        let mut summary = Summary {
            threads,
            ..Summary::default()
        };
        if self.duplicates == Duplicates::Reject {
            // Over the whole batch, so that the verdicts do not depend on windows.
            self.plan(judge, source, stop, 0..len, true, scratch);
            for repeat in &scratch.repeats {
                let refused = Outcome::Invalid(Reason::Duplicate);
                scratch.codes[repeat.index].store(refused.code(), Ordering::Relaxed);
            }
        }
        let (mut start, mut window) = match stop.order.mode {
            Mode::Full => (0, len),
            Mode::FirstInvalid | Mode::AnyInvalid => (0, FIRST_WINDOW),
        };
        while start < len && !stop.spares(start) {
            let end = len.min(start.saturating_add(window));
            let before = scratch.repeats.len();
            self.plan(
                judge,
                source,
                stop,
                start..end,
                self.duplicates == Duplicates::Once,
                scratch,
            );
            let batch_size = self.cut(stop.order.mode, threads, scratch);
            summary.batch_size = summary.batch_size.max(batch_size);
            let work = Work {
                judge,
                source,
                stop,
                codes: &scratch.codes,
                jobs: &scratch.jobs,
                segments: &scratch.segments,
                batch_size,
            };
            if let [_] = scratch.segments[..] {
                work.run(0);
            } else {
                (0..scratch.segments.len())
                    .into_par_iter()
                    .with_max_len(1)
                    .for_each(|_| work.run(rayon::current_thread_index().unwrap_or(0)));
            }
            if self.duplicates == Duplicates::Once {
                for repeat in &scratch.repeats[before..] {
                    let code = scratch.codes[repeat.first].load(Ordering::Relaxed);
                    scratch.codes[repeat.index].store(code, Ordering::Relaxed);
                    // The first could not be shown any more: this one still can.
                    if Outcome::of_code(code) == Outcome::Skipped {
                        work.take(&[Job::alone(repeat.index)]);
                    }
                }
            }
            start = end;
            window = (2 * window).min(LAST_WINDOW);
        }
        summary
    }

    /// Fills `jobs` with what is left to verify of the items `range`, sorted by
    /// key.
    fn plan<'a, P: ParameterSet, T: Sync, F: Fn(usize, &'a T) -> Item<'a> + Sync>(
        &self,
        judge: &Judge<P>,
        source: &Source<'a, '_, T, F>,
        stop: &Stop<'_>,
        range: core::ops::Range<usize>,
        look_for_repeats: bool,
        scratch: &mut Scratch,
    ) {
        let Scratch {
            codes,
            jobs,
            repeats,
            ..
        } = scratch;
        jobs.clear();
        for index in range {
            if let Outcome::Invalid(_) = Outcome::of_code(codes[index].load(Ordering::Relaxed)) {
                stop.record(index);
                continue;
            }
            let Some(item) = source.item(index) else {
                continue;
            };
            match judge.screen(&item) {
                Ok(hint) => {
                    let tag = match item.signature.first_chunk() {
                        Some(head) if look_for_repeats => u64::from_ne_bytes(*head),
                        _ => 0,
                    };
                    jobs.push(Job { hint, tag, index });
                }
                Err(reason) => {
                    let outcome = Outcome::Invalid(reason);
                    codes[index].store(outcome.code(), Ordering::Relaxed);
                    stop.record(index);
                }
            }
        }
        if look_for_repeats {
            take_repeats(judge, &self.hasher, jobs, repeats, |index| {
                source.item(index)
            });
        } else {
            sort(jobs);
        }
    }

    /// Cuts the jobs into one segment a worker, in whole takes. The order being
    /// that of the keys, a worker meets the keys of its last round again.
    fn cut(&self, mode: Mode, threads: usize, scratch: &mut Scratch) -> usize {
        let count = scratch.jobs.len();
        let batch_size = match (self.batch_size, mode) {
            (BatchSize::Fixed(size), _) => size.clamp(1, count.max(1)),
            (BatchSize::Auto, Mode::Full) => {
                (count / (4 * threads)).clamp(GROUP, BLOCK) / GROUP * GROUP
            }
            (BatchSize::Auto, Mode::FirstInvalid | Mode::AnyInvalid) => GROUP,
        };
        let takes = count.div_ceil(batch_size);
        let workers = threads.min(takes).max(1);
        let share = takes.div_ceil(workers).saturating_mul(batch_size);
        scratch.segments.clear();
        scratch.segments.extend((0..workers).map(|worker| {
            let start = share.saturating_mul(worker).min(count);
            Segment {
                next: AtomicUsize::new(start),
                end: share.saturating_mul(worker + 1).min(count),
            }
        }));
        batch_size
    }
}

/// The caller's elements. Projections may panic: such an element has no item,
/// and the others go on.
struct Source<'a, 's, T, F> {
    elements: &'a [T],
    project: &'s F,
    panicked: AtomicUsize,
    first_panicked: AtomicUsize,
}

impl<'a, T: Sync, F: Fn(usize, &'a T) -> Item<'a> + Sync> Source<'a, '_, T, F> {
    fn item(&self, index: usize) -> Option<Item<'a>> {
        let project = AssertUnwindSafe(|| (self.project)(index, &self.elements[index]));
        match catch_unwind(project) {
            Ok(item) => Some(item),
            Err(payload) => {
                // Dropping it could panic again.
                mem::forget(payload);
                self.panicked.fetch_add(1, Ordering::Relaxed);
                self.first_panicked.fetch_min(index, Ordering::Relaxed);
                None
            }
        }
    }
}

/// One window, as the workers see it.
struct Work<'a, 'w, P: ParameterSet, T, F> {
    judge: &'w Judge<P>,
    source: &'w Source<'a, 'w, T, F>,
    stop: &'w Stop<'w>,
    codes: &'w [AtomicU8],
    jobs: &'w [Job],
    segments: &'w [Segment],
    batch_size: usize,
}

impl<'a, P: ParameterSet, T: Sync, F: Fn(usize, &'a T) -> Item<'a> + Sync> Work<'a, '_, P, T, F> {
    /// Works on the segment of this worker, then helps with the others.
    fn run(&self, worker: usize) {
        let count = self.segments.len();
        for n in 0..count {
            let segment = &self.segments[(worker + n) % count];
            loop {
                let start = segment.next.fetch_add(self.batch_size, Ordering::Relaxed);
                if start >= segment.end {
                    break;
                }
                let end = segment.end.min(start.saturating_add(self.batch_size));
                self.take(&self.jobs[start..end]);
            }
        }
    }

    fn take(&self, jobs: &[Job]) {
        let group = match self.stop.order.mode {
            Mode::Full => BLOCK,
            Mode::FirstInvalid | Mode::AnyInvalid => GROUP,
        };
        for jobs in jobs.chunks(group) {
            let items = jobs.iter().filter_map(|job| {
                if self.stop.spares(job.index) {
                    return None;
                }
                Some((job.index, self.source.item(job.index)?))
            });
            self.judge.block(items, |index, outcome| {
                self.codes[index].store(outcome.code(), Ordering::Relaxed);
                if let Outcome::Invalid(_) = outcome {
                    self.stop.record(index);
                }
            });
        }
    }
}

/// The lowest failure found so far. `Relaxed` suffices: a worker that reads an
/// old value does work it could have spared, and the last read comes after
/// rayon has joined the workers.
struct Stop<'r> {
    order: Order<'r>,
    lowest: AtomicUsize,
}

impl Stop<'_> {
    fn record(&self, index: usize) {
        self.lowest.fetch_min(index, Ordering::Relaxed);
    }

    /// Whether the item at `index` need not be looked at any more, nor, in order
    /// of index, what comes after it.
    fn spares(&self, index: usize) -> bool {
        if self
            .order
            .cancel
            .is_some_and(|cancel| cancel.load(Ordering::Relaxed))
        {
            return true;
        }
        let lowest = self.lowest.load(Ordering::Relaxed);
        match self.order.mode {
            Mode::Full => false,
            Mode::FirstInvalid => lowest < index,
            Mode::AnyInvalid => lowest != usize::MAX,
        }
    }
}
