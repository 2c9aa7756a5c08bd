//! Any executor runs a batch, and none can lose an item: tasks that are dropped, run late,
//! twice or out of order change nothing.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use batch_verify::{BatchVerifier, Committee, Executor, Mode, Threads, Vote};

use crate::fixture::{COMMITTEE, CONTEXT, KEYS, MEMBERS, VOTES, public, verdict};

/// Treatment of tasks by an executor.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// Drops them all.
    Drop,
    /// Runs one of three, in reverse order.
    Pick,
    /// Runs each twice, with numbers of its own.
    Twice,
    /// A thread for each.
    Threads,
    /// Panics.
    Panic,
}

#[derive(Debug)]
struct Odd {
    manner: Manner,
    workers: usize,
    runs: AtomicUsize,
}

impl Executor for Odd {
    fn workers(&self) -> usize {
        self.workers
    }

    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        match self.manner {
            Manner::Drop => {}
            Manner::Pick => (0..tasks).rev().step_by(3).for_each(task),
            Manner::Twice => (0..2 * tasks).for_each(|n| task(usize::MAX - n)),
            Manner::Threads => std::thread::scope(|scope| {
                for n in 0..tasks {
                    scope.spawn(move || task(n));
                }
            }),
            Manner::Panic => panic!("the executor's fault"),
        }
    }
}

fn odd() -> impl Iterator<Item = Arc<Odd>> {
    use Manner::{Drop, Panic, Pick, Threads, Twice};
    [Drop, Pick, Twice, Threads, Panic]
        .into_iter()
        .flat_map(|manner| {
            [0, 1, 2, 7, usize::MAX].map(|workers| {
                let runs = AtomicUsize::new(0);
                Arc::new(Odd {
                    manner,
                    workers,
                    runs,
                })
            })
        })
}

fn votes() -> impl Iterator<Item = Vote<'static>> {
    VOTES.iter().map(|vote| vote.as_vote())
}

#[test]
fn no_item_is_lost() {
    for executor in odd() {
        let threads = Threads::Executor(Arc::clone(&executor) as Arc<dyn Executor>);
        let builder = Committee::builder(CONTEXT)
            .epoch(1)
            .threads(threads.clone());
        let members = KEYS[..MEMBERS].iter().map(|key| (public(key), 1));
        assert_eq!(builder.build(members).unwrap(), *COMMITTEE);
        // Hashes and expansions are both offered to it.
        assert!(executor.runs.load(Ordering::Relaxed) >= 2, "{executor:?}");
        let builder = || BatchVerifier::builder().inline_below(0);
        let verifier = builder().threads(threads.clone());
        let verifier = verifier.build_for(COMMITTEE.clone()).unwrap();
        for _ in 0..2 {
            let report = verifier.verify(votes());
            for (n, found) in report.verdicts().iter().enumerate() {
                assert_eq!(*found, verdict(n), "{executor:?} {n}");
            }
        }
        let inline = builder().threads(Threads::Inline);
        let inline = inline.build_for(COMMITTEE.clone()).unwrap();
        let runs = executor.runs.load(Ordering::Relaxed);
        let valid = inline.verify(votes()).summary().valid_items;
        assert_eq!(executor.runs.load(Ordering::Relaxed), runs);
        let lent = inline.with_executor(Arc::clone(&executor) as Arc<dyn Executor>);
        assert_eq!(lent.verify(votes()).summary().valid_items, valid);
        // It is asked whenever there is more than one segment.
        let asked = executor.runs.load(Ordering::Relaxed) > runs;
        assert_eq!(asked, executor.workers > 1, "{executor:?}");
        let first = builder().mode(Mode::FirstInvalid).threads(threads);
        let first = first.build_for(COMMITTEE.clone()).unwrap();
        assert_eq!(first.verify(votes()).first_rejected().unwrap().0, 3);
    }
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
                    .all(|(n, found)| *found == verdict(n))
            );
        };
        check();
        pool.install(check);
        rayon::join(check, check);
    }
}
