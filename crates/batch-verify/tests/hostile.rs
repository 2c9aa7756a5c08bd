//! Wakers, hooks, peers and pools that do their worst: everybody else goes on.

#![allow(clippy::unwrap_used, reason = "a test")]

mod votes;

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::task::{Context as Task, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Wake;
use std::thread;

use batch_verify::{
    AsyncIntake, Executor, Intake, IntakeError, IntakeLimits, Outcome, Pending, Priority, Submit,
    Threads,
};
use mldsa_core::MlDsa44;
use votes::{VOTES, held, verifier};

/// Nothing here takes as long unless it hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Whether `act` returns, on a thread of its own, without a panic.
fn returns(act: impl FnOnce() + Send + 'static) -> bool {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        act();
        send.send(()).unwrap();
    });
    receive.recv_timeout(HANGS).is_ok()
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
    jobs: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
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

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
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
