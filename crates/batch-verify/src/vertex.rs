//! Whole vertices of a DAG: the caller's own type, one boolean each.

use core::fmt;
use core::future::Future;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mldsa_core::ParameterSet;

use crate::{BatchError, BatchVerifier, Executor, Item, Message, Signer};

/// Something signed by its author.
pub trait SignedVertex {
    /// Who is said to have signed.
    fn author(&self) -> Signer<'_>;
    /// What was signed.
    fn message(&self) -> Message<'_>;
    /// The encoded signature.
    fn signature(&self) -> &[u8];
}

fn show<V: SignedVertex>(_: usize, vertex: &V) -> Item<'_> {
    Item::new(vertex.author(), vertex.message(), vertex.signature())
}

/// One boolean per vertex, in order, under the verifier's context. Verifies
/// everything; the verifier's mode plays no part.
///
/// # Errors
/// [`BatchError::Panicked`] if a method of a vertex panicked.
pub fn verify_vertex_signatures_batch<V: SignedVertex + Sync, P: ParameterSet>(
    verifier: &BatchVerifier<P>,
    vertices: &[V],
) -> Result<Vec<bool>, BatchError> {
    verifier.verify_each_by(vertices, show, None)
}

/// [`verify_vertex_signatures_batch`] on the verifier's pool (rayon's global one
/// for [`Threads::Inline`](crate::Threads::Inline)), for callers that must not
/// block: any executor can await the answer. Dropping the future calls off what
/// is not in a lane yet. How many batches wait at once is the caller's to bound.
///
/// # Errors
/// The future resolves to [`BatchError::Panicked`] if a method of a vertex
/// panicked, to [`BatchError::Abandoned`] if nobody is left to answer.
pub fn verify_vertex_signatures_batch_async<V, P>(
    verifier: &Arc<BatchVerifier<P>>,
    vertices: impl Into<Arc<[V]>>,
) -> VertexVerdicts
where
    V: SignedVertex + Send + Sync + 'static,
    P: ParameterSet,
{
    let shared = Arc::new(Shared {
        state: Mutex::new(State::Waiting(None)),
        cancel: AtomicBool::new(false),
    });
    let reply = Reply(Arc::clone(&shared));
    let (worker, vertices) = (Arc::clone(verifier), vertices.into());
    let work: Work = Box::new(move || {
        // Wakers and vertices are the caller's code too; a panic must not take
        // the pool down. `reply` answers even then.
        let work = AssertUnwindSafe(move || {
            let verdicts = worker.verify_each_by(&vertices, show, Some(&reply.0.cancel));
            drop(vertices);
            reply.send(verdicts);
        });
        catch_unwind(work).unwrap_or_else(mem::forget);
    });
    let work = Arc::new(Mutex::new(Some(work)));
    let executor = verifier.executor();
    let future = VertexVerdicts {
        shared,
        work: Arc::downgrade(&work),
        executor: Arc::clone(executor),
    };
    executor.spawn(Box::new(move || run(&work)));
    future
}

type Work = Box<dyn FnOnce() + Send>;

/// Does the work, unless somebody else has begun it.
fn run(work: &Mutex<Option<Work>>) {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(work) = work {
        work();
    }
}

/// The answer of [`verify_vertex_signatures_batch_async`], some time.
///
/// A worker of the pool that is to answer may wait for it: it does the work itself
/// if nobody has begun it, since the other workers may be waiting too.
#[must_use = "dropping it calls the batch off"]
pub struct VertexVerdicts {
    shared: Arc<Shared>,
    /// Owned by the pool: if that drops it, the answer is an error.
    work: Weak<Mutex<Option<Work>>>,
    executor: Arc<dyn Executor>,
}

impl fmt::Debug for VertexVerdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VertexVerdicts").field(&self.shared).finish()
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    cancel: AtomicBool,
}

type Answer = Result<Vec<bool>, BatchError>;

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Done(Answer),
    Taken,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer, once.
    fn take(&self) -> Poll<Answer> {
        let mut state = self.lock();
        if let State::Waiting(_) = *state {
            return Poll::Pending;
        }
        match mem::replace(&mut *state, State::Taken) {
            State::Done(answer) => Poll::Ready(answer),
            _ => Poll::Ready(Err(BatchError::Abandoned)),
        }
    }

    /// The answer, or somebody to wake when it is there. Wakers are the caller's
    /// code and may panic: they are made and dropped without the lock.
    fn take_or_wait(&self, waker: impl FnOnce() -> Waker) -> Poll<Answer> {
        let waker = waker();
        let mut state = self.lock();
        if let State::Waiting(waiting) = &mut *state {
            let before = waiting.replace(waker);
            drop(state);
            drop(before);
            return Poll::Pending;
        }
        drop(state);
        self.take()
    }
}

impl Future for VertexVerdicts {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        if self.executor.is_worker()
            && let Some(work) = self.work.upgrade()
        {
            run(&work);
        }
        match self.shared.take() {
            Poll::Pending => self.shared.take_or_wait(|| context.waker().clone()),
            answer => answer,
        }
    }
}

impl Drop for VertexVerdicts {
    fn drop(&mut self) {
        self.shared.cancel.store(true, Ordering::Relaxed);
    }
}

/// The other end. Dropped unsent, it says so.
struct Reply(Arc<Shared>);

impl Reply {
    fn send(&self, answer: Answer) {
        let mut state = self.0.lock();
        if let State::Waiting(waker) = &mut *state {
            let waker = waker.take();
            *state = State::Done(answer);
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.send(Err(BatchError::Abandoned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A waker that cannot be cloned costs that poll, not the answer.
    #[test]
    fn a_waker_that_panics_loses_no_answer() {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::Waiting(None)),
            cancel: AtomicBool::new(false),
        });
        let reply = Reply(Arc::clone(&shared));
        assert!(shared.take_or_wait(|| Waker::noop().clone()).is_pending());
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let _ = shared.take_or_wait(|| panic!("the caller's fault"));
        }));
        assert!(polled.is_err());
        reply.send(Ok(vec![true]));
        let answer = shared.take_or_wait(|| Waker::noop().clone());
        assert_eq!(answer, Poll::Ready(Ok(vec![true])));
        let again = shared.take();
        assert_eq!(again, Poll::Ready(Err(BatchError::Abandoned)));
        drop(reply);
    }
}
