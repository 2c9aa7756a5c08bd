//! Threads that verify a batch or build a committee.

use core::fmt;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Choice of threads. The calling thread always takes part, as one of them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Threads {
    /// Rayon's global pool, or the pool the call comes from. The first use starts the
    /// global pool; call `rayon::ThreadPoolBuilder::build_global` before.
    #[default]
    Shared,
    /// A pool of this many threads, owned by the verifier. Zero is an error.
    Dedicated(usize),
    /// A pool that the caller owns.
    Pool(Arc<ThreadPool>),
    /// The calling thread alone.
    Inline,
}

/// Upper bound on the workers of a batch, which has too little work for more.
const MAX_WORKERS: usize = 1024;

/// Threads that have been started.
#[derive(Clone)]
pub(crate) enum Pool {
    Inline,
    Shared,
    /// With the process that has its threads.
    Rayon(Arc<ThreadPool>, u32),
}

/// The process in which rayon's global pool was first used; 0 before.
static SHARED_IN: AtomicU32 = AtomicU32::new(0);

impl Pool {
    /// `None` if the threads do not start.
    pub(crate) fn new(threads: Threads) -> Option<Self> {
        Some(match threads {
            Threads::Inline => Self::Inline,
            Threads::Shared => Self::Shared,
            Threads::Dedicated(0) => return None,
            Threads::Dedicated(n) => {
                let pool = ThreadPoolBuilder::new()
                    .num_threads(n)
                    .thread_name(|i| format!("batch-verify-{i}"));
                Self::Rayon(Arc::new(pool.build().ok()?), process::id())
            }
            Threads::Pool(pool) => Self::Rayon(pool, process::id()),
        })
    }

    /// Whether this process is a child made by `fork`, without the threads of the pool. Those of
    /// [`Pool::Inline`] are for [`spawn`](Self::spawn) only.
    pub(crate) fn is_forked(&self) -> bool {
        let id = process::id();
        let threads_in = match self {
            Self::Rayon(_, process) => *process,
            Self::Inline | Self::Shared => {
                let order = Ordering::Relaxed;
                let known = SHARED_IN.compare_exchange(0, id, order, order);
                known.map_or_else(|known| known, |_| id)
            }
        };
        threads_in != id
    }

    /// At least 1.
    pub(crate) fn workers(&self) -> usize {
        let workers = match self {
            Self::Inline => 1,
            _ if self.is_forked() => 1,
            Self::Shared => rayon::current_num_threads(),
            Self::Rayon(pool, _) => pool.current_num_threads(),
        };
        workers.clamp(1, MAX_WORKERS)
    }

    /// Lends threads to `task`; the caller does what is left undone.
    pub(crate) fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        match self {
            _ if tasks < 2 => {}
            Self::Inline => {}
            Self::Shared if rayon::current_thread_index().is_some() => join_current(tasks, task),
            Self::Shared => rayon::in_place_scope(|scope| join_external(scope, tasks, task)),
            Self::Rayon(pool, _) if pool.current_thread_index().is_some() => {
                join_current(tasks, task);
            }
            Self::Rayon(pool, _) => pool.in_place_scope(|scope| join_external(scope, tasks, task)),
        }
    }

    /// Wakes a pool thread without waiting for it, if the caller is no thread of the pool.
    pub(crate) fn wake(&self) -> Option<WakeHandle> {
        let is_outside = match self {
            Self::Shared => rayon::current_thread_index().is_none(),
            Self::Rayon(pool, _) => pool.current_thread_index().is_none(),
            Self::Inline => false,
        };
        is_outside.then(|| {
            let handle = WakeHandle::default();
            let waker = handle.clone();
            self.spawn(Box::new(move || waker.set_awake()));
            handle
        })
    }

    /// Runs `work` some time, or drops it if there are no threads.
    pub(crate) fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        match self {
            _ if self.is_forked() => {}
            Self::Inline | Self::Shared => rayon::spawn(work),
            Self::Rayon(pool, _) => pool.spawn(work),
        }
    }

    /// Deals `items` to the workers; each runs `work` with a function that gives the next.
    pub(crate) fn for_each<T: Send>(
        &self,
        count: usize,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(&mut dyn FnMut() -> Option<T>) + Sync,
    ) {
        let items = Mutex::new(items);
        let run = || {
            let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(first) = next() else { return };
            let mut first = Some(first);
            work(&mut || first.take().or_else(next));
        };
        self.run(self.workers().min(count), &|_| run());
        run();
    }
}

/// Runs the caller's code; `None` if it panics.
pub(crate) fn catch<R>(code: impl FnOnce() -> R) -> Option<R> {
    let result = catch_unwind(AssertUnwindSafe(code));
    // Dropping the payload could panic again.
    result.map_err(mem::forget).ok()
}

/// State of a thread that was woken; it spins for a moment, or until this is dropped.
#[derive(Clone, Default)]
pub(crate) struct WakeHandle(Arc<AtomicBool>);

/// Time that a woken thread spins.
const SPIN: Duration = Duration::from_micros(100);

impl WakeHandle {
    fn set_awake(self) {
        self.0.store(true, Ordering::Relaxed);
        spin_while(|| Arc::strong_count(&self.0) > 1);
    }

    pub(crate) fn is_awake(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// From a thread of the pool: no allocation, and no wait for a sleeping worker if the work
/// is done before it wakes.
fn join_current(tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..tasks)
        .into_par_iter()
        .with_max_len(1)
        .for_each(|n| task(rayon::current_thread_index().unwrap_or(n)));
}

/// From outside: the calling thread works on the first part, the pool helps. Returns when
/// the pool has run every task, so the pool should be awake.
fn join_external<'s>(scope: &rayon::Scope<'s>, tasks: usize, task: &'s (dyn Fn(usize) + Sync)) {
    let running = Arc::new(());
    for n in 1..tasks {
        let running = Arc::clone(&running);
        scope.spawn(move |_| {
            task(rayon::current_thread_index().map_or(n, |at| at + 1));
            drop(running);
        });
    }
    task(0);
    // The scope would sleep, and the last task wake it.
    spin_while(|| Arc::strong_count(&running) > 1);
}

/// Waits for a moment.
fn spin_while(busy: impl Fn() -> bool) {
    let since = Instant::now();
    while busy() && since.elapsed() < SPIN {
        thread::yield_now();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} workers)", self.workers())
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn for_each_visits_every_item_once() {
        for threads in [Threads::Inline, Threads::Shared, Threads::Dedicated(3)] {
            let pool = Pool::new(threads).unwrap();
            for count in [0, 1, 7, 100] {
                let seen: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                pool.for_each(count, seen.iter(), |next| {
                    while let Some(seen) = next() {
                        seen.fetch_add(1, Ordering::Relaxed);
                    }
                });
                assert!(seen.into_iter().all(|seen| seen.into_inner() == 1));
            }
        }
        assert!(Pool::new(Threads::Dedicated(0)).is_none());
    }
}
