//! Whose threads do the work.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::caught::caught;

/// Lends threads to the one that verifies a batch or builds a key set: rayon's
/// pools, or the pool of the caller's runtime.
///
/// Nothing depends on which of the tasks run where, or whether they run at all:
/// what the helpers leave, the asking thread does.
pub trait Executor: Send + Sync {
    /// Threads that may work at once, the asking one included.
    fn workers(&self) -> usize;

    /// Calls `task` up to `tasks` times and returns when all calls that were begun
    /// have ended. The asking thread may be one of those that call; any call may be
    /// left out. The number, whatever it is, says with which part to begin: a thread
    /// that gives the same one each time meets the same keys again.
    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync));

    /// Wakes a thread, without waiting for it, for a [`run`](Self::run) that follows
    /// once it is awake: until then the asking thread works on alone, and if there is
    /// nothing left by then, it has waited for nobody. `None` if `run` never waits for a
    /// thread that sleeps or is busy.
    fn rouse(&self) -> Option<Roused> {
        None
    }

    /// Hands over work that nobody waits for; to rayon's current pool unless the
    /// executor has a better place. Work that is dropped instead is answered as
    /// abandoned. A loaded [`Intake`](crate::Intake) calls it from that work itself, for
    /// what comes next.
    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        rayon::spawn(work);
    }

    /// Whether this thread is one of those that [`spawn`](Self::spawn) may choose:
    /// it then does the work that it waits for, rather than waiting for itself. Whoever
    /// replaces one of the two replaces both: a pool of one thread would wait for ever.
    fn is_worker(&self) -> bool {
        rayon::current_thread_index().is_some()
    }

    /// Lets other work of the pool go first, on a thread of its own: called between two
    /// batches of an [`Intake`](crate::Intake), each of which is a job of its own. To be
    /// replaced where a job that a job spawns would go before all that waits already.
    fn yield_now(&self) {
        let _ = rayon::yield_now();
    }
}

/// Threads that are believed of an executor; the work of more would be too little to
/// share.
const MAX_WORKERS: usize = 1024;

/// [`Executor::workers`], whatever it says; 1 if it panics.
pub(crate) fn workers(executor: &dyn Executor) -> usize {
    let workers = caught(|| executor.workers());
    workers.unwrap_or(1).clamp(1, MAX_WORKERS)
}

/// [`Executor::is_worker`]; false if it panics.
pub(crate) fn is_worker(executor: &dyn Executor) -> bool {
    caught(|| executor.is_worker()).unwrap_or(false)
}

/// [`Executor::spawn`]; one that panics has dropped the work.
pub(crate) fn spawn(executor: &dyn Executor, work: Box<dyn FnOnce() + Send>) {
    caught(|| executor.spawn(work));
}

/// Whether a thread that was woken is awake ([`Executor::rouse`]). It stays so for a
/// moment, or until this is dropped.
#[derive(Clone, Debug, Default)]
pub struct Roused(Arc<AtomicBool>);

/// How long a thread that was woken waits to be of use.
const LINGER: Duration = Duration::from_micros(100);

impl Roused {
    /// To be given to the asking thread.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Called on the thread that was woken, with a clone.
    pub fn awake(self) {
        self.0.store(true, Ordering::Relaxed);
        let since = Instant::now();
        while Arc::strong_count(&self.0) > 1 && since.elapsed() < LINGER {
            thread::yield_now();
        }
    }

    pub(crate) fn is_awake(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whose threads do the work. The calling thread always takes part, as one of
/// them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Threads {
    /// Rayon's global pool, or the pool the call comes from.
    #[default]
    Shared,
    /// A pool of this many threads, owned by the verifier. Zero is an error.
    Dedicated(usize),
    /// A pool that the caller owns.
    Pool(Arc<ThreadPool>),
    /// The calling thread alone; what an intake is to verify for nobody who waits goes
    /// to rayon's current pool.
    Inline,
    /// Any other: a runtime's own pool.
    Executor(Arc<dyn Executor>),
}

/// The executor of a choice of [`Threads`]; `None` if the threads do not start.
pub(crate) fn executor(threads: Threads) -> Option<Arc<dyn Executor>> {
    Some(match threads {
        Threads::Shared => Arc::new(Shared),
        Threads::Dedicated(0) => return None,
        Threads::Dedicated(n) => {
            let pool = ThreadPoolBuilder::new()
                .num_threads(n)
                .thread_name(|i| format!("batch-verify-{i}"));
            Arc::new(pool.build().ok()?)
        }
        Threads::Pool(pool) => Arc::new(Pool(pool)),
        Threads::Inline => Arc::new(Inline),
        Threads::Executor(executor) => executor,
    })
}

impl Threads {
    /// The threads of a caller's pool, lent by `run`, which calls the task it is given
    /// with each number below the one it is given, on whatever threads it likes, and
    /// returns when they have ended; it may leave some out. `workers` threads may work
    /// at once, the asking one included. [`CallerPool`] has more to choose.
    ///
    /// ```
    /// use batch_verify::{BatchVerifier, Threads};
    /// use mldsa_core::MlDsa44;
    ///
    /// let threads = Threads::from_fn(4, |tasks, task| {
    ///     std::thread::scope(|scope| {
    ///         (0..tasks).for_each(|n| drop(scope.spawn(move || task(n))));
    ///     });
    /// });
    /// let verifier = BatchVerifier::<MlDsa44>::builder().threads(threads).build()?;
    /// # Ok::<(), batch_verify::BuildError>(())
    /// ```
    pub fn from_fn(
        workers: usize,
        run: impl Fn(usize, &(dyn Fn(usize) + Sync)) + Send + Sync + 'static,
    ) -> Self {
        CallerPool::new(workers, run).into_threads()
    }
}

/// An [`Executor`] made of functions.
pub struct CallerPool {
    workers: usize,
    run: Box<Run>,
    spawn: Option<(Box<Spawn>, Box<IsWorker>)>,
    yield_now: Option<Box<YieldNow>>,
}

type Run = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + Send + Sync;
type Spawn = dyn Fn(Box<dyn FnOnce() + Send>) + Send + Sync;
type IsWorker = dyn Fn() -> bool + Send + Sync;
type YieldNow = dyn Fn() + Send + Sync;

impl CallerPool {
    /// As [`Threads::from_fn`]. Work that nobody waits for goes to rayon's current pool.
    pub fn new(
        workers: usize,
        run: impl Fn(usize, &(dyn Fn(usize) + Sync)) + Send + Sync + 'static,
    ) -> Self {
        Self {
            workers,
            run: Box::new(run),
            spawn: None,
            yield_now: None,
        }
    }

    /// Hands work that nobody waits for to `spawn`; `is_worker` says whether a thread
    /// is one of those that it may choose.
    #[must_use]
    pub fn spawning(
        self,
        spawn: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static,
        is_worker: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            spawn: Some((Box::new(spawn), Box::new(is_worker))),
            ..self
        }
    }

    /// Lets other work of the pool go first with `yield_now`
    /// ([`Executor::yield_now`]).
    #[must_use]
    pub fn yielding(self, yield_now: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            yield_now: Some(Box::new(yield_now)),
            ..self
        }
    }

    /// The choice of these threads.
    #[must_use]
    pub fn into_threads(self) -> Threads {
        Threads::Executor(Arc::new(self))
    }
}

impl Executor for CallerPool {
    fn workers(&self) -> usize {
        self.workers
    }

    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        (self.run)(tasks, task);
    }

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        match &self.spawn {
            Some((spawn, _)) => spawn(work),
            None => rayon::spawn(work),
        }
    }

    fn is_worker(&self) -> bool {
        match &self.spawn {
            Some((_, is_worker)) => is_worker(),
            None => rayon::current_thread_index().is_some(),
        }
    }

    fn yield_now(&self) {
        match (&self.yield_now, &self.spawn) {
            (Some(yield_now), _) => yield_now(),
            (None, None) => drop(rayon::yield_now()),
            // Its work waits in the caller's queue, where others have their turn.
            (None, Some(_)) => {}
        }
    }
}

impl fmt::Debug for CallerPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallerPool({} workers)", self.workers)
    }
}

/// The asking thread alone.
struct Inline;

impl Executor for Inline {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, _: usize, _: &(dyn Fn(usize) + Sync)) {}
}

/// The pool that the asking thread belongs to, or rayon's global one.
struct Shared;

impl Executor for Shared {
    fn workers(&self) -> usize {
        rayon::current_num_threads()
    }

    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        if rayon::current_thread_index().is_some() {
            fork(tasks, task);
        } else {
            rayon::in_place_scope(|scope| help(scope, tasks, task));
        }
    }

    fn rouse(&self) -> Option<Roused> {
        let outside = rayon::current_thread_index().is_none();
        outside.then(|| {
            let roused = Roused::new();
            let there = roused.clone();
            rayon::spawn(move || there.awake());
            roused
        })
    }
}

impl Executor for ThreadPool {
    fn workers(&self) -> usize {
        self.current_num_threads()
    }

    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        if self.current_thread_index().is_some() {
            fork(tasks, task);
        } else {
            self.in_place_scope(|scope| help(scope, tasks, task));
        }
    }

    fn rouse(&self) -> Option<Roused> {
        let outside = self.current_thread_index().is_none();
        outside.then(|| {
            let roused = Roused::new();
            let there = roused.clone();
            Self::spawn(self, move || there.awake());
            roused
        })
    }

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        Self::spawn(self, work);
    }

    fn is_worker(&self) -> bool {
        self.current_thread_index().is_some()
    }

    fn yield_now(&self) {
        let _ = Self::yield_now(self);
    }
}

/// A pool that the caller keeps too.
struct Pool(Arc<ThreadPool>);

impl Executor for Pool {
    fn workers(&self) -> usize {
        self.0.workers()
    }

    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        self.0.run(tasks, task);
    }

    fn rouse(&self) -> Option<Roused> {
        self.0.rouse()
    }

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        Executor::spawn(&*self.0, work);
    }

    fn is_worker(&self) -> bool {
        self.0.is_worker()
    }

    fn yield_now(&self) {
        Executor::yield_now(&*self.0);
    }
}

/// On a worker of the pool: without allocation, and without waiting for a sleeping
/// worker where the work is done before it wakes.
fn fork(tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..tasks)
        .into_par_iter()
        .with_max_len(1)
        .for_each(|n| task(rayon::current_thread_index().unwrap_or(n)));
}

/// From outside: the asking thread works on the first part, the pool helps. Returns
/// when the pool has looked at every part, so that it is to be awake.
fn help<'s>(scope: &rayon::Scope<'s>, tasks: usize, task: &'s (dyn Fn(usize) + Sync)) {
    for n in 1..tasks {
        scope.spawn(move |_| task(rayon::current_thread_index().map_or(n, |at| at + 1)));
    }
    task(0);
}

/// Deals `items` to the workers, which each run `work` with a way to get the next.
pub(crate) fn share<T: Send>(
    executor: &dyn Executor,
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
    lend(executor, workers(executor).min(count), &|_| run());
    run();
}

/// [`Executor::rouse`] by code that may panic.
pub(crate) fn rouse(executor: &dyn Executor) -> Option<Roused> {
    caught(|| executor.rouse()).flatten()
}

/// [`Executor::run`] by code that may panic: what it has left, the asking thread does.
pub(crate) fn lend(executor: &dyn Executor, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    caught(|| executor.run(tasks, task));
}

impl fmt::Debug for dyn Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executor({} workers)", workers(self))
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicUsize;

    use super::*;

    /// Leaves out the tasks whose bit is not set.
    struct Careless(u8);

    impl Executor for Careless {
        fn workers(&self) -> usize {
            8
        }

        fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
            std::thread::scope(|scope| {
                for n in (0..tasks).filter(|n| self.0 >> n & 1 == 1) {
                    scope.spawn(move || task(n));
                }
            });
        }
    }

    #[test]
    fn everything_is_shared_out_once() {
        for kept in [0, 1, 0b1010_0110, 0xff] {
            for executor in [
                Arc::new(Careless(kept)) as Arc<dyn Executor>,
                executor(Threads::Inline).unwrap(),
                executor(Threads::Shared).unwrap(),
                executor(Threads::Dedicated(3)).unwrap(),
            ] {
                for count in [0, 1, 7, 100] {
                    let seen: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                    share(&*executor, count, seen.iter(), |next| {
                        while let Some(seen) = next() {
                            seen.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                    assert!(seen.into_iter().all(|seen| seen.into_inner() == 1));
                }
            }
        }
        assert!(executor(Threads::Dedicated(0)).is_none());
    }
}
