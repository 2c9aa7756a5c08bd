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
