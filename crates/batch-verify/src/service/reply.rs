//! Answers that arrive later: awaited, or waited for by a thread.

use core::fmt;
use core::future::{Future, IntoFuture};
use core::mem;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;
use std::thread::{self, Thread};

use super::ServiceError;
use crate::{QuorumError, QuorumReport};

/// Receiver of one value, blocking or as a future.
enum Reply<T> {
    Fresh(oneshot::Receiver<T>),
    Polled(oneshot::AsyncReceiver<T>),
    Taken,
}

impl<T> Reply<T> {
    /// `None` if the sender was dropped.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if let Self::Fresh(_) = self
            && let Self::Fresh(receiver) = mem::replace(self, Self::Taken)
        {
            *self = Self::Polled(receiver.into_future());
        }
        let Self::Polled(receiver) = self else {
            return Poll::Ready(None);
        };
        let answer = Pin::new(receiver).poll(context).map(Result::ok);
        if answer.is_ready() {
            *self = Self::Taken;
        }
        answer
    }

    fn wait(&mut self) -> Option<T> {
        match mem::replace(self, Self::Taken) {
            Self::Fresh(receiver) => receiver.recv().ok(),
            Self::Polled(receiver) => block_on(receiver).ok(),
            Self::Taken => None,
        }
    }
}

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

/// Answer to a submitted vote: `Ok` for a valid one only. A future, for any runtime; dropping
/// it cancels the vote in O(1), unless it is being verified.
#[must_use = "dropping it cancels the vote; `detach` keeps it"]
pub struct PendingVerdict {
    reply: Reply<Result<(), ServiceError>>,
    cancelled: Option<Arc<AtomicBool>>,
}

impl PendingVerdict {
    pub(super) fn new(
        receiver: oneshot::Receiver<Result<(), ServiceError>>,
        cancelled: Option<Arc<AtomicBool>>,
    ) -> Self {
        Self {
            reply: Reply::Fresh(receiver),
            cancelled,
        }
    }

    /// Waits for the answer on this thread. Not to be called from a rate limiter, which a
    /// worker may be running.
    ///
    /// # Errors
    /// The reason why the vote is not known to be valid.
    pub fn wait(mut self) -> Result<(), ServiceError> {
        self.reply.wait().unwrap_or(Err(ServiceError::Abandoned))
    }

    /// Lets the vote be verified, and cached if it is valid, without an answer.
    pub fn detach(mut self) {
        self.cancelled = None;
    }
}

impl Future for PendingVerdict {
    type Output = Result<(), ServiceError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.reply.poll(context);
        answer.map(|answer| answer.unwrap_or(Err(ServiceError::Abandoned)))
    }
}

impl Drop for PendingVerdict {
    fn drop(&mut self) {
        if let Some(cancelled) = &self.cancelled {
            cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for PendingVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingVerdict")
    }
}

/// Answer to a submitted quorum. A future, for any runtime.
#[must_use = "a quorum that is not checked may not exist"]
pub struct PendingQuorum(Reply<Result<QuorumReport, QuorumError>>);

impl PendingQuorum {
    pub(super) fn new(receiver: oneshot::Receiver<Result<QuorumReport, QuorumError>>) -> Self {
        Self(Reply::Fresh(receiver))
    }

    /// Waits for the answer on this thread.
    ///
    /// # Errors
    /// [`ServiceError::ShuttingDown`] if there is none; otherwise the answer, which may be
    /// that there is no quorum.
    pub fn wait(mut self) -> Result<QuorumReport, PendingQuorumError> {
        answer(self.0.wait())
    }
}

/// Reason why a submitted quorum is not known to exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PendingQuorumError {
    /// The votes are no quorum.
    NoQuorum(QuorumError),
    /// The service was shut down, or its workers are gone.
    Abandoned,
}

impl fmt::Display for PendingQuorumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoQuorum(error) => error.fmt(f),
            Self::Abandoned => f.write_str("the quorum was abandoned"),
        }
    }
}

impl core::error::Error for PendingQuorumError {}

fn answer(
    answer: Option<Result<QuorumReport, QuorumError>>,
) -> Result<QuorumReport, PendingQuorumError> {
    match answer {
        Some(answer) => answer.map_err(PendingQuorumError::NoQuorum),
        None => Err(PendingQuorumError::Abandoned),
    }
}

impl Future for PendingQuorum {
    type Output = Result<QuorumReport, PendingQuorumError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context).map(answer)
    }
}

impl fmt::Debug for PendingQuorum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingQuorum")
    }
}

/// End of everything that was accepted before [`VerificationService::drain`]. A future, for
/// any runtime.
///
/// [`VerificationService::drain`]: crate::VerificationService::drain
#[must_use = "it ends when it is awaited or waited for"]
pub struct Drain(Reply<()>);

impl Drain {
    pub(super) fn new(receiver: oneshot::Receiver<()>) -> Self {
        Self(Reply::Fresh(receiver))
    }

    /// Waits on this thread. Not to be called from a rate limiter.
    pub fn wait(mut self) {
        let _ = self.0.wait();
    }
}

impl Future for Drain {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll(context).map(|_| ())
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Drain")
    }
}
