//! Whole vertices of a DAG: the caller's own type, one boolean each.

use core::fmt;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mldsa_core::ParameterSet;

use crate::caught::caught;
use crate::executor::{is_worker, spawn, workers};
use crate::oneshot::{Lost, Receiver, Reply, oneshot};
use crate::schedule::Request;
use crate::{BatchError, BatchVerifier, Duplicates, Executor, Item, Message, Signer};

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
    verifier.verify_each_by(vertices, show)
}

/// [`verify_vertex_signatures_batch`] on the verifier's pool (rayon's global one
/// for [`Threads::Inline`](crate::Threads::Inline)), for callers that must not
/// block: any executor can await the answer. Each worker verifies a part, which is a
/// batch of its own for the metrics. Dropping the future calls off what is not in a
/// lane yet. How many batches wait at once is the caller's to bound.
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
    let vertices = vertices.into();
    let (reply, answer) = oneshot();
    let executor = verifier.executor();
    let part = match verifier.schedule.duplicates {
        // A repeat is refused wherever the earlier one stands.
        Duplicates::Reject => vertices.len(),
        _ => vertices.len().div_ceil(workers(&**executor)),
    };
    let part = part.max(MIN_PART);
    let parts = vertices.len().div_ceil(part).max(1);
    let work: Arc<dyn Work> = Arc::new(Batch {
        verifier: Arc::clone(verifier),
        progress: Mutex::new(Progress {
            unfinished: parts,
            answer: Ok(vec![false; vertices.len()]),
        }),
        vertices,
        part,
        parts,
        next: AtomicUsize::new(0),
        reply,
    });
    let future = VertexVerdicts {
        answer,
        work: Arc::downgrade(&work),
        executor: Arc::clone(executor),
    };
    for _ in 0..parts {
        let work = Arc::clone(&work);
        let work = move || {
            // Vertices are dropped here, by the caller's code: a panic must not take
            // the pool down.
            caught(move || work.run());
        };
        spawn(&**executor, Box::new(work));
    }
    future
}

/// Vertices of a part, at least: more work than it takes to wake a worker.
const MIN_PART: usize = 32;

/// A batch that several workers take parts of. Each verifies its part alone and waits
/// for nobody: while it waited, it could pick up somebody who waits for it.
struct Batch<V, P: ParameterSet> {
    verifier: Arc<BatchVerifier<P>>,
    vertices: Arc<[V]>,
    part: usize,
    parts: usize,
    /// The next part to be taken.
    next: AtomicUsize,
    progress: Mutex<Progress>,
    reply: Reply<Answer>,
}

struct Progress {
    unfinished: usize,
    answer: Answer,
}

type Answer = Result<Vec<bool>, BatchError>;

impl Lost for Answer {
    const LOST: Self = Err(BatchError::Abandoned);
}

/// A [`Batch`] of whatever vertices.
trait Work: Send + Sync {
    /// Takes parts until none is left; who finishes the last one answers.
    fn run(&self);
}

impl<V: SignedVertex + Send + Sync, P: ParameterSet> Work for Batch<V, P> {
    fn run(&self) {
        loop {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            if part >= self.parts {
                return;
            }
            let start = part * self.part;
            let end = self.vertices.len().min(start + self.part);
            let vertices = &self.vertices[start..end];
            let request = Request {
                cancel: Some(self.reply.cancelled()),
                ..Request::ALONE
            };
            let (outcomes, panicked) = self.verifier.outcomes(vertices, show, request);
            let mut progress = self.lock();
            if let Ok(verdicts) = &mut progress.answer {
                for (verdict, outcome) in verdicts[start..end].iter_mut().zip(outcomes) {
                    *verdict = outcome.is_valid();
                }
            }
            if let Some(at) = panicked {
                let index = match progress.answer {
                    // The lowest, whoever comes first.
                    Err(BatchError::Panicked { index }) => index.min(start + at),
                    _ => start + at,
                };
                progress.answer = Err(BatchError::Panicked { index });
            }
            progress.unfinished -= 1;
            if progress.unfinished == 0 {
                let answer = mem::replace(&mut progress.answer, Answer::LOST);
                drop(progress);
                self.reply.send(answer);
            }
        }
    }
}

impl<V, P: ParameterSet> Batch<V, P> {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer of [`verify_vertex_signatures_batch_async`], some time.
///
/// A worker of the pool that is to answer may wait for it: it does what nobody has
/// begun, since the other workers may be waiting too.
#[must_use = "dropping it calls the batch off"]
pub struct VertexVerdicts {
    answer: Receiver<Answer>,
    /// Owned by the pool: if that drops it, the answer is an error.
    work: Weak<dyn Work>,
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
        if is_worker(&*self.executor)
            && let Some(work) = self.work.upgrade()
        {
            work.run();
        }
        self.answer.take_or_wake(|| context.waker().clone())
    }
}

impl Drop for VertexVerdicts {
    fn drop(&mut self) {
        self.answer.cancel();
    }
}
