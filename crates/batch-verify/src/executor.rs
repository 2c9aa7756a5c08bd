//! Threads that verify a batch or build a committee.

use core::fmt;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use rayon::ThreadPoolBuilder;

use crate::BuildError;

/// Choice of threads. The calling thread always takes part, as one of them.
///
/// rayon's global pool is neither used nor started. A caller that waits for a batch runs nothing else
/// meanwhile, and the threads that it waits for run no code of a caller. A thread of a rayon pool of
/// the program verifies its batch alone.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Threads {
    /// Threads that this crate starts once for the process, one for each CPU, when a batch
    /// first needs them. While the system refuses to start them, the caller works alone and
    /// the next batch tries again.
    #[default]
    Shared,
    /// So many threads for this verifier; 1 starts none. Zero is an error, and so are threads
    /// that the system refuses to start.
    Dedicated(usize),
    /// Threads that several verifiers, committees and services share.
    Pool(ThreadPool),
    /// The calling thread alone.
    Inline,
}

impl Threads {
    /// Starts dedicated threads, so that clones share them.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`].
    pub(crate) fn started(self) -> Result<Self, BuildError> {
        Ok(match self {
            Self::Dedicated(threads) => Self::Pool(ThreadPool::new(threads)?),
            started => started,
        })
    }
}

/// Threads that have been started; clones share them.
#[derive(Clone)]
pub struct ThreadPool(Arc<Helpers>);

impl ThreadPool {
    /// Starts threads for batches of `threads` workers. The caller of a batch is one of them, so
    /// that 1 starts none.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] for zero, and if the system refuses to start them.
    pub fn new(threads: usize) -> Result<Self, BuildError> {
        let helpers = match threads {
            0 => None,
            _ => Helpers::start(threads),
        };
        Ok(Self(Arc::new(helpers.ok_or(BuildError::ThreadPool)?)))
    }

    /// Returns the number of workers of a batch.
    pub fn threads(&self) -> usize {
        self.0.workers
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadPool({} threads)", self.0.workers)
    }
}

/// Upper bound on the workers of a batch, which has too little work for more.
const MAX_WORKERS: usize = 1024;

/// The threads of a verifier or of a committee.
#[derive(Clone)]
pub(crate) enum Pool {
    Inline,
    Shared,
    Own(ThreadPool),
}

/// Running threads, which help a caller.
pub(crate) struct Helpers {
    /// Threads that run no code of the caller, because a batch waits for them. `None` for one worker,
    /// and after the value was dropped.
    pool: Option<rayon::ThreadPool>,
    /// Threads that work on a batch, the caller included.
    workers: usize,
    process: u32,
}

fn cpus() -> usize {
    static CPUS: OnceLock<usize> = OnceLock::new();
    *CPUS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

impl Helpers {
    /// Starts all but one of `workers` threads; the caller is the last one. `None` if the system
    /// refuses.
    fn start(workers: usize) -> Option<Self> {
        let workers = workers.min(MAX_WORKERS);
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers - 1)
            .thread_name(|i| format!("batch-verify-{i}"));
        Some(Self {
            pool: match workers {
                1 => None,
                _ => Some(pool.build().ok()?),
            },
            workers,
            process: process::id(),
        })
    }

    /// Returns the threads of the process, which the first call starts; `None` while they cannot be
    /// started.
    fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Helpers> = OnceLock::new();
        static STARTING: Mutex<()> = Mutex::new(());
        if SHARED.get().is_none()
            && cpus() > 1
            // Does not wait: another thread is starting them, or was when this process was forked.
            && let Ok(_starting) = STARTING.try_lock()
            && SHARED.get().is_none()
        {
            let _ = SHARED.set(Self::start(cpus())?);
        }
        SHARED.get()
    }

    /// Returns the pool, unless this process is a child made by `fork`, which does not have its
    /// threads.
    fn pool(&self) -> Option<&rayon::ThreadPool> {
        self.pool.as_ref().filter(|_| self.process == process::id())
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        if self.process != process::id() {
            // The pool would wait for locks that threads of the parent held.
            mem::forget(self.pool.take());
        }
    }
}

/// Helpers of one batch. Waiting for them runs no foreign job.
#[derive(Clone, Copy)]
pub(crate) struct Team<'p> {
    pool: &'p rayon::ThreadPool,
    pub(crate) workers: usize,
}

impl Pool {
    pub(crate) fn new(threads: Threads) -> Result<Self, BuildError> {
        Ok(match threads {
            Threads::Inline => Self::Inline,
            Threads::Shared => Self::Shared,
            Threads::Dedicated(threads) => Self::Own(ThreadPool::new(threads)?),
            Threads::Pool(pool) => Self::Own(pool),
        })
    }

    /// Returns the number of threads that a batch is meant to have, at least 1.
    pub(crate) fn workers(&self) -> usize {
        match self {
            Self::Inline => 1,
            Self::Shared => cpus().min(MAX_WORKERS),
            Self::Own(pool) => pool.threads(),
        }
    }

    fn helpers(&self) -> Option<&Helpers> {
        match self {
            Self::Inline => None,
            Self::Shared => Helpers::shared(),
            Self::Own(pool) => Some(&pool.0),
        }
    }

    /// Returns the helpers for a batch of this thread; `None` if it works alone.
    pub(crate) fn team(&self) -> Option<Team<'_>> {
        let pool = self.helpers()?.pool()?;
        // A thread of the program's pool would run jobs of that pool while it waits, and such a job
        // may need a lock that the caller holds.
        if rayon::current_thread_index().is_some() {
            return None;
        }
        let workers = self.workers();
        (workers > 1).then_some(Team { pool, workers })
    }

    /// Runs `work` on every worker with a function that takes the next of `items`.
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
        if count > 1
            && let Some(team) = self.team()
        {
            team.run(team.workers.min(count), &|_| run());
        }
        run();
    }
}

impl Team<'_> {
    /// Lends threads to `task`; the caller does what is left undone.
    pub(crate) fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        if tasks < 2 {
            return;
        }
        self.pool.in_place_scope(|scope| join(scope, tasks, task));
    }

    /// Wakes a thread without waiting for it.
    pub(crate) fn wake(&self) -> WakeHandle {
        let handle = WakeHandle::default();
        let waker = handle.clone();
        self.pool.spawn(move || waker.set_awake());
        handle
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

/// Runs the tasks: the calling thread works on the first part, the pool helps. Returns when the pool
/// has run every task, so the pool should be awake.
fn join<'s>(scope: &rayon::Scope<'s>, tasks: usize, task: &'s (dyn Fn(usize) + Sync)) {
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
        let none = Pool::new(Threads::Dedicated(0));
        assert_eq!(none.unwrap_err(), BuildError::ThreadPool);
        assert!(ThreadPool::new(1).unwrap().0.pool.is_none());
    }
}
