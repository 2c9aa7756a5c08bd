//! Vertices of a DAG: the caller's own type.

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll};
use std::sync::Arc;

use mldsa_core::ParameterSet;

use crate::batch::{Mode, RunOptions};
use crate::{CommitteeVerifier, Report, Vote};

impl<P: ParameterSet> CommitteeVerifier<P> {
    /// Verifies the signatures of `vertices` on the threads of the verifier, for callers that must
    /// not block; others pass `vertices.iter().map(vote)` to [`verify_batch`](Self::verify_batch).
    /// All are verified: the verifier's mode is not used. `vote` makes the vote of a vertex. The
    /// future needs no runtime; dropping it cancels the items that are not in a lane yet.
    ///
    /// The task that polls the future verifies the batch itself if the verifier has no threads
    /// ([`Threads::Inline`](crate::Threads::Inline), one CPU, threads that the system refuses,
    /// or a child process made by `fork`), or if `vote` panics on one of them.
    pub fn verify_batch_async<A, V, F>(
        &self,
        vertices: A,
        vote: F,
    ) -> impl Future<Output = Report> + Send + Unpin + use<A, V, F, P>
    where
        A: Into<Arc<[V]>>,
        V: Send + Sync + 'static,
        F: Fn(&V) -> Vote<'_> + Send + Sync + 'static,
    {
        let (sender, receiver) = oneshot::async_channel();
        let batch = Arc::new(Batch {
            verifier: self.clone(),
            vertices: vertices.into(),
            vote,
            cancelled: AtomicBool::new(false),
        });
        let there = Arc::clone(&batch);
        self.scheduler.pool.spawn(move || {
            let report = there.verify(Some(&there.cancelled));
            // The destructor of a vertex, as `vote`, is the caller's code, which may panic.
            drop(there);
            let _ = sender.send(report);
        });
        VerifyVertices { batch, receiver }
    }
}

struct Batch<V, F, P: ParameterSet> {
    verifier: CommitteeVerifier<P>,
    vertices: Arc<[V]>,
    vote: F,
    cancelled: AtomicBool,
}

impl<V, F: Fn(&V) -> Vote<'_>, P: ParameterSet> Batch<V, F, P> {
    fn verify(&self, cancel: Option<&AtomicBool>) -> Report {
        let request = RunOptions {
            cancel,
            ..Mode::Full.into()
        };
        let votes = self.vertices.iter().map(&self.vote);
        self.verifier.report(request, votes)
    }
}

/// Future of [`CommitteeVerifier::verify_batch_async`].
struct VerifyVertices<V, F, P: ParameterSet> {
    batch: Arc<Batch<V, F, P>>,
    receiver: oneshot::AsyncReceiver<Report>,
}

impl<V, F: Fn(&V) -> Vote<'_>, P: ParameterSet> Future for VerifyVertices<V, F, P> {
    type Output = Report;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Report> {
        if !self.batch.verifier.scheduler.pool.has_threads() {
            return Poll::Ready(self.batch.verify(None));
        }
        match Pin::new(&mut self.receiver).poll(context) {
            Poll::Ready(Ok(report)) => Poll::Ready(report),
            Poll::Ready(Err(_)) => Poll::Ready(self.batch.verify(None)),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<V, F, P: ParameterSet> Drop for VerifyVertices<V, F, P> {
    fn drop(&mut self) {
        self.batch.cancelled.store(true, Ordering::Relaxed);
    }
}
