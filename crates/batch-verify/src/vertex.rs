//! Vertices of a DAG: the caller's own type, one boolean each.

use core::fmt;
use core::future::Future;
use core::ops::Deref;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll};
use std::sync::Arc;

use mldsa_core::ParameterSet;

use crate::batch::{Mode, Request};
use crate::executor::catch;
use crate::{CommitteeVerifier, MemberId, Message, Verdict, Vote};

/// A value signed by a member of a committee.
pub trait SignedVertex {
    /// The claimed signer.
    fn author(&self) -> MemberId;
    /// The signed message.
    fn message(&self) -> Message<'_>;
    /// The encoded signature.
    fn signature(&self) -> &[u8];
}

/// One boolean per vertex, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "verdicts that are not checked may hide rejections"]
pub struct VertexVerdicts(Vec<bool>);

impl VertexVerdicts {
    /// Whether there is at least one vertex and every vertex is valid.
    #[must_use]
    pub fn all_valid(&self) -> bool {
        !self.is_empty() && self.iter().all(|&valid| valid)
    }
}

impl Deref for VertexVerdicts {
    type Target = [bool];

    fn deref(&self) -> &[bool] {
        &self.0
    }
}

impl From<VertexVerdicts> for Vec<bool> {
    fn from(verdicts: VertexVerdicts) -> Self {
        verdicts.0
    }
}

/// Verifies the signatures of `vertices`, all of them: the verifier's mode is not used.
pub fn verify_vertex_signatures_batch<V: SignedVertex, P: ParameterSet>(
    verifier: &CommitteeVerifier<P>,
    vertices: &[V],
) -> VertexVerdicts {
    verify(verifier, vertices, None)
}

fn verify<V: SignedVertex, P: ParameterSet>(
    verifier: &CommitteeVerifier<P>,
    vertices: &[V],
    cancel: Option<&AtomicBool>,
) -> VertexVerdicts {
    let request = Request {
        mode: Mode::Full,
        cancel,
        ..verifier.engine.request()
    };
    let votes = vertices
        .iter()
        .map(|vertex| Vote::new(vertex.author(), vertex.message(), vertex.signature()));
    let verdicts = verifier.report(request, votes).verdicts;
    VertexVerdicts(verdicts.into_iter().map(Verdict::is_valid).collect())
}

/// [`verify_vertex_signatures_batch`] on the threads of the verifier (rayon's global pool for
/// [`Threads::Inline`](crate::Threads::Inline)), for callers that must not block. The future
/// needs no runtime; dropping it cancels what is not in a lane yet.
///
/// If the executor drops the work, or a method of a vertex panics there, the task that polls
/// the future verifies the batch itself. Do not block a thread of the verifier's pool on it.
pub fn verify_vertex_signatures_batch_async<V, P>(
    verifier: &CommitteeVerifier<P>,
    vertices: impl Into<Arc<[V]>>,
) -> impl Future<Output = VertexVerdicts> + Send + Unpin
where
    V: SignedVertex + Send + Sync + 'static,
    P: ParameterSet,
{
    let vertices = vertices.into();
    let (sender, receiver) = oneshot::async_channel();
    let cancelled = Arc::new(AtomicBool::new(false));
    let future = VerifyVertices {
        verifier: verifier.clone(),
        vertices: Arc::clone(&vertices),
        receiver,
        cancelled: Arc::clone(&cancelled),
    };
    let verifier_there = verifier.clone();
    let work = move || {
        // The methods and the destructor of a vertex are the caller's code.
        catch(move || {
            let verdicts = verify(&verifier_there, &vertices, Some(&cancelled));
            drop(vertices);
            let _ = sender.send(verdicts);
        });
    };
    verifier.engine.pool.spawn(Box::new(work));
    future
}

/// Future of [`verify_vertex_signatures_batch_async`].
struct VerifyVertices<V, P: ParameterSet> {
    verifier: CommitteeVerifier<P>,
    vertices: Arc<[V]>,
    receiver: oneshot::AsyncReceiver<VertexVerdicts>,
    cancelled: Arc<AtomicBool>,
}

impl<V: SignedVertex, P: ParameterSet> Future for VerifyVertices<V, P> {
    type Output = VertexVerdicts;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<VertexVerdicts> {
        match Pin::new(&mut self.receiver).poll(context) {
            Poll::Ready(Ok(verdicts)) => Poll::Ready(verdicts),
            Poll::Ready(Err(_)) => Poll::Ready(verify_vertex_signatures_batch(
                &self.verifier,
                &self.vertices,
            )),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<V, P: ParameterSet> Drop for VerifyVertices<V, P> {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl<V, P: ParameterSet> fmt::Debug for VerifyVertices<V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyVertices").finish_non_exhaustive()
    }
}
