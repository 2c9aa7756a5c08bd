//! Division of a batch among workers, and early exits.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use mldsa_core::ParameterSet;

use super::LANES;
use super::lanes::{Lanes, MAX_CALL};
use super::options::{Mode, Options};
use super::plan::{PlannedItem, Segment, take_duplicates};
use super::resolve::Resolved;
use crate::executor::{Pool, Team, WakeHandle, catch};
use crate::reason::{self, Verdict};
use crate::{Accelerator, RejectReason, Report};

/// Modes that stop early work in windows of this many items, doubling, so that an early
/// failure costs little. The same for any number of threads, because duplicates are detected
/// within one window.
const FIRST_WINDOW: usize = 4 * LANES;
const LAST_WINDOW: usize = 512 * LANES;

/// Items for which the memory of a call is kept, and the number of such calls: together at most
/// 23 MB.
const KEPT_ITEMS: usize = 1 << 14;
const KEPT_CALLS: usize = 16;

/// Verdict on an item that is not verified, or not yet.
const SKIPPED: Verdict = Err(RejectReason::NotVerified);

/// Everything that a verifier holds but the keys.
#[derive(Clone)]
pub(crate) struct Scheduler<P: ParameterSet> {
    pub(crate) lanes: Lanes<P>,
    pub(crate) pool: Pool,
    pub(crate) options: Options,
    pub(crate) accelerator: Option<Arc<dyn Accelerator<P>>>,
    hasher: RandomState,
    /// Memory of calls that have ended; one for each that ran at the same time, within
    /// [`KEPT_ITEMS`] and [`KEPT_CALLS`].
    idle: Arc<Mutex<Vec<Scratch<P>>>>,
}

/// Memory of one call, kept for the next.
pub(crate) struct Scratch<P: ParameterSet> {
    /// Empty; only its allocation is kept.
    items: Vec<Option<Resolved<'static, P>>>,
    /// [`reason::code`] of every verdict.
    codes: Vec<AtomicU8>,
    plan: Vec<PlannedItem>,
    segments: Vec<Segment>,
}

impl<P: ParameterSet> Default for Scratch<P> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            codes: Vec::new(),
            plan: Vec::new(),
            segments: Vec::new(),
        }
    }
}

/// Returns an empty vector with the allocation of `items`: collecting a mapped vector of one layout
/// happens in place.
fn recycle<'b, P: ParameterSet>(
    mut items: Vec<Option<Resolved<'_, P>>>,
) -> Vec<Option<Resolved<'b, P>>> {
    items.clear();
    items.into_iter().map(|_| None).collect()
}

#[derive(Clone, Copy)]
pub(crate) struct RunOptions {
    pub(crate) mode: Mode,
    /// On the calling thread, without the pool.
    pub(crate) alone: bool,
}

impl From<Mode> for RunOptions {
    fn from(mode: Mode) -> Self {
        let alone = false;
        Self { mode, alone }
    }
}

impl<P: ParameterSet> Scheduler<P> {
    pub(crate) fn new(options: Options, pool: Pool, lanes: Lanes<P>) -> Self {
        Self {
            lanes,
            pool,
            options,
            accelerator: None,
            hasher: RandomState::new(),
            idle: Arc::default(),
        }
    }

    /// Verifies a batch. Items that are skipped are not resolved.
    pub(crate) fn report<'a, T>(
        &self,
        request: impl Into<RunOptions>,
        items: impl IntoIterator<Item = T>,
        resolve: impl FnMut(T) -> Result<Resolved<'a, P>, RejectReason>,
    ) -> Report {
        let request = request.into();
        let start = Instant::now();
        let idle = self.idle().and_then(|mut idle| idle.pop());
        let mut scratch = idle.unwrap_or_default();
        let mut run = Run {
            scheduler: self,
            request,
            lowest: AtomicUsize::new(usize::MAX),
            items: recycle(core::mem::take(&mut scratch.items)),
            scratch: &mut scratch,
            duplicates: Vec::new(),
            threads: 1,
            batch_size: 0,
        };
        run.windows(items.into_iter(), resolve);
        let (threads, batch_size) = (run.threads, run.batch_size);
        let lowest = match request.mode {
            Mode::FirstInvalid => run.lowest.into_inner(),
            Mode::Full | Mode::AnyInvalid => usize::MAX,
        };
        let (items, mut duplicates) = (recycle(run.items), run.duplicates);
        scratch.items = items;
        let codes = scratch.codes.iter_mut().enumerate();
        let verdicts = codes.map(|(index, code)| match index {
            index if index > lowest => SKIPPED,
            _ => reason::verdict(*code.get_mut()),
        });
        let verdicts = verdicts.collect();
        if scratch.codes.capacity().max(scratch.items.capacity()) <= KEPT_ITEMS
            && let Some(mut idle) = self.idle()
            && idle.len() < KEPT_CALLS
        {
            idle.push(scratch);
        }
        duplicates.retain(|(index, _)| *index <= lowest);
        duplicates.sort_unstable();
        Report {
            verdicts,
            duplicates,
            threads,
            batch_size,
            elapsed: start.elapsed(),
        }
    }

    /// Does not wait: in a child process another thread's lock is never released.
    fn idle(&self) -> Option<MutexGuard<'_, Vec<Scratch<P>>>> {
        self.idle.try_lock().ok()
    }
}

struct Run<'a, 'r, P: ParameterSet> {
    scheduler: &'r Scheduler<P>,
    request: RunOptions,
    /// Lowest failure found so far. `Relaxed` suffices: a worker that reads an old value does
    /// work it could have left out, and the last read follows the join of the workers.
    lowest: AtomicUsize,
    /// `None` for an item that was rejected when it was resolved.
    items: Vec<Option<Resolved<'a, P>>>,
    scratch: &'r mut Scratch<P>,
    /// Indices of duplicates, each with that of the first of them.
    duplicates: Vec<(usize, usize)>,
    /// Workers of the last window.
    threads: usize,
    /// Most items of a chunk.
    batch_size: usize,
}

impl<'a, 'r, P: ParameterSet> Run<'a, 'r, P> {
    /// Verifies window by window. Each is resolved, planned and verified before the next.
    fn windows<T>(
        &mut self,
        mut source: impl Iterator<Item = T>,
        mut resolve: impl FnMut(T) -> Result<Resolved<'a, P>, RejectReason>,
    ) {
        self.scratch.codes.clear();
        let mut window = match self.request.mode {
            Mode::Full => usize::MAX,
            Mode::FirstInvalid | Mode::AnyInvalid => FIRST_WINDOW,
        };
        let mut start = 0;
        loop {
            self.add(source.by_ref().take(window).map(&mut resolve));
            let end = self.items.len();
            if start == end || self.is_skippable(start) {
                break;
            }
            let team = self.team(end - start);
            // A thread wakes while this one plans.
            let woken = team.map(|team| team.wake());
            let duplicates = self.duplicates.len();
            self.plan(start..end);
            let (accepted, rejected) = self.accelerate();
            self.threads = team.map_or(1, |team| team.workers);
            let chunk = self.divide(self.threads);
            self.batch_size = self.batch_size.max(chunk);
            self.verify(chunk, team, woken);
            self.distrust(accepted, &rejected);
            self.copy_verdicts(duplicates);
            start = end;
            window = window.saturating_mul(2).min(LAST_WINDOW.max(window));
        }
        // Items that were never resolved are skipped.
        let skipped = source.map(|_| AtomicU8::new(reason::code(SKIPPED)));
        self.scratch.codes.extend(skipped);
    }

    /// Returns the threads that help with a window of `count` items.
    fn team(&self, count: usize) -> Option<Team<'r>> {
        let is_small = count == 1 || self.items.len() < self.scheduler.options.inline_below;
        if self.request.alone || is_small {
            return None;
        }
        self.scheduler.pool.team()
    }

    /// Copies verdicts to the duplicates after the first ones.
    fn copy_verdicts(&mut self, known: usize) {
        for &(index, first) in &self.duplicates[known..] {
            let code = *self.scratch.codes[first].get_mut();
            self.scratch.codes[index] = AtomicU8::new(code);
        }
    }

    fn add(&mut self, new: impl Iterator<Item = Result<Resolved<'a, P>, RejectReason>>) {
        for item in new {
            let verdict = item.as_ref().err().map_or(SKIPPED, |reason| Err(*reason));
            let code = AtomicU8::new(reason::code(verdict));
            self.scratch.codes.push(code);
            self.items.push(item.ok());
        }
    }

    /// Fills the plan with the items of `range` that are to be verified, sorted by key and
    /// without duplicates.
    fn plan(&mut self, range: core::ops::Range<usize>) {
        let plan = &mut self.scratch.plan;
        plan.clear();
        for index in range {
            match &self.items[index] {
                Some(item) => plan.push(PlannedItem {
                    order: item.order(),
                    index,
                }),
                None => {
                    let lowest = self.lowest.get_mut();
                    *lowest = index.min(*lowest);
                }
            }
        }
        let items = &self.items;
        // Only planned items are asked for.
        let item = |index: usize| items[index].as_ref();
        take_duplicates(&self.scheduler.hasher, plan, &mut self.duplicates, item);
    }

    /// Lets the accelerator verify the plan, in which those that it does not accept are left.
    /// Returns those that it accepts, and the indices of those that it rejects.
    fn accelerate(&mut self) -> (Vec<PlannedItem>, Vec<usize>) {
        let none = (Vec::new(), Vec::new());
        let Some(accelerator) = &self.scheduler.accelerator else {
            return none;
        };
        // Both calls are the caller's code.
        let Some(least) = catch(|| accelerator.min_batch().max(1)) else {
            return none;
        };
        if self.request.alone || self.scratch.plan.len() < least {
            return none;
        }
        let (mut jobs, mut planned_jobs) = (Vec::new(), Vec::new());
        for planned in &self.scratch.plan {
            let item = self.items[planned.index].as_ref();
            if let Some(job) = item.and_then(Resolved::accelerator_job) {
                jobs.push(job);
                planned_jobs.push(*planned);
            }
        }
        // Some items of the plan may be for the CPU only.
        if jobs.len() < least {
            return none;
        }
        let mut answers = vec![None; jobs.len()];
        let Some(Ok(())) = catch(|| accelerator.verify(&jobs, &mut answers)) else {
            return none;
        };
        let (mut accepted, mut rejected) = none;
        for (planned, answer) in planned_jobs.into_iter().zip(answers) {
            match answer {
                Some(true) => accepted.push(planned),
                Some(false) => rejected.push(planned.index),
                None => {}
            }
        }
        self.set_codes(&accepted, Ok(()));
        let codes = &self.scratch.codes;
        let is_left = |planned: &PlannedItem| {
            let code = codes[planned.index].load(Ordering::Relaxed);
            code != reason::code(Ok(()))
        };
        self.scratch.plan.retain(is_left);
        (accepted, rejected)
    }

    /// Verifies what an accelerator has accepted, if it has rejected a valid signature.
    fn distrust(&mut self, accepted: Vec<PlannedItem>, rejected: &[usize]) {
        let codes = &self.scratch.codes;
        let is_valid =
            |index: &usize| codes[*index].load(Ordering::Relaxed) == reason::code(Ok(()));
        if !rejected.iter().any(is_valid) {
            return;
        }
        if let Some(accelerator) = &self.scheduler.accelerator {
            // The caller's code.
            catch(|| accelerator.on_wrong_rejection());
        }
        self.set_codes(&accepted, SKIPPED);
        self.scratch.plan = accepted;
        let chunk = self.divide(1);
        self.verify(chunk, None, None);
    }

    fn set_codes(&mut self, planned: &[PlannedItem], verdict: Verdict) {
        for planned in planned {
            self.scratch.codes[planned.index] = AtomicU8::new(reason::code(verdict));
        }
    }

    /// Divides the plan into one segment a worker, in whole chunks. The order being that of
    /// the keys, a worker meets the keys of the last round again. Returns the chunk size.
    fn divide(&mut self, threads: usize) -> usize {
        let count = self.scratch.plan.len();
        let chunk = match (self.scheduler.options.batch_size, self.request.mode) {
            (Some(size), _) => size.get().min(count.max(1)),
            (None, Mode::Full) => (count / (4 * threads)).clamp(LANES, MAX_CALL) / LANES * LANES,
            (None, Mode::FirstInvalid | Mode::AnyInvalid) => LANES,
        };
        let chunks = count.div_ceil(chunk);
        let workers = threads.min(chunks).max(1);
        let share = chunks.div_ceil(workers).saturating_mul(chunk);
        let segments = &mut self.scratch.segments;
        segments.clear();
        segments.extend((0..workers).map(|worker| Segment {
            next: AtomicUsize::new(share.saturating_mul(worker).min(count)),
            end: share.saturating_mul(worker + 1).min(count),
        }));
        chunk
    }

    /// Verifies the plan, with the team if it has several segments.
    fn verify(&self, chunk: usize, team: Option<Team<'_>>, woken: Option<WakeHandle>) {
        let segments = self.scratch.segments.len();
        if let Some(team) = team
            && segments > 1
        {
            // Alone until a woken thread can help.
            let done = woken.is_some_and(|woken| self.work(LANES, 0, || woken.is_awake()));
            if !done {
                team.run(segments, &|worker| {
                    self.work(chunk, worker, || false);
                });
            }
        }
        // Chunks that the others have left undone.
        self.work(chunk, 0, || false);
    }

    /// Works on the segment of this worker, then on the others, until `enough`, which is
    /// asked after every chunk. Returns whether nothing is left.
    fn work(&self, chunk: usize, worker: usize, enough: impl Fn() -> bool) -> bool {
        let segments = &self.scratch.segments;
        for n in 0..segments.len() {
            let segment = &segments[(worker % segments.len() + n) % segments.len()];
            loop {
                // Small chunks at the end, so that no worker waits long for the last one.
                let left = segment
                    .end
                    .saturating_sub(segment.next.load(Ordering::Relaxed));
                let chunk = if left / 2 <= chunk {
                    chunk.min(LANES)
                } else {
                    chunk
                };
                let start = segment.next.fetch_add(chunk, Ordering::Relaxed);
                if start >= segment.end {
                    break;
                }
                let end = segment.end.min(start.saturating_add(chunk));
                self.verify_chunk(&self.scratch.plan[start..end]);
                if enough() {
                    return false;
                }
            }
        }
        true
    }

    fn verify_chunk(&self, plan: &[PlannedItem]) {
        let call = match self.request.mode {
            Mode::Full => MAX_CALL,
            Mode::FirstInvalid | Mode::AnyInvalid => LANES,
        };
        for plan in plan.chunks(call) {
            let items = plan
                .iter()
                .filter(|planned| !self.is_skippable(planned.index));
            let items = items.filter_map(|planned| {
                let item = self.items[planned.index].as_ref()?;
                Some((planned.index, item))
            });
            self.scheduler.lanes.verify(items, |index, verdict| {
                self.scratch.codes[index].store(reason::code(verdict), Ordering::Relaxed);
                if verdict.is_err() {
                    self.lowest.fetch_min(index, Ordering::Relaxed);
                }
            });
        }
    }

    /// Returns whether neither the item at `index` nor, in order of index, any later one needs to
    /// be verified.
    fn is_skippable(&self, index: usize) -> bool {
        let lowest = self.lowest.load(Ordering::Relaxed);
        match self.request.mode {
            Mode::Full => false,
            Mode::FirstInvalid => lowest < index,
            Mode::AnyInvalid => lowest != usize::MAX,
        }
    }
}
