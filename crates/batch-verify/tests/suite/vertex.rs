//! Vertices of a DAG.

use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Waker};
use std::sync::{Arc, Mutex, mpsc};

use batch_verify::{Committee, CommitteeVerifier, Report, ThreadPool, Threads, Vote};
use mldsa_core::{MlDsa44, SigningKey};

use crate::fixture::{COMMITTEE, VOTES, block_on, expected};

/// A vote as a vertex.
#[derive(Clone, Copy)]
struct Vertex(usize);

fn vote(vertex: &Vertex) -> Vote<'_> {
    VOTES[vertex.0].as_vote()
}

fn vertices() -> Vec<Vertex> {
    (0..VOTES.len()).map(Vertex).collect()
}

fn verifier(threads: Threads) -> CommitteeVerifier<MlDsa44> {
    let builder = CommitteeVerifier::builder().threads(threads);
    builder.build(COMMITTEE.clone()).unwrap()
}

fn check(report: &Report) {
    assert_eq!(report.verdicts().len(), VOTES.len());
    for (n, verdict) in report.verdicts().iter().enumerate() {
        assert_eq!(*verdict, expected(n));
    }
}

#[test]
fn one_verdict_per_vertex() {
    for threads in [Threads::Dedicated(2), Threads::Shared, Threads::Inline] {
        let verifier = verifier(threads);
        let (vertices, count) = (vertices(), AtomicUsize::new(0));
        let report = verifier.verify_batch(vertices.iter().map(|vertex| {
            count.fetch_add(1, Ordering::Relaxed);
            vote(vertex)
        }));
        check(&report);
        assert!(!report.all_valid());
        // Asked once, on this thread.
        assert_eq!(count.load(Ordering::Relaxed), vertices.len());
        let few = |count| verifier.verify_batch(vertices[..count].iter().map(vote));
        assert!(few(3).all_valid() && !few(0).all_valid());
        let futures = [0; 4].map(|_| verifier.verify_batch_async(vertices.clone(), vote));
        for future in futures {
            check(&block_on(future));
        }
    }
}

/// A verifier on `threads` for two, of which the one that runs `vote` waits until the sender is
/// dropped.
fn blocked(threads: Threads) -> (CommitteeVerifier<MlDsa44>, mpsc::Sender<()>) {
    let verifier = verifier(threads);
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let (begin, begun) = mpsc::channel();
    let first = verifier.verify_batch_async([()], move |()| {
        begin.send(()).unwrap();
        let _ = blocked.lock().unwrap().recv();
        VOTES[0].as_vote()
    });
    begun.recv().unwrap();
    // The thread is in the closure already.
    drop(first);
    (verifier, release)
}

#[test]
fn a_dropped_future_cancels_the_batch() {
    let (verifier, release) = blocked(Threads::Dedicated(2));
    let future = verifier.verify_batch_async(vertices(), vote);
    drop(future);
    let (sender, receiver) = mpsc::channel();
    let last = verifier.verify_batch_async(vertices(), move |vertex| {
        // The pool has one thread, which is done with the first batch.
        let _ = sender.send(());
        vote(vertex)
    });
    assert!(receiver.try_recv().is_err());
    drop(release);
    check(&block_on(last));
    assert!(receiver.try_recv().is_ok());
}

/// A panic of the closure on the pool loses nothing, and no verdict is invented: the task
/// that awaits verifies the batch itself.
#[test]
fn a_batch_that_panics_is_verified_by_the_task_that_awaits() {
    std::panic::set_hook(Box::new(|_| {}));
    for threads in [Threads::Dedicated(2), Threads::Dedicated(3)] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        let verifier = verifier(threads);
        let future = verifier.verify_batch_async(vertices(), move |vertex| {
            let call = counter.fetch_add(1, Ordering::Relaxed);
            assert!(call != 30, "the caller's fault");
            vote(vertex)
        });
        check(&block_on(future));
        assert_eq!(calls.load(Ordering::Relaxed), 31 + VOTES.len());
    }
    let _ = std::panic::take_hook();
}

#[test]
fn a_future_is_pending_until_a_thread_is_free() {
    let (verifier, release) = blocked(Threads::Dedicated(2));
    let mut future = verifier.verify_batch_async(vertices(), vote);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut future).poll(&mut context).is_pending());
    drop(release);
    check(&block_on(future));
}

/// `vote` may wait for a lock that the caller of a batch or of a builder holds.
#[test]
fn nothing_waits_for_the_code_of_a_caller() {
    let pool = ThreadPool::new(2).unwrap();
    let (verifier, release) = blocked(Threads::Pool(pool.clone()));
    check(&verifier.verify_batch(vertices().iter().map(vote)));
    let builder = Committee::<MlDsa44>::builder(b"").threads(Threads::Pool(pool));
    let keys = [1, 2].map(|n| SigningKey::<MlDsa44>::from_seed(&[n; 32]));
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let built = builder.build(members).unwrap();
    assert_eq!(built.len(), 2);
    drop(release);
}
