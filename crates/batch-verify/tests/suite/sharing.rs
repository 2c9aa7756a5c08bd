//! Intakes that share a pool with each other and with other work: whoever is loaded,
//! everybody has a turn, and nobody waits for ever.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;

use crate::votes::{VOTES, expected, verifier};
use crate::waiting::hang_limit;
use batch_verify::{
    BatchVerifier, CallerPool, Executor, Intake, IntakeError, IntakeLimits, IntakeMetrics, Item,
    OwnedItem, Threads, Verified,
};
use mldsa_core::MlDsa44;

/// Whether `act` returns, on a thread of its own, without a panic.
fn returns(act: impl FnOnce() + Send + 'static) -> bool {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        act();
        send.send(()).unwrap();
    });
    receive.recv_timeout(hang_limit()).is_ok()
}

/// Submits more after every batch, as long as it is told to.
#[derive(Default)]
struct Flood {
    intake: OnceLock<Intake<MlDsa44>>,
    off: AtomicBool,
    batches: AtomicUsize,
}

struct FloodHook(Arc<Flood>);

impl IntakeMetrics for FloodHook {
    fn verified(&self, batch: &Verified) {
        let flood = &self.0;
        flood.batches.fetch_add(1, Ordering::Relaxed);
        if !flood.off.load(Ordering::Relaxed) && batch.waiting[0] < 100 {
            let intake = flood.intake.get().unwrap();
            for vote in &VOTES[..16] {
                intake.submit(vote.clone()).unwrap().detach();
            }
        }
    }
}

impl Flood {
    /// An intake that is loaded until it is told otherwise.
    fn new(verifier: BatchVerifier<MlDsa44>) -> Arc<Self> {
        let flood = Arc::new(Self::default());
        let limits = IntakeLimits {
            memory_bytes: 0,
            batch: 8,
            ..IntakeLimits::default()
        };
        let builder = Intake::builder(verifier).limits(limits);
        let intake = builder.metrics(FloodHook(Arc::clone(&flood))).build();
        assert!(flood.intake.set(intake).is_ok());
        flood
    }

    fn intake(&self) -> &Intake<MlDsa44> {
        self.intake.get().unwrap()
    }

    fn begin(&self) {
        for vote in VOTES.iter() {
            self.intake().submit(vote.clone()).unwrap().detach();
        }
    }

    fn batches(&self) -> usize {
        self.batches.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.off.store(true, Ordering::Relaxed);
        self.intake().drain();
    }
}

fn pool(threads: usize) -> Arc<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    Arc::new(pool.unwrap())
}

#[test]
fn loaded_intakes_hold_nobody_up() {
    for threads in [1, 2] {
        for count in [1, 2, 3] {
            let pool = pool(threads);
            let verifier = verifier(Threads::Pool(Arc::clone(&pool)));
            let floods: Vec<_> = (0..count).map(|_| Flood::new(verifier.clone())).collect();
            floods.iter().for_each(|flood| flood.begin());
            // Each of them goes on while all are loaded.
            let begun = floods.clone();
            assert!(returns(move || {
                while begun.iter().any(|flood| flood.batches() < 50) {
                    thread::yield_now();
                }
            }));
            // So do work from outside, jobs that spawn jobs, and batches.
            let before: Vec<_> = floods.iter().map(|flood| flood.batches()).collect();
            assert!(returns(move || {
                for _ in 0..20 {
                    pool.install(|| ());
                    pool.scope(|scope| scope.spawn(|scope| scope.spawn(|_| ())));
                }
                let items: Vec<Item<'_>> = VOTES.iter().map(OwnedItem::as_item).collect();
                for _ in 0..5 {
                    assert_eq!(verifier.verify(&items).outcomes().len(), 60);
                }
            }));
            let going = floods.clone();
            assert!(returns(move || {
                let mut all = going.iter().zip(&before);
                while all.any(|(flood, before)| flood.batches() <= *before) {
                    thread::yield_now();
                }
            }));
            floods.iter().for_each(|flood| flood.end());
        }
    }
}

/// A job of a pool that drains a loaded intake lets the others go first.
#[test]
fn a_thread_that_drains_lets_others_go_first() {
    let pool = pool(1);
    let flood = Flood::new(verifier(Threads::Pool(Arc::clone(&pool))));
    let (end, drained) = mpsc::channel();
    let inside = Arc::clone(&flood);
    pool.spawn(move || {
        inside.begin();
        inside.intake().drain();
        end.send(()).unwrap();
    });
    let other = Arc::clone(&flood);
    // Behind the one that drains, which ends when this has run.
    pool.spawn(move || other.off.store(true, Ordering::Relaxed));
    drained.recv_timeout(hang_limit()).unwrap();
}

type Job = Box<dyn FnOnce() + Send>;

/// Jobs that wait for the test to run them, and what a thread of the pool does when
/// another job is to go first.
#[derive(Default)]
struct Stepped {
    jobs: Mutex<VecDeque<Job>>,
    others: Mutex<VecDeque<Job>>,
    yielded: AtomicUsize,
}

impl Stepped {
    /// Runs the job that has waited longest. False if there is none.
    fn step(&self) -> bool {
        let job = self.jobs.lock().unwrap().pop_front();
        job.map(|job| job()).is_some()
    }

    fn waiting(&self) -> usize {
        self.jobs.lock().unwrap().len()
    }
}

impl Executor for Stepped {
    fn workers(&self) -> usize {
        2
    }

    fn run(&self, _: usize, _: &(dyn Fn(usize) + Sync)) {}

    fn spawn(&self, work: Job) {
        self.jobs.lock().unwrap().push_back(work);
    }

    fn is_worker(&self) -> bool {
        false
    }

    fn yield_now(&self) {
        self.yielded.fetch_add(1, Ordering::Relaxed);
        let other = self.others.lock().unwrap().pop_front();
        other.into_iter().for_each(|other| other());
    }
}

fn stepped(workers: usize) -> (Arc<Stepped>, Intake<MlDsa44>) {
    let executor = Arc::new(Stepped::default());
    let threads = Threads::Executor(Arc::clone(&executor) as Arc<dyn Executor>);
    let limits = IntakeLimits {
        workers,
        batch: 8,
        memory_bytes: 0,
        ..IntakeLimits::default()
    };
    (executor, Intake::new(verifier(threads), limits))
}

fn submit(intake: &Intake<MlDsa44>, votes: core::ops::Range<usize>) {
    for vote in &VOTES[votes] {
        intake.submit(vote.clone()).unwrap().detach();
    }
}

#[test]
fn a_job_is_one_batch() {
    let (executor, intake) = stepped(1);
    submit(&intake, 0..20);
    assert_eq!(executor.waiting(), 1);
    for (batch, waiting) in [(1, 12), (2, 4), (3, 0)] {
        assert!(executor.step());
        let stats = intake.stats();
        assert_eq!((stats.batches, stats.waiting), (batch, waiting));
        assert_eq!(executor.waiting(), usize::from(waiting > 0));
    }
    // The last has found nothing to step aside for.
    assert_eq!(executor.yielded.load(Ordering::Relaxed), 2);
    submit(&intake, 0..1);
    assert_eq!(executor.waiting(), 1);
    assert!(executor.step() && !executor.step());
    assert_eq!(intake.stats().verified, 21);
}

/// A job that goes first submits a vote and does not let go before it has the answer,
/// which it cannot give itself.
#[test]
fn a_job_on_top_of_a_worker_may_wait() {
    let (executor, intake) = stepped(1);
    submit(&intake, 0..9);
    let (inside, pool) = (intake.clone(), Arc::clone(&executor));
    let above = move || {
        let (send, answer) = mpsc::channel();
        let pending = inside.submit(VOTES[9].clone()).unwrap();
        // The worker below counts no more: this is another, for another thread.
        assert_eq!(pool.waiting(), 1);
        let other = Arc::clone(&pool);
        let stepping = thread::spawn(move || assert!(other.step()));
        thread::spawn(move || send.send(pending.wait()));
        let answer = answer.recv_timeout(hang_limit()).unwrap();
        assert_eq!(answer, Ok(expected(9)));
        stepping.join().unwrap();
    };
    executor.others.lock().unwrap().push_back(Box::new(above));
    assert!(executor.step());
    assert!(executor.others.lock().unwrap().is_empty());
    while executor.step() {}
    let stats = intake.stats();
    assert_eq!((stats.verified, stats.waiting), (10, 0));
}

/// Workers of other intakes that a pool runs on top of one come back to its queue; the
/// stack does not grow with the load.
#[test]
fn workers_on_top_of_workers_verify_a_batch_each() {
    let (executor, first) = stepped(1);
    let threads = Threads::Executor(Arc::clone(&executor) as Arc<dyn Executor>);
    let limits = IntakeLimits {
        batch: 8,
        workers: 1,
        ..IntakeLimits::default()
    };
    let second = Intake::new(verifier(threads), limits);
    submit(&first, 0..20);
    submit(&second, 0..20);
    let pool = Arc::clone(&executor);
    let step = move || assert!(pool.step());
    executor.others.lock().unwrap().push_back(Box::new(step));
    assert!(executor.step());
    let batches = || [&first, &second].map(|intake| intake.stats().batches);
    assert_eq!(batches(), [1, 1]);
    // The second went first; then whatever else there is, which was nothing.
    assert_eq!(executor.yielded.load(Ordering::Relaxed), 2);
    assert_eq!(executor.waiting(), 2);
    while executor.step() {}
    assert_eq!(batches(), [3, 3]);
    // Dropped while it stands aside, and after.
    submit(&first, 0..9);
    let pool = Arc::clone(&executor);
    let inside = first.clone();
    let dropping = move || {
        submit(&inside, 20..21);
        pool.jobs.lock().unwrap().clear();
    };
    executor
        .others
        .lock()
        .unwrap()
        .push_back(Box::new(dropping));
    assert!(executor.step());
    let stats = first.stats();
    assert_eq!((stats.abandoned, stats.waiting), (2, 0));
    let last = first.submit(VOTES[0].clone()).unwrap();
    submit(&first, 0..8);
    assert!(executor.step());
    assert_eq!(executor.waiting(), 1);
    executor.jobs.lock().unwrap().clear();
    assert_eq!(last.wait(), Ok(expected(0)));
    assert_eq!(first.stats().abandoned, 3);
    // Shut down while it stands aside.
    submit(&first, 0..9);
    let waiting = first.clone();
    let shutdown = move || waiting.shutdown();
    executor
        .others
        .lock()
        .unwrap()
        .push_back(Box::new(shutdown));
    assert!(executor.step());
    let stats = first.stats();
    assert_eq!((stats.shutting_down, stats.waiting), (1, 0));
    assert_eq!(executor.waiting(), 0);
    first.drain();
    let late = first.submit(VOTES[0].clone()).map(drop);
    assert_eq!(late, Err(IntakeError::ShuttingDown));
}

/// Of the workers of an intake on top of another, every second one leaves the thread to
/// other work; what comes to a job that stays there is verified all the same.
#[test]
fn an_intake_has_every_second_turn_on_top_of_a_worker() {
    let (executor, intake) = stepped(2);
    submit(&intake, 0..40);
    assert_eq!(executor.waiting(), 2);
    let (inside, pool) = (intake.clone(), Arc::clone(&executor));
    let above = move || {
        assert!(pool.step());
        assert_eq!(inside.stats().batches, 2);
        submit(&inside, 40..41);
        assert!(pool.step() && !pool.step());
        assert_eq!(inside.stats().batches, 2);
        submit(&inside, 41..42);
        assert!(pool.step() && !pool.step());
        assert_eq!(inside.stats().batches, 3);
    };
    executor.others.lock().unwrap().push_back(Box::new(above));
    assert!(executor.step());
    assert_eq!(intake.stats().batches, 3);
    assert_eq!(executor.yielded.load(Ordering::Relaxed), 2);
    // As many as may be go on.
    assert_eq!(executor.waiting(), 2);
    while executor.step() {}
    let stats = intake.stats();
    assert_eq!((stats.verified, stats.waiting), (42, 0));
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Pools that run a job at once, on the thread that spawns it, and lie about it.
#[test]
fn a_pool_that_runs_jobs_at_once_needs_no_more_stack_under_load() {
    for workers in [1, 9] {
        let deepest = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&deepest);
        let spawn = move |work: Job| {
            DEPTH.set(DEPTH.get() + 1);
            seen.fetch_max(DEPTH.get(), Ordering::Relaxed);
            work();
            DEPTH.set(DEPTH.get() - 1);
        };
        let pool = CallerPool::new(workers, |_, _| {}).spawning(spawn, || false);
        let flood = Flood::new(verifier(pool.into_threads()));
        let watched = Arc::clone(&flood);
        let watching = thread::spawn(move || {
            while watched.batches() < 500 {
                thread::yield_now();
            }
            watched.off.store(true, Ordering::Relaxed);
        });
        // On this thread, for as long as it is loaded.
        flood.begin();
        watching.join().unwrap();
        flood.end();
        let stats = flood.intake().stats();
        assert_eq!((stats.waiting, stats.verified), (0, stats.items));
        // One in the call that submits, one in that by which its job goes on, or in a
        // hook of its batch.
        assert!(deepest.load(Ordering::Relaxed) <= 3);
    }
}

/// A pool of functions says how its threads let others go first.
#[test]
fn caller_pools_yield() {
    let jobs: Arc<Mutex<VecDeque<Job>>> = Arc::default();
    let (kept, yields) = (Arc::clone(&jobs), Arc::new(AtomicUsize::new(0)));
    let keep = move |job| kept.lock().unwrap().push_back(job);
    let counted = Arc::clone(&yields);
    let pool = CallerPool::new(1, |_, _| {})
        .spawning(keep, || false)
        .yielding(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
    let limits = IntakeLimits {
        batch: 8,
        ..IntakeLimits::default()
    };
    let intake = Intake::new(verifier(pool.into_threads()), limits);
    submit(&intake, 0..24);
    let next = || jobs.lock().unwrap().pop_front();
    while let Some(job) = next() {
        job();
    }
    assert_eq!(intake.stats().batches, 3);
    assert_eq!(yields.load(Ordering::Relaxed), 2);
}
