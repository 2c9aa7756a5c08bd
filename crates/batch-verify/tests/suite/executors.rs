//! Pools of the verifier and of the caller.

use batch_verify::{BuildError, CommitteeVerifier, ThreadPool, Threads, Vote};

use crate::fixture::{COMMITTEE, VOTES, expected};

fn votes() -> impl Iterator<Item = Vote<'static>> {
    VOTES.iter().map(|vote| vote.as_vote())
}

/// Two verifiers share threads, and their callers are any.
#[test]
fn shared_pools() {
    let pool = ThreadPool::new(3).unwrap();
    assert_eq!(pool.threads(), 3);
    assert_eq!(ThreadPool::new(0).unwrap_err(), BuildError::ThreadPool);
    let alone = ThreadPool::new(1).unwrap();
    for (threads, count) in [
        (Threads::Pool(pool.clone()), 3),
        (Threads::Pool(pool), 3),
        (Threads::Pool(alone), 1),
        (Threads::Dedicated(2), 2),
    ] {
        let verifier = CommitteeVerifier::builder().threads(threads);
        let verifier = verifier.build(COMMITTEE.clone()).unwrap();
        let check = || {
            let report = verifier.verify_batch(votes());
            assert_eq!(report.threads(), count);
            assert!(
                report
                    .verdicts()
                    .iter()
                    .enumerate()
                    .all(|(n, found)| *found == expected(n))
            );
        };
        std::thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(check)));
        });
    }
}

/// A thread of another pool verifies alone: while it waited, it would run jobs of that pool.
#[test]
fn threads_of_foreign_pools_work_alone() {
    let foreign = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let foreign = foreign.unwrap();
    let defaults = COMMITTEE.verifier();
    let dedicated = CommitteeVerifier::builder().threads(Threads::Dedicated(2));
    let dedicated = dedicated.build(COMMITTEE.clone()).unwrap();
    assert_eq!(dedicated.verify_batch(votes()).threads(), 2);
    for verifier in [defaults, dedicated] {
        let report = foreign.install(|| verifier.verify_batch(votes()));
        assert_eq!(report.threads(), 1);
        assert!(
            report
                .verdicts()
                .iter()
                .enumerate()
                .all(|(n, found)| *found == expected(n))
        );
    }
}
