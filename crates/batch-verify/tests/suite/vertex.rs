//! Vertices of a DAG.

use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Waker};
use std::sync::{Arc, Mutex};

use batch_verify::{
    BatchVerifier, CommitteeVerifier, Executor, MemberId, Message, SignedVertex, Threads,
    verify_vertex_signatures_batch, verify_vertex_signatures_batch_async,
};
use mldsa_core::MlDsa44;

use crate::fixture::{COMMITTEE, VOTES, block_on, expected};

/// A vote as a vertex, which counts how often its author is asked.
#[derive(Clone)]
struct Vertex(usize, Arc<AtomicUsize>);

impl SignedVertex for Vertex {
    fn author(&self) -> MemberId {
        self.1.fetch_add(1, Ordering::Relaxed);
        VOTES[self.0].member
    }

    fn message(&self) -> Message<'_> {
        Message::Bytes(&VOTES[self.0].message)
    }

    fn signature(&self) -> &[u8] {
        &VOTES[self.0].signature
    }
}

fn vertices() -> (Vec<Vertex>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let vertices = (0..VOTES.len()).map(|n| Vertex(n, Arc::clone(&count)));
    (vertices.collect(), count)
}

fn verifier(threads: Threads) -> CommitteeVerifier<MlDsa44> {
    let builder = BatchVerifier::builder().threads(threads);
    builder.build_for(COMMITTEE.clone()).unwrap()
}

fn all() -> Vec<bool> {
    (0..VOTES.len()).map(|n| expected(n).is_ok()).collect()
}

#[test]
fn one_boolean_per_vertex() {
    for threads in [Threads::Dedicated(2), Threads::Shared, Threads::Inline] {
        let verifier = verifier(threads);
        let (vertices, count) = vertices();
        let verdicts = verify_vertex_signatures_batch(&verifier, &vertices);
        assert_eq!(*verdicts, *all());
        // Shown once, on this thread.
        assert_eq!(count.load(Ordering::Relaxed), vertices.len());
        assert!(!verdicts.all_valid());
        assert!(verify_vertex_signatures_batch(&verifier, &vertices[..3]).all_valid());
        let none = verify_vertex_signatures_batch(&verifier, &vertices[..0]);
        assert!(none.is_empty() && !none.all_valid());
        let futures =
            [0; 4].map(|_| verify_vertex_signatures_batch_async(&verifier, vertices.clone()));
        for future in futures {
            assert_eq!(Vec::from(block_on(future)), all());
        }
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// Keeps what is spawned.
#[derive(Default)]
struct Kept(Mutex<Vec<Work>>);

impl Executor for Kept {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, _: usize, _: &(dyn Fn(usize) + Sync)) {}

    fn spawn(&self, work: Work) {
        self.0.lock().unwrap().push(work);
    }
}

#[test]
fn a_dropped_future_cancels_the_batch() {
    let kept = Arc::new(Kept::default());
    let verifier = verifier(Threads::Executor(Arc::clone(&kept) as Arc<dyn Executor>));
    let (vertices, count) = vertices();
    drop(verify_vertex_signatures_batch_async(&verifier, vertices));
    let work = kept.0.lock().unwrap().pop().unwrap();
    work();
    // Resolved at most, and not verified; the next batch is verified.
    assert!(count.load(Ordering::Relaxed) <= VOTES.len());
    let (vertices, _) = self::vertices();
    let future = verify_vertex_signatures_batch_async(&verifier, vertices);
    let work = kept.0.lock().unwrap().pop().unwrap();
    work();
    assert_eq!(*block_on(future), *all());
}

/// An executor that drops the work loses nothing, and no verdict is invented.
#[test]
fn work_that_is_dropped_is_done_by_the_task_that_awaits() {
    let kept = Arc::new(Kept::default());
    let verifier = verifier(Threads::Executor(Arc::clone(&kept) as Arc<dyn Executor>));
    let (vertices, count) = vertices();
    let mut future = verify_vertex_signatures_batch_async(&verifier, vertices);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut future).poll(&mut context).is_pending());
    assert_eq!(count.load(Ordering::Relaxed), 0);
    kept.0.lock().unwrap().clear();
    assert_eq!(*block_on(future), *all());
}
