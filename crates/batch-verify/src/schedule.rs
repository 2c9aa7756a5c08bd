//! Who verifies which index when, and where it stops.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{BuildError, Outcome};

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

/// Items that one worker takes at once: the width of the widest lanes.
const GROUP: usize = 8;

/// Groups per thread in a window. Early-exit modes verify window after window,
/// so that the work thrown away is bounded: rayon alone would start its second
/// worker in the middle of the batch.
const GROUPS_PER_WINDOW: usize = 4;

#[derive(Debug)]
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

    /// The outcomes of `len` items, each judged by `judge`, in order.
    pub(crate) fn run(
        &self,
        mode: Mode,
        len: usize,
        judge: impl Fn(usize) -> Outcome + Sync,
    ) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Skipped; len];
        let stop = Stop {
            mode,
            lowest: AtomicUsize::new(usize::MAX),
        };
        match self {
            Self::Shared => run_parallel(&stop, &mut outcomes, &judge),
            Self::Pool(pool) => pool.install(|| run_parallel(&stop, &mut outcomes, &judge)),
            Self::Inline => {
                for (number, group) in outcomes.chunks_mut(GROUP).enumerate() {
                    run_group(&stop, number * GROUP, group, &judge);
                }
            }
        }
        if mode == Mode::FirstInvalid {
            let lowest = stop.lowest.into_inner();
            outcomes
                .iter_mut()
                .skip(lowest.saturating_add(1))
                .for_each(|o| *o = Outcome::Skipped);
        }
        outcomes
    }
}

fn run_parallel(stop: &Stop, outcomes: &mut [Outcome], judge: &(impl Fn(usize) -> Outcome + Sync)) {
    let window = match stop.mode {
        Mode::Full => outcomes.len().max(1),
        Mode::FirstInvalid | Mode::AnyInvalid => {
            GROUP * GROUPS_PER_WINDOW * rayon::current_num_threads()
        }
    };
    for (number, slots) in outcomes.chunks_mut(window).enumerate() {
        let base = number * window;
        if stop.passed(base) {
            break;
        }
        slots
            .par_chunks_mut(GROUP)
            .enumerate()
            .for_each(|(number, group)| {
                run_group(stop, base + number * GROUP, group, judge);
            });
    }
}

/// Judges `group`, whose first item has index `base`.
fn run_group(stop: &Stop, base: usize, group: &mut [Outcome], judge: &impl Fn(usize) -> Outcome) {
    if stop.passed(base) {
        return;
    }
    for (offset, slot) in group.iter_mut().enumerate() {
        *slot = judge(base + offset);
        if stop.mode != Mode::Full && matches!(slot, Outcome::Invalid(_)) {
            stop.lowest.fetch_min(base + offset, Ordering::Relaxed);
            return;
        }
    }
}

/// The lowest failure found so far. `Relaxed` suffices: a worker that reads an
/// old value does work it could have spared, and the last read comes after
/// rayon has joined the workers.
struct Stop {
    mode: Mode,
    lowest: AtomicUsize,
}

impl Stop {
    /// Whether the group that begins at `base` need not be looked at any more.
    fn passed(&self, base: usize) -> bool {
        let lowest = self.lowest.load(Ordering::Relaxed);
        match self.mode {
            Mode::Full => false,
            Mode::FirstInvalid => lowest < base,
            Mode::AnyInvalid => lowest != usize::MAX,
        }
    }
}
