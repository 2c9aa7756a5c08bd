//! Whole vertices of a DAG: the caller's own type, one boolean each.

use core::future::Future;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mldsa_core::ParameterSet;

use crate::{BatchError, BatchVerifier, Item, Message, Signer};

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
    verifier.spawn(move || {
        // Wakers and vertices are the caller's code too; a panic must not take
        // the pool down. `reply` answers even then.
        let work = AssertUnwindSafe(move || {
            let verdicts = worker.verify_each_by(&vertices, show, Some(&reply.0.cancel));
            drop(vertices);
            reply.send(verdicts);
        });
        catch_unwind(work).unwrap_or_else(mem::forget);
    });
    VertexVerdicts(shared)
}

/// The answer of [`verify_vertex_signatures_batch_async`], some time.
#[derive(Debug)]
#[must_use = "dropping it calls the batch off"]
pub struct VertexVerdicts(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    cancel: AtomicBool,
}

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Done(Result<Vec<bool>, BatchError>),
    Taken,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for VertexVerdicts {
    type Output = Result<Vec<bool>, BatchError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, State::Taken) {
            State::Waiting(_) => {
                *state = State::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
            State::Done(answer) => Poll::Ready(answer),
            State::Taken => Poll::Ready(Err(BatchError::Abandoned)),
        }
    }
}

impl Drop for VertexVerdicts {
    fn drop(&mut self) {
        self.0.cancel.store(true, Ordering::Relaxed);
    }
}

/// The other end. Dropped unsent, it says so.
struct Reply(Arc<Shared>);

impl Reply {
    fn send(&self, answer: Result<Vec<bool>, BatchError>) {
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
