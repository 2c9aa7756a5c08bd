//! Who verifies what when, and where it stops.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mldsa_core::ParameterSet;

use crate::caught::caught;
use crate::executor::{Executor, Roused, lend, rouse, workers};
use crate::judge::{Judge, MAX_CALL, NO_MEMBER};
use crate::plan::{Planned, Scratch, Segment, repeats_up_to, sort, take_repeats};
use crate::{BatchSize, Duplicates, Item, Mode, Outcome, Reason, Repeat, Summary};

/// Items whose hashes share permutations: the width of the widest lanes.
pub(crate) const LANES: usize = 8;
/// Modes that stop early go through windows of this many items, doubling, so
/// that a failure in front costs little and the joins between windows do too.
/// The same for any number of threads, since repeats are looked for in one.
const FIRST_WINDOW: usize = 4 * LANES;
const LAST_WINDOW: usize = 512 * LANES;

/// How a batch is gone through.
#[derive(Clone)]
pub(crate) struct Schedule {
    pub(crate) executor: Arc<dyn Executor>,
    pub(crate) batch_size: BatchSize,
    pub(crate) inline_below: usize,
    pub(crate) duplicates: Duplicates,
    hasher: RandomState,
    /// Memory of calls that have ended; one for each that ran at the same time.
    idle: Arc<Mutex<Vec<Scratch>>>,
}

/// What the caller asks of one run.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    pub(crate) mode: Mode,
    /// On the asking thread, without the executor.
    pub(crate) alone: bool,
    /// Instead of the verifier's rule.
    pub(crate) duplicates: Option<Duplicates>,
    /// Whether the rest may be left out.
    pub(crate) cancel: Option<&'r AtomicBool>,
    /// Whether one item may be left out, asked when it is to go into a lane.
    pub(crate) called_off: Option<&'r (dyn Fn(usize) -> bool + Sync)>,
    /// Also what was verified beyond the first failure, which the mode leaves out.
    pub(crate) as_found: bool,
}

impl Request<'_> {
    /// Everything, whatever the verifier's mode.
    pub(crate) const FULL: Self = Self {
        mode: Mode::Full,
        alone: false,
        duplicates: None,
        cancel: None,
        called_off: None,
        as_found: false,
    };

    /// Everything, on the asking thread.
    pub(crate) const ALONE: Self = Self {
        alone: true,
        ..Self::FULL
    };
}

impl Schedule {
    pub(crate) fn new(
        executor: Arc<dyn Executor>,
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
            idle: Arc::default(),
        }
    }

    /// Writes the outcome of every element and shows the repeats to `repeats`.
    /// `outcomes` has a place for every element.
    pub(crate) fn run<'a, P: ParameterSet, T: Sync>(
        &self,
        judge: &Judge<P>,
        request: Request<'_>,
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
        let shown = Elements {
            slice: elements,
            project,
            panicked: AtomicUsize::new(0),
            first_panicked: AtomicUsize::new(usize::MAX),
        };
        let stop = Stop {
            request,
            lowest: AtomicUsize::new(usize::MAX),
        };
        let threads = if request.alone || elements.len() < self.inline_below {
            1
        } else {
            workers(&*self.executor)
        };
        let mut summary = self.windows(judge, &shown, &stop, threads, &mut scratch);

        let lowest = match request.mode {
            Mode::FirstInvalid if !request.as_found => stop.lowest.into_inner(),
            Mode::Full | Mode::FirstInvalid | Mode::AnyInvalid => usize::MAX,
        };
        for (index, (outcome, code)) in outcomes.iter_mut().zip(&mut scratch.codes).enumerate() {
            *outcome = if index > lowest {
                Outcome::Skipped
            } else {
                Outcome::of_code(*code.get_mut())
            };
        }
        repeats_up_to(lowest, &mut scratch.repeats);
        repeats(&scratch.repeats);
        summary.repeats = scratch.repeats.len();
        summary.panicked = shown.panicked.into_inner();
        let first_panicked = shown.first_panicked.into_inner();
        self.lock().push(scratch);
        (summary, (summary.panicked > 0).then_some(first_panicked))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Scratch>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn windows<'a, P: ParameterSet, T: Sync, F: Fn(usize, &'a T) -> Item<'a> + Sync>(
        &self,
        judge: &Judge<P>,
        elements: &Elements<'a, '_, T, F>,
        stop: &Stop<'_>,
        threads: usize,
        scratch: &mut Scratch,
    ) -> Summary {
        let len = elements.slice.len();
        let duplicates = stop.request.duplicates.unwrap_or(self.duplicates);
        let mut summary = Summary {
            threads,
            ..Summary::default()
        };
        if duplicates == Duplicates::Reject {
            // Over the whole batch, so that the verdicts do not depend on windows.
            self.plan(judge, elements, stop, 0..len, true, scratch);
            for repeat in &scratch.repeats {
                let refused = Outcome::Invalid(Reason::Duplicate);
                scratch.codes[repeat.index].store(refused.code(), Ordering::Relaxed);
            }
        }
        let (mut start, mut window) = match stop.request.mode {
            Mode::Full => (0, len),
            Mode::FirstInvalid | Mode::AnyInvalid => (0, FIRST_WINDOW),
        };
        while start < len && !stop.spares(start) {
            let end = len.min(start.saturating_add(window));
            let before = scratch.repeats.len();
            self.plan(
                judge,
                elements,
                stop,
                start..end,
                duplicates == Duplicates::Once,
                scratch,
            );
            let batch_size = self.cut(stop.request.mode, threads, scratch);
            summary.batch_size = summary.batch_size.max(batch_size);
            let work = Work {
                judge,
                elements,
                stop,
                codes: &scratch.codes,
                plan: &scratch.plan,
                segments: &scratch.segments,
                batch_size,
            };
            if scratch.segments.len() > 1 && !work.run_until_awake(rouse(&*self.executor)) {
                let help = |worker| work.run(worker);
                lend(&*self.executor, scratch.segments.len(), &help);
            }
            // What the others have left.
            work.run(0);
            if duplicates == Duplicates::Once {
                for repeat in &scratch.repeats[before..] {
                    let code = scratch.codes[repeat.first].load(Ordering::Relaxed);
                    scratch.codes[repeat.index].store(code, Ordering::Relaxed);
                    // The first could not be shown any more: this one still can.
                    if Outcome::of_code(code) == Outcome::Skipped {
                        work.take(&[Planned {
                            key: NO_MEMBER,
                            tag: 0,
                            index: repeat.index,
                        }]);
                    }
                }
            }
            start = end;
            window = (2 * window).min(LAST_WINDOW);
        }
        summary
    }

    /// Fills `scratch.plan` with what is left to verify of the items `range`, sorted by
    /// key.
    fn plan<'a, P: ParameterSet, T: Sync, F: Fn(usize, &'a T) -> Item<'a> + Sync>(
        &self,
        judge: &Judge<P>,
        elements: &Elements<'a, '_, T, F>,
        stop: &Stop<'_>,
        range: core::ops::Range<usize>,
        look_for_repeats: bool,
        scratch: &mut Scratch,
    ) {
        let Scratch {
            codes,
            plan,
            repeats,
            ..
        } = scratch;
        plan.clear();
        for index in range {
            if let Outcome::Invalid(_) = Outcome::of_code(codes[index].load(Ordering::Relaxed)) {
                stop.record(index);
                continue;
            }
            let Some(item) = elements.item(index) else {
                continue;
            };
            match judge.screen(&item, None) {
                Ok(screened) => {
                    let key = screened.sort_key();
                    let tag = match item.signature.first_chunk() {
                        Some(head) if look_for_repeats => u64::from_ne_bytes(*head),
                        _ => 0,
                    };
                    plan.push(Planned { key, tag, index });
                }
                Err(reason) => {
                    let outcome = Outcome::Invalid(reason);
                    codes[index].store(outcome.code(), Ordering::Relaxed);
                    stop.record(index);
                }
            }
        }
        if look_for_repeats {
            take_repeats(judge, &self.hasher, plan, repeats, |index| {
                elements.item(index)
            });
        } else {
            sort(plan);
        }
    }

    /// Cuts the plan into one segment a worker, in whole takes. The order being
    /// that of the keys, a worker meets the keys of its last round again.
    fn cut(&self, mode: Mode, threads: usize, scratch: &mut Scratch) -> usize {
        let count = scratch.plan.len();
        let batch_size = match (self.batch_size, mode) {
            (BatchSize::Fixed(size), _) => size.clamp(1, count.max(1)),
            (BatchSize::Auto, Mode::Full) => {
                (count / (4 * threads)).clamp(LANES, MAX_CALL) / LANES * LANES
            }
            (BatchSize::Auto, Mode::FirstInvalid | Mode::AnyInvalid) => LANES,
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
struct Elements<'a, 's, T, F> {
    slice: &'a [T],
    project: &'s F,
    panicked: AtomicUsize,
    first_panicked: AtomicUsize,
}

impl<'a, T: Sync, F: Fn(usize, &'a T) -> Item<'a> + Sync> Elements<'a, '_, T, F> {
    fn item(&self, index: usize) -> Option<Item<'a>> {
        let item = caught(|| (self.project)(index, &self.slice[index]));
        if item.is_none() {
            self.panicked.fetch_add(1, Ordering::Relaxed);
            self.first_panicked.fetch_min(index, Ordering::Relaxed);
        }
        item
    }
}

/// One window, as the workers see it.
struct Work<'a, 'w, P: ParameterSet, T, F> {
    judge: &'w Judge<P>,
    elements: &'w Elements<'a, 'w, T, F>,
    stop: &'w Stop<'w>,
    codes: &'w [AtomicU8],
    plan: &'w [Planned],
    segments: &'w [Segment],
    batch_size: usize,
}

impl<'a, P: ParameterSet, T: Sync, F: Fn(usize, &'a T) -> Item<'a> + Sync> Work<'a, '_, P, T, F> {
    /// Works alone until a thread is there to help; whether nothing is left by then.
    fn run_until_awake(&self, roused: Option<Roused>) -> bool {
        roused.is_some_and(|roused| self.run_until(0, || roused.is_awake()))
    }

    /// Works on the segment of this worker, then helps with the others.
    fn run(&self, worker: usize) {
        self.run_until(worker, || false);
    }

    /// The same until `enough`, which is asked after every take; whether nothing is
    /// left.
    fn run_until(&self, worker: usize, enough: impl Fn() -> bool) -> bool {
        let count = self.segments.len();
        for n in 0..count {
            let segment = &self.segments[(worker % count + n) % count];
            loop {
                let start = segment.next.fetch_add(self.batch_size, Ordering::Relaxed);
                if start >= segment.end {
                    break;
                }
                let end = segment.end.min(start.saturating_add(self.batch_size));
                self.take(&self.plan[start..end]);
                if enough() {
                    return false;
                }
            }
        }
        true
    }

    fn take(&self, plan: &[Planned]) {
        let call = match self.stop.request.mode {
            Mode::Full => MAX_CALL,
            Mode::FirstInvalid | Mode::AnyInvalid => LANES,
        };
        for plan in plan.chunks(call) {
            let items = plan.iter().filter_map(|&Planned { key, index, .. }| {
                let called_off = self.stop.request.called_off;
                if self.stop.spares(index) || called_off.is_some_and(|off| off(index)) {
                    return None;
                }
                Some((index, key, self.elements.item(index)?))
            });
            self.judge.verify(items, |index, outcome| {
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
/// the executor has joined the workers.
struct Stop<'r> {
    request: Request<'r>,
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
            .request
            .cancel
            .is_some_and(|cancel| cancel.load(Ordering::Relaxed))
        {
            return true;
        }
        let lowest = self.lowest.load(Ordering::Relaxed);
        match self.request.mode {
            Mode::Full => false,
            Mode::FirstInvalid => lowest < index,
            Mode::AnyInvalid => lowest != usize::MAX,
        }
    }
}
