//! Answers that arrive later: awaited, or waited for by a thread.

use core::fmt;
use core::future::{Future, IntoFuture};
use core::pin::{Pin, pin};
use core::sync::atomic::Ordering;
use core::task::{Context, Poll, Waker, ready};
use std::sync::Arc;
use std::task::Wake;
use std::thread::{self, Thread};

use super::sync::AtomicBool;

/// Waits for a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Answer that arrives later: a future, for any runtime, or waited for by a thread.
///
/// Dropping the answer to a vote or quorum cancels it in O(1), at the latest after the batch or
/// slice in which it is being verified.
#[must_use = "dropping it cancels the verification; `detach` keeps it"]
pub struct Pending<T> {
    /// `None` once the answer was taken.
    receiver: Option<oneshot::AsyncReceiver<T>>,
    cancelled: Option<Arc<AtomicBool>>,
    /// The answer if there is none.
    abandoned: fn() -> T,
}

impl<T> Pending<T> {
    pub(super) fn new(receiver: oneshot::Receiver<T>, abandoned: fn() -> T) -> Self {
        Self {
            receiver: Some(receiver.into_future()),
            cancelled: None,
            abandoned,
        }
    }

    /// Adds a flag that is set when the reply is dropped.
    pub(super) fn with_flag(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancelled = Some(flag);
        self
    }

    /// Returns whether a worker has to answer.
    pub(super) fn is_queued(&self) -> bool {
        self.cancelled.is_some()
    }

    /// Waits for the answer on this thread; the answer may be an error. Not to be called from
    /// a rate limiter, which a worker may be running.
    pub fn wait(self) -> T {
        block_on(self)
    }

    /// Lets the votes be verified, and cached if they are valid, without an answer.
    pub fn detach(mut self) {
        self.cancelled = None;
    }
}

impl<T> Unpin for Pending<T> {}

impl<T> Future for Pending<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let answer = match &mut self.receiver {
            Some(receiver) => ready!(Pin::new(receiver).poll(context)).ok(),
            None => None,
        };
        self.receiver = None;
        Poll::Ready(answer.unwrap_or_else(self.abandoned))
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        if let Some(cancelled) = &self.cancelled {
            cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending")
    }
}
