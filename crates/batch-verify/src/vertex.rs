//! Whole vertices of a DAG: the caller's own type, one boolean each.

use core::fmt;
use core::future::Future;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use mldsa_core::ParameterSet;

use crate::oneshot::{Lost, Receiver, oneshot};
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
    let (reply, receiver) = oneshot();
    let (worker, vertices) = (Arc::clone(verifier), vertices.into());
    let work: Work = Box::new(move || {
        // Wakers and vertices are the caller's code too; a panic must not take
        // the pool down. `reply` answers even then.
        let work = AssertUnwindSafe(move || {
            let verdicts = worker.verify_each_by(&vertices, show, Some(reply.cancelled()));
            drop(vertices);
            reply.send(verdicts);
        });
        catch_unwind(work).unwrap_or_else(mem::forget);
    });
    let work = Arc::new(Mutex::new(Some(work)));
    let executor = verifier.executor();
    let future = VertexVerdicts {
        answer: receiver,
        work: Arc::downgrade(&work),
        executor: Arc::clone(executor),
    };
    executor.spawn(Box::new(move || run(&work)));
    future
}

impl Lost for Result<Vec<bool>, BatchError> {
    const LOST: Self = Err(BatchError::Abandoned);
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
    answer: Receiver<Result<Vec<bool>, BatchError>>,
    /// Owned by the pool: if that drops it, the answer is an error.
    work: Weak<Mutex<Option<Work>>>,
    executor: Arc<dyn Executor>,
}

impl fmt::Debug for VertexVerdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VertexVerdicts").field(&self.answer).finish()
    }
}

impl Future for VertexVerdicts {
    type Output = Result<Vec<bool>, BatchError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.executor.is_worker()
            && let Some(work) = self.work.upgrade()
        {
            run(&work);
        }
        self.answer.take_or_wake(|| context.waker().clone())
    }
}

impl Drop for VertexVerdicts {
    fn drop(&mut self) {
        self.answer.cancel();
    }
}
