//! Pools of the verifier and of the caller.

use std::sync::Arc;

use batch_verify::{BatchVerifier, Threads, Vote};

use crate::fixture::{COMMITTEE, VOTES, expected};

fn votes() -> impl Iterator<Item = Vote<'static>> {
    VOTES.iter().map(|vote| vote.as_vote())
}

/// A pool of the caller serves, also when the call comes from inside it.
#[test]
fn callers_pool() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    let pool = Arc::new(pool.unwrap());
    for threads in [
        Threads::Pool(Arc::clone(&pool)),
        Threads::Shared,
        Threads::Dedicated(2),
    ] {
        let verifier = BatchVerifier::builder().threads(threads);
        let verifier = verifier.build_for(COMMITTEE.clone()).unwrap();
        let check = || {
            let report = verifier.verify(votes());
            assert!(
                report
                    .verdicts()
                    .iter()
                    .enumerate()
                    .all(|(n, found)| *found == expected(n))
            );
        };
        check();
        pool.install(check);
        rayon::join(check, check);
    }
}

/// A thread of another pool verifies alone: while it waited, it would run jobs of that pool.
#[test]
fn threads_of_foreign_pools_work_alone() {
    let foreign = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let foreign = foreign.unwrap();
    let defaults = COMMITTEE.verifier();
    let dedicated = BatchVerifier::builder().threads(Threads::Dedicated(2));
    let dedicated = dedicated.build_for(COMMITTEE.clone()).unwrap();
    assert_eq!(dedicated.verify(votes()).threads(), 2);
    for verifier in [defaults, dedicated] {
        let report = foreign.install(|| verifier.verify(votes()));
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
