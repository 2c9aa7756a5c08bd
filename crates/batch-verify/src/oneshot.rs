//! One answer from one thread to another, awaited or waited for.

use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Poll, Waker};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::caught::wake;

/// Answers that know how to say that nobody is left to give one.
pub(crate) trait Lost {
    /// That answer.
    const LOST: Self;
}

/// Both ends.
pub(crate) fn oneshot<T: Lost>() -> (Reply<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State::Waiting {
            waker: None,
            asleep: false,
        }),
        there: Condvar::new(),
        cancelled: AtomicBool::new(false),
    });
    (Reply(Arc::clone(&shared)), Receiver(shared))
}

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    there: Condvar,
    cancelled: AtomicBool,
}

#[derive(Debug)]
enum State<T> {
    Waiting {
        waker: Option<Waker>,
        /// Whether a thread sleeps; to wake none costs a call of the system too.
        asleep: bool,
    },
    Done(T),
    Taken,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that answers. Dropped unsent, it says so.
#[derive(Debug)]
pub(crate) struct Reply<T: Lost>(Arc<Shared<T>>);

impl<T: Lost> Reply<T> {
    /// Answers, unless that has been done. A waker that panics harms nobody else.
    pub(crate) fn send(&self, answer: T) {
        let mut state = self.0.lock();
        if let State::Waiting { waker, asleep } = &mut *state {
            let (waker, asleep) = (waker.take(), *asleep);
            *state = State::Done(answer);
            drop(state);
            if asleep {
                self.0.there.notify_all();
            }
            waker.into_iter().for_each(wake);
        }
    }

    /// Becomes true when nobody wants the answer any more.
    pub(crate) fn cancelled(&self) -> &AtomicBool {
        &self.0.cancelled
    }
}

impl<T: Lost> Drop for Reply<T> {
    fn drop(&mut self) {
        self.send(T::LOST);
    }
}

/// The end that waits.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

impl<T: Lost> Receiver<T> {
    /// The answer, once; afterwards [`Lost::LOST`].
    pub(crate) fn take(&self) -> Poll<T> {
        let mut state = self.0.lock();
        if let State::Waiting { .. } = *state {
            return Poll::Pending;
        }
        match mem::replace(&mut *state, State::Taken) {
            State::Done(answer) => Poll::Ready(answer),
            _ => Poll::Ready(T::LOST),
        }
    }

    /// The answer, or somebody to wake when it is there. Wakers are the caller's
    /// code and may panic: they are made and dropped without the lock.
    pub(crate) fn take_or_wake(&self, waker: impl FnOnce() -> Waker) -> Poll<T> {
        if let Poll::Ready(answer) = self.take() {
            return Poll::Ready(answer);
        }
        let waker = waker();
        let mut state = self.0.lock();
        if let State::Waiting { waker: waiting, .. } = &mut *state {
            let before = waiting.replace(waker);
            drop(state);
            drop(before);
            return Poll::Pending;
        }
        drop(state);
        self.take()
    }

    /// Whether there is no answer yet.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(*self.0.lock(), State::Waiting { .. })
    }

    /// Waits for the answer.
    pub(crate) fn wait(&self) -> T {
        let mut state = self.0.lock();
        while let State::Waiting { asleep, .. } = &mut *state {
            *asleep = true;
            let there = self.0.there.wait(state);
            state = there.unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        match self.take() {
            Poll::Ready(answer) => answer,
            Poll::Pending => T::LOST,
        }
    }

    /// Calls off what has not been begun.
    pub(crate) fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caught::caught;

    impl Lost for Option<u8> {
        const LOST: Self = None;
    }

    /// A waker that cannot be cloned costs that poll, not the answer.
    #[test]
    fn a_waker_that_panics_loses_no_answer() {
        let (reply, receiver) = oneshot();
        assert!(receiver.take_or_wake(|| Waker::noop().clone()).is_pending());
        let polled = caught(|| receiver.take_or_wake(|| panic!("the caller's fault")));
        assert!(polled.is_none());
        reply.send(Some(1));
        reply.send(Some(2));
        let answer = receiver.take_or_wake(|| Waker::noop().clone());
        assert_eq!(answer, Poll::Ready(Some(1)));
        assert_eq!(receiver.take(), Poll::Ready(None));
        assert_eq!(receiver.wait(), None);
    }

    #[test]
    fn a_dropped_end_says_so() {
        let (reply, receiver) = oneshot::<Option<u8>>();
        assert!(!reply.cancelled().load(Ordering::Relaxed));
        receiver.cancel();
        assert!(reply.cancelled().load(Ordering::Relaxed));
        let waiting = std::thread::spawn(move || receiver.wait());
        drop(reply);
        assert_eq!(waiting.join().unwrap(), None);
    }
}
