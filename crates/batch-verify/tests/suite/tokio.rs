//! The intake under tokio: batches on its blocking threads, answers awaited on the one
//! that polls.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use crate::votes::{VOTES, expected, verifier};
use batch_verify::{
    AsyncIntake, BlockingPool, Intake, IntakeError, IntakeLimits, IntakeMetrics, Origin, Priority,
    Verified,
};

/// Counts batches, and those verified on the thread that polls.
struct Where(thread::ThreadId, Arc<[AtomicUsize; 2]>);

impl IntakeMetrics for Where {
    fn verified(&self, _: &Verified) {
        let here = thread::current().id() == self.0;
        self.1[usize::from(here)].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn under_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let threads = BlockingPool::new(runtime.handle().clone(), 2).into_threads();
    let batches: Arc<[AtomicUsize; 2]> = Arc::default();
    let limits = IntakeLimits {
        items: 10,
        ..IntakeLimits::default()
    };
    let metrics = Where(thread::current().id(), Arc::clone(&batches));
    let builder = Intake::builder(verifier(threads)).limits(limits);
    let intake = AsyncIntake::new(builder.metrics(metrics).build());
    runtime.block_on(async {
        let tasks: Vec<_> = (0..VOTES.len())
            .map(|n| {
                let intake = intake.clone();
                tokio::spawn(async move {
                    let origin = Origin::peer(n as u64, Priority::OwnRound);
                    (n, intake.submit(origin, VOTES[n].clone()).await)
                })
            })
            .collect();
        for task in tasks {
            let (n, answer) = task.await.unwrap();
            assert_eq!(answer, Ok(expected(n)));
        }
        let report = intake
            .submit_batch(Priority::Sync, &VOTES[..])
            .await
            .unwrap();
        assert!((0..60).map(expected).eq(report.into_outcomes()));
        // A blocking task waits by doing the work.
        let other = intake.clone();
        let waited = tokio::task::spawn_blocking(move || {
            let pending = other.try_submit(Origin::default(), VOTES[3].clone());
            pending.unwrap().wait()
        });
        assert_eq!(waited.await.unwrap(), Ok(expected(3)));
        intake.drain().await;
    });
    let [elsewhere, here] = [&batches[0], &batches[1]].map(|n| n.load(Ordering::Relaxed));
    assert!(elsewhere > 0);
    assert_eq!(here, 0);
    // A runtime that is gone drops its work.
    drop(runtime);
    let lost = intake.try_submit(Origin::default(), VOTES[3].clone());
    let other = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    assert_eq!(other.block_on(lost.unwrap()), Err(IntakeError::Abandoned));
    other.block_on(intake.shutdown());
}

/// A runtime that goes between two batches takes the next one with it; what it had begun
/// is answered.
#[test]
fn a_runtime_that_goes_under_load() {
    for round in 0..8 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let threads = BlockingPool::new(runtime.handle().clone(), 1 + round % 3).into_threads();
        let limits = IntakeLimits {
            batch: 8,
            memory_bytes: 0,
            ..IntakeLimits::default()
        };
        let intake = Intake::new(verifier(threads), limits);
        let submit = |n: usize| intake.submit(VOTES[n].clone()).unwrap();
        let pending: Vec<_> = (0..VOTES.len()).map(submit).collect();
        while intake.stats().batches < round as u64 {
            thread::yield_now();
        }
        runtime.shutdown_background();
        let other = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut answered = [0; 2];
        for (n, pending) in pending.into_iter().enumerate() {
            match other.block_on(pending) {
                Ok(outcome) => {
                    assert_eq!(outcome, expected(n));
                    answered[0] += 1;
                }
                Err(error) => {
                    assert_eq!(error, IntakeError::Abandoned);
                    answered[1] += 1;
                }
            }
        }
        intake.drain();
        let stats = intake.stats();
        assert_eq!([stats.verified, stats.abandoned], answered);
        assert_eq!(stats.verified + stats.abandoned, VOTES.len() as u64);
    }
}
