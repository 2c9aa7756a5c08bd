//! Wakers, hooks, peers and pools that do their worst: everybody else goes on.

use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use core::task::{Context as Task, Poll, Waker};
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Wake;
use std::thread;

use crate::votes::{VOTES, expected, held, verifier};
use crate::waiting::hang_limit;
use batch_verify::{
    Admission, Answered, AsyncIntake, CallerPool, Executor, Intake, IntakeError, IntakeLimits,
    IntakeMetrics, Item, Outcome, OwnedItem, Pending, Priority, Submit, Threads, Verified,
};
use mldsa_core::MlDsa44;

type Job = Box<dyn FnOnce() + Send>;

/// Whether `act` returns, on a thread of its own, without a panic.
fn returns(act: impl FnOnce() + Send + 'static) -> bool {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        act();
        send.send(()).unwrap();
    });
    receive.recv_timeout(hang_limit()).is_ok()
}

fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Task::from_waker(waker))
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_with(future, Waker::noop())
}

/// A queue of one place, and no memory.
fn one_place() -> IntakeLimits {
    IntakeLimits {
        items: 1,
        workers: 1,
        memory_bytes: 0,
        ..IntakeLimits::default()
    }
}

/// A waker that drops the future it is to wake, and panics when it goes.
#[derive(Default)]
struct Bomb(Mutex<Option<Submit<MlDsa44>>>);

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "the caller's fault");
    }
}

#[test]
fn a_waker_that_panics_when_it_goes_takes_no_worker_down() {
    let (held, threads) = held();
    let intake = Intake::new(verifier(threads), one_place());
    let mut first = intake.submit(VOTES[0].clone()).unwrap();
    let front = AsyncIntake::new(intake.clone());
    let mut waiting = front.submit(Priority::OwnRound, VOTES[1].clone());
    let bomb = Arc::new(Bomb::default());
    let waker = Waker::from(Arc::clone(&bomb));
    assert!(poll_with(&mut waiting, &waker).is_pending());
    *bomb.0.lock().unwrap() = Some(waiting);
    drop((waker, bomb));
    held.release();
    assert_eq!(poll(&mut first), Poll::Ready(Ok(Outcome::Valid)));
    // The worker has retired: the next item starts one.
    let mut second = intake.submit(VOTES[2].clone()).unwrap();
    held.release();
    assert_eq!(poll(&mut second), Poll::Ready(Ok(Outcome::Valid)));
    assert!(returns(move || intake.drain()));
}

#[test]
fn a_waker_that_panics_when_it_goes_stops_no_shutdown() {
    let (_held, threads) = held();
    let intake = Intake::new(verifier(threads), one_place());
    let mut inside = intake.submit(VOTES[0].clone()).unwrap();
    let front = AsyncIntake::new(intake.clone());
    let mut waiting = front.submit(Priority::OwnRound, VOTES[1].clone());
    let waker = Waker::from(Arc::new(Bomb::default()));
    assert!(poll_with(&mut waiting, &waker).is_pending());
    drop(waker);
    intake.shutdown();
    let down = Poll::Ready(Err(IntakeError::ShuttingDown));
    assert_eq!(poll(&mut inside), down);
    assert_eq!(poll(&mut waiting), down);
}

/// A waker that asks the intake for its figures when it goes.
struct Curious(Intake<MlDsa44>);

impl Wake for Curious {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Curious {
    fn drop(&mut self) {
        assert!(self.0.stats().items > 0);
    }
}

#[test]
fn wakers_go_without_the_lock() {
    for enters in [false, true] {
        assert!(returns(move || {
            let (held, threads) = held();
            let intake = Intake::new(verifier(threads), one_place());
            intake.submit(VOTES[0].clone()).unwrap().detach();
            let front = AsyncIntake::new(intake.clone());
            let mut waiting = front.submit(Priority::OwnRound, VOTES[1].clone());
            let waker = || Waker::from(Arc::new(Curious(intake.clone())));
            assert!(poll_with(&mut waiting, &waker()).is_pending());
            // Another one instead.
            assert!(poll_with(&mut waiting, &waker()).is_pending());
            if enters {
                held.release();
                assert!(poll_with(&mut waiting, &waker()).is_pending());
                held.release();
                assert_eq!(poll(&mut waiting), Poll::Ready(Ok(Outcome::Valid)));
            }
        }));
    }
}

/// An executor whose work runs when it is told to, or when it is next asked whether a
/// thread is one of its own: between the look for a place and the line.
#[derive(Default)]
struct Racing {
    jobs: Mutex<Vec<Job>>,
    now: AtomicBool,
}

impl Racing {
    fn release(&self) {
        let jobs = core::mem::take(&mut *self.jobs.lock().unwrap());
        jobs.into_iter().for_each(|job| job());
    }
}

impl Executor for Racing {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, _: usize, _: &(dyn Fn(usize) + Sync)) {}

    fn spawn(&self, work: Job) {
        self.jobs.lock().unwrap().push(work);
    }

    fn is_worker(&self) -> bool {
        if self.now.swap(false, Ordering::Relaxed) {
            self.release();
        }
        false
    }
}

#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn no_wake_is_lost_when_the_waker_changes() {
    let executor = Arc::new(Racing::default());
    let threads = Threads::Executor(Arc::clone(&executor) as Arc<dyn Executor>);
    let intake = Intake::new(verifier(threads), one_place());
    intake.submit(VOTES[0].clone()).unwrap().detach();
    let front = AsyncIntake::new(intake.clone());
    let mut waiting = front.submit(Priority::OwnRound, VOTES[1].clone());
    let bells = [(); 2].map(|()| Arc::new(Bell::default()));
    let wakers = bells.clone().map(Waker::from);
    assert!(poll_with(&mut waiting, &wakers[0]).is_pending());
    // Moved to another task; meanwhile a worker takes what waits.
    executor.now.store(true, Ordering::Relaxed);
    assert!(poll_with(&mut waiting, &wakers[1]).is_pending());
    // It has found the place, or will be woken.
    let rung = bells[1].0.load(Ordering::Relaxed);
    assert_eq!(intake.stats().waiting + rung, 1);
    executor.release();
    assert_eq!(poll(&mut waiting), Poll::Ready(Ok(Outcome::Valid)));
}

#[test]
fn a_future_that_sleeps_keeps_one_place() {
    let (held, threads) = held();
    let limits = IntakeLimits {
        items: 2,
        ..one_place()
    };
    let intake = Intake::new(verifier(threads), limits);
    let front = AsyncIntake::new(intake.clone());
    let submit = |n: usize| intake.submit(VOTES[n].clone()).map(Pending::detach);
    assert_eq!((submit(0), submit(1)), (Ok(()), Ok(())));
    // Never polled again.
    let mut asleep = front.submit(Priority::OwnRound, VOTES[2].clone());
    let mut awake = front.submit(Priority::OwnRound, VOTES[4].clone());
    let bell = Arc::new(Bell::default());
    assert!(poll(&mut asleep).is_pending());
    assert!(poll_with(&mut awake, &Waker::from(Arc::clone(&bell))).is_pending());
    held.release();
    // Behind it in the line, and with a place.
    assert_eq!(bell.0.load(Ordering::Relaxed), 1);
    assert!(poll(&mut awake).is_pending());
    assert_eq!(submit(5), Err(IntakeError::QueueFull));
    held.release();
    assert_eq!(poll(&mut awake), Poll::Ready(Ok(Outcome::Valid)));
    // The other place is for who does not wait, again and again.
    for n in 5..8 {
        assert_eq!(submit(n), Ok(()));
        assert_eq!(submit(n), Err(IntakeError::QueueFull));
        held.release();
    }
    // And it has had its own all the time.
    assert!(poll(&mut asleep).is_pending());
    held.release();
    assert_eq!(poll(&mut asleep), Poll::Ready(Ok(Outcome::Valid)));
}

/// Is passed once, when it is told to let go.
struct Gate(Mutex<Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>>);

impl Gate {
    /// Beside it: who hears that somebody is there, and who lets go.
    fn new() -> (Self, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let ((there, at), (go, gate)) = (mpsc::channel(), mpsc::channel());
        (Self(Mutex::new(Some((there, gate)))), at, go)
    }

    fn pass(&self) {
        let gate = self.0.lock().unwrap().take();
        if let Some((there, go)) = gate {
            there.send(()).unwrap();
            go.recv().unwrap();
        }
    }
}

/// Holds the first batch up.
impl IntakeMetrics for Gate {
    fn verified(&self, _: &Verified) {
        self.pass();
    }
}

#[test]
fn a_pool_whose_thread_drains_verifies_what_comes() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = Arc::new(pool.unwrap());
    let (gate, at, go) = Gate::new();
    let builder = Intake::builder(verifier(Threads::Pool(Arc::clone(&pool))));
    let intake = builder.metrics(gate).build();
    let ((begin, begun), (end, drained)) = (mpsc::channel::<()>(), mpsc::channel());
    let inside = intake.clone();
    pool.spawn(move || {
        begun.recv().unwrap();
        inside.drain();
        end.send(()).unwrap();
    });
    let first = intake.submit(VOTES[0].clone()).unwrap();
    let waiting = thread::spawn(move || first.wait());
    at.recv_timeout(hang_limit()).unwrap();
    // Verified on this thread; the one of the pool waits for it to end.
    begin.send(()).unwrap();
    let second = intake.submit(VOTES[1].clone()).unwrap();
    // By nobody but the thread that drains.
    let (send, answer) = mpsc::channel();
    let mut second = second;
    let woken = thread::spawn(move || {
        while poll(&mut second).is_pending() {
            thread::yield_now();
        }
        send.send(()).unwrap();
    });
    answer.recv_timeout(hang_limit()).unwrap();
    go.send(()).unwrap();
    drained.recv_timeout(hang_limit()).unwrap();
    assert_eq!(waiting.join().unwrap(), Ok(Outcome::Valid));
    woken.join().unwrap();
}

#[test]
fn drains_that_were_dropped_are_forgotten() {
    let (held, threads) = held();
    let intake = Intake::new(verifier(threads), one_place());
    let front = AsyncIntake::new(intake.clone());
    intake.submit(VOTES[0].clone()).unwrap().detach();
    let bell = Arc::new(Bell::default());
    for _ in 0..100 {
        assert!(poll_with(&mut front.drain(), &Waker::from(Arc::clone(&bell))).is_pending());
    }
    assert_eq!(Arc::strong_count(&bell), 1);
    // Idle in between is enough.
    let mut drain = front.drain();
    assert!(poll_with(&mut drain, &Waker::from(Arc::clone(&bell))).is_pending());
    held.release();
    assert_eq!(bell.0.load(Ordering::Relaxed), 1);
    intake.submit(VOTES[1].clone()).unwrap().detach();
    assert!(poll(&mut drain).is_ready());
    held.release();
}

#[test]
fn a_pool_may_say_it_has_any_number_of_threads() {
    let items: Vec<Item<'_>> = VOTES.iter().map(OwnedItem::as_item).collect();
    for workers in [0, 1 << 62, 1 << 63, usize::MAX] {
        let threads = Threads::from_fn(workers, |_, task| task(usize::MAX));
        let report = verifier(threads).verify(&items);
        assert_eq!(report.outcomes().len() - report.skipped(), 60);
    }
}

/// Bytes that are in the intake, and how many items have left.
#[derive(Clone, Default)]
struct Bytes(Arc<AtomicUsize>, Arc<AtomicU64>);

impl Admission for Bytes {
    fn admits(&self, _: u64, bytes: usize) -> bool {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    fn released(&self, _: u64, bytes: usize, _: Result<Outcome, IntakeError>) {
        let before = self.0.fetch_sub(bytes, Ordering::Relaxed);
        assert!(before >= bytes);
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_budget_comes_back_whatever_becomes_of_the_item() {
    let (held, threads) = held();
    let bytes = Bytes::default();
    let builder = Intake::builder(verifier(threads)).limits(one_place());
    let intake = builder.admission(bytes.clone()).build();
    let front = AsyncIntake::new(intake.clone());
    let submit = |n: usize| intake.submit_from(1, Priority::Sync, VOTES[n].clone());
    let back = |count| {
        assert_eq!(bytes.1.load(Ordering::Relaxed), count);
    };
    // Verified; refused for want of a place; called off; waiting in vain.
    let valid = submit(0).unwrap();
    assert_eq!(submit(1).map(drop), Err(IntakeError::QueueFull));
    back(1);
    held.release();
    assert_eq!(valid.wait(), Ok(Outcome::Valid));
    back(2);
    drop(submit(2).unwrap());
    let origin = batch_verify::Origin::peer(1, Priority::Sync);
    let mut waiting = front.submit(origin, VOTES[4].clone());
    assert!(poll(&mut waiting).is_pending());
    drop(waiting);
    back(3);
    held.release();
    back(4);
    // Dropped by the executor; there when the intake shuts down, inside and outside.
    submit(5).unwrap().detach();
    held.drop_all();
    back(5);
    submit(6).unwrap().detach();
    let mut waiting = front.submit(origin, VOTES[7].clone());
    assert!(poll(&mut waiting).is_pending());
    intake.shutdown();
    assert!(poll(&mut waiting).is_ready());
    back(7);
    assert_eq!(bytes.0.load(Ordering::Relaxed), 0);
}

/// Holds the first answer of a kind up until it is told to go on.
struct Slow(IntakeError, Gate);

impl IntakeMetrics for Slow {
    fn answered(&self, item: &Answered) {
        if item.answer == Err(self.0) {
            self.1.pass();
        }
    }
}

/// Whoever drains, or shuts down too, waits for the answers to what is being refused.
#[test]
fn refused_items_are_answered_before_a_drain_ends() {
    for error in [IntakeError::ShuttingDown, IntakeError::Abandoned] {
        let (held, threads) = held();
        let (gate, at, go) = Gate::new();
        let builder = Intake::builder(verifier(threads)).metrics(Slow(error, gate));
        let intake = builder.build();
        let mut items = [0, 1].map(|n| intake.submit(VOTES[n].clone()).unwrap());
        let inside = intake.clone();
        let refusing = thread::spawn(move || match error {
            IntakeError::ShuttingDown => inside.shutdown(),
            _ => held.drop_all(),
        });
        at.recv_timeout(hang_limit()).unwrap();
        let front = AsyncIntake::new(intake.clone());
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        let mut ends = [front.drain(), front.shutdown()];
        for end in &mut ends {
            assert!(poll_with(end, &waker).is_pending());
        }
        let may_end = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&may_end);
        let draining = thread::spawn(move || {
            intake.drain();
            assert!(
                ended.load(Ordering::SeqCst),
                "drain returned before the answers"
            );
        });
        assert!(items.iter_mut().all(|item| poll(item).is_pending()));
        may_end.store(true, Ordering::SeqCst);
        go.send(()).unwrap();
        refusing.join().unwrap();
        assert_eq!(bell.0.load(Ordering::Relaxed), 2);
        for end in &mut ends {
            assert!(poll(end).is_ready());
        }
        for item in &mut items {
            assert_eq!(poll(item), Poll::Ready(Err(error)));
        }
        draining.join().unwrap();
    }
}

/// An executor all of whose threads are its own, and run nothing.
struct Own;

impl Executor for Own {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, _: usize, _: &(dyn Fn(usize) + Sync)) {}

    fn spawn(&self, work: Job) {
        core::mem::forget(work);
    }

    fn is_worker(&self) -> bool {
        true
    }
}

/// Other tasks of a thread that drains have their turn after each batch.
#[test]
fn a_drain_that_is_polled_helps_with_one_batch() {
    let limits = IntakeLimits {
        batch: 8,
        ..IntakeLimits::default()
    };
    let intake = Intake::new(verifier(Threads::Executor(Arc::new(Own))), limits);
    for vote in &VOTES[..20] {
        intake.submit(vote.clone()).unwrap().detach();
    }
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut drain = AsyncIntake::new(intake.clone()).drain();
    for (rung, waiting) in [(1, 12), (2, 4), (3, 0)] {
        assert!(poll_with(&mut drain, &waker).is_pending());
        assert_eq!(bell.0.load(Ordering::Relaxed), rung);
        assert_eq!(intake.stats().waiting, waiting);
    }
    assert!(poll_with(&mut drain, &waker).is_ready());
}

/// Whatever it is asked, it panics; jobs wait for the test.
#[derive(Default)]
struct Panicking(Mutex<Vec<Job>>);

impl Executor for Panicking {
    fn workers(&self) -> usize {
        panic!("the pool's fault")
    }

    fn run(&self, _: usize, _: &(dyn Fn(usize) + Sync)) {}

    fn spawn(&self, work: Job) {
        self.0.lock().unwrap().push(work);
    }

    fn is_worker(&self) -> bool {
        panic!("the pool's fault")
    }
}

#[test]
fn an_executor_that_panics_costs_no_answer() {
    let executor = Arc::new(Panicking::default());
    let threads = Threads::Executor(Arc::clone(&executor) as Arc<dyn Executor>);
    let verifier = verifier(threads);
    assert!(format!("{verifier:?}").contains("Executor"));
    let items: Vec<Item<'_>> = VOTES.iter().map(OwnedItem::as_item).collect();
    let outcomes = verifier.verify(&items).into_outcomes();
    assert!((0..60).map(expected).eq(outcomes));
    let intake = AsyncIntake::new(Intake::new(verifier, IntakeLimits::default()));
    let mut answer = intake.submit(Priority::Sync, VOTES[0].clone());
    assert!(poll(&mut answer).is_pending());
    let mut drained = intake.drain();
    assert!(poll(&mut drained).is_pending());
    let jobs = core::mem::take(&mut *executor.0.lock().unwrap());
    jobs.into_iter().for_each(|job| job());
    assert_eq!(poll(&mut answer), Poll::Ready(Ok(expected(0))));
    assert_eq!(poll(&mut drained), Poll::Ready(()));
}

/// Panics when it goes.
struct Grudge;

impl IntakeMetrics for Grudge {}

impl Drop for Grudge {
    fn drop(&mut self) {
        panic!("the caller's fault");
    }
}

#[test]
fn hooks_that_panic_when_they_go_take_no_worker_down() {
    for batches in 1..3 {
        for dropped in [false, true] {
            let jobs: Arc<Mutex<Vec<Job>>> = Arc::default();
            let kept = Arc::clone(&jobs);
            let keep = move |job| kept.lock().unwrap().push(job);
            let pool = CallerPool::new(1, |_, _| {}).spawning(keep, || false);
            let limits = IntakeLimits {
                batch: 8,
                ..IntakeLimits::default()
            };
            let builder = Intake::builder(verifier(pool.into_threads()));
            let intake = builder.limits(limits).metrics(Grudge).build();
            for vote in &VOTES[..8 * batches] {
                intake.submit(vote.clone()).unwrap().detach();
            }
            drop(intake);
            let next = || jobs.lock().unwrap().pop();
            while let Some(job) = next() {
                let run = AssertUnwindSafe(|| if dropped { drop(job) } else { job() });
                assert!(catch_unwind(run).is_ok(), "{batches} {dropped}");
            }
        }
    }
}

/// Whoever asks for a place again has not asked for a verdict again.
#[test]
fn the_memory_counts_a_question_once() {
    let (held, threads) = held();
    let limits = IntakeLimits {
        items: 1,
        ..IntakeLimits::default()
    };
    let intake = AsyncIntake::new(Intake::new(verifier(threads), limits));
    intake.intake().submit(VOTES[0].clone()).unwrap().detach();
    let mut waiting = intake.submit(Priority::OwnRound, VOTES[1].clone());
    for _ in 0..10 {
        assert!(poll(&mut waiting).is_pending());
        assert!(intake.intake().submit(VOTES[2].clone()).is_err());
    }
    assert_eq!(intake.intake().stats().memory.misses, 1);
    held.release();
    assert!(poll(&mut waiting).is_pending());
    held.release();
    assert!(poll(&mut waiting).is_ready());
    let stats = intake.intake().stats();
    assert_eq!((stats.memory.hits, stats.memory.misses), (0, 2));
    assert_eq!(stats.memory.misses, stats.verified);
}
