//! Any pool runs a batch, and none can lose an item: tasks that are dropped, run
//! late, twice or out of order change nothing.

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context as Task, Poll, Waker};
use std::sync::Arc;

use batch_verify::{
    BatchError, BatchVerifier, Executor, Item, KeySet, Message, Mode, Outcome, SignedVertex,
    Signer, Threads, verify_vertex_signatures_batch_async,
};
use mldsa_core::{Context, MlDsa44, Randomness, SigningKey};

/// How an executor treats its tasks.
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
        }
    }

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        match self.manner {
            Manner::Drop => drop(work),
            Manner::Threads => drop(std::thread::spawn(work)),
            Manner::Pick | Manner::Twice => work(),
        }
    }

    fn is_worker(&self) -> bool {
        false
    }
}

fn odd() -> impl Iterator<Item = Arc<Odd>> {
    let manners = [Manner::Drop, Manner::Pick, Manner::Twice, Manner::Threads];
    manners.into_iter().flat_map(|manner| {
        [0, 1, 2, 7].map(|workers| {
            Arc::new(Odd {
                manner,
                workers,
                runs: AtomicUsize::new(0),
            })
        })
    })
}

struct Vote {
    signer: u32,
    signature: Vec<u8>,
}

impl SignedVertex for Vote {
    fn author(&self) -> Signer<'_> {
        self.signer.into()
    }

    fn message(&self) -> Message<'_> {
        Message::Bytes(b"vote")
    }

    fn signature(&self) -> &[u8] {
        &self.signature
    }
}

fn public(key: &SigningKey<MlDsa44>) -> &[u8] {
    key.verifying_key().as_bytes()
}

fn votes(keys: &[SigningKey<MlDsa44>], count: u32) -> Vec<Vote> {
    let signatures: Vec<Vec<u8>> = keys
        .iter()
        .map(|key| {
            let signature = key.sign(b"vote", Context::EMPTY, Randomness::Deterministic);
            signature.unwrap().as_ref().to_vec()
        })
        .collect();
    (0..count)
        .map(|n| {
            let signer = n % keys.len() as u32;
            let mut signature = signatures[signer as usize].clone();
            signature[7] ^= u8::from(n % 10 == 9);
            Vote { signer, signature }
        })
        .collect()
}

#[test]
fn no_item_is_lost() {
    let keys: Vec<SigningKey<MlDsa44>> = (0..6).map(|n| SigningKey::from_seed(&[n; 32])).collect();
    let votes = votes(&keys, 150);
    let items: Vec<Item<'_>> = votes
        .iter()
        .map(|vote| Item::new(vote.signer, b"vote", &vote.signature))
        .collect();
    let plain = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    for executor in odd() {
        let threads = Threads::Executor(Arc::clone(&executor) as Arc<dyn Executor>);
        let set = KeySet::<MlDsa44>::builder()
            .threads(threads.clone())
            .build(keys.iter().map(public))
            .unwrap();
        assert_eq!(set, plain);
        // Hashes and expansions both ran there.
        assert!(executor.runs.load(Ordering::Relaxed) >= 2, "{executor:?}");
        let engine = BatchVerifier::builder().keys(set).inline_below(0);
        let engine = engine.threads(threads.clone()).build().unwrap();
        for _ in 0..2 {
            let report = engine.verify(&items);
            for (n, outcome) in report.outcomes().iter().enumerate() {
                assert_eq!(outcome.is_valid(), n % 10 != 9, "{executor:?} {n}");
            }
            assert_eq!(report.skipped(), 0);
        }
        // The same verifier, brought to other threads and back.
        let inline = engine.with_threads(Threads::Inline).unwrap();
        let runs = executor.runs.load(Ordering::Relaxed);
        assert_eq!(inline.verify(&items).valid(), 135);
        assert_eq!(executor.runs.load(Ordering::Relaxed), runs);
        let back = inline.with_executor(Arc::clone(&executor) as Arc<dyn Executor>);
        assert_eq!(back.verify(&items).valid(), 135);
        let lent = executor.runs.load(Ordering::Relaxed) > runs;
        assert_eq!(lent, executor.workers > 1, "{executor:?}");
        let first = BatchVerifier::builder()
            .keys(plain.clone())
            .mode(Mode::FirstInvalid)
            .threads(threads)
            .build()
            .unwrap();
        assert_eq!(first.verify(&items).first_invalid().unwrap().0, 9);
    }
    assert!(
        BatchVerifier::<MlDsa44>::builder()
            .build()
            .unwrap()
            .with_threads(Threads::Dedicated(0))
            .is_err()
    );
}

/// Work that a pool drops is answered as given up; all other work is done.
#[test]
fn dropped_work_is_answered() {
    let keys: Vec<SigningKey<MlDsa44>> = (0..2).map(|n| SigningKey::from_seed(&[n; 32])).collect();
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    for executor in odd() {
        let engine = BatchVerifier::builder()
            .keys(set.clone())
            .threads(Threads::Executor(Arc::clone(&executor) as Arc<dyn Executor>))
            .build()
            .unwrap();
        let engine = Arc::new(engine);
        let mut future = pin!(verify_vertex_signatures_batch_async(
            &engine,
            votes(&keys, 20)
        ));
        let mut waiting = Task::from_waker(Waker::noop());
        let answer = loop {
            match future.as_mut().poll(&mut waiting) {
                Poll::Ready(answer) => break answer,
                Poll::Pending => std::thread::yield_now(),
            }
        };
        match executor.manner {
            Manner::Drop => assert_eq!(answer, Err(BatchError::Abandoned)),
            _ => assert_eq!(answer.unwrap().iter().filter(|valid| **valid).count(), 18),
        }
    }
}

/// From inside a pool, from inside another, and from a projection: no call waits
/// for itself.
#[test]
fn calls_from_inside_pools() {
    let keys: Vec<SigningKey<MlDsa44>> = (0..2).map(|n| SigningKey::from_seed(&[n; 32])).collect();
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    let votes = votes(&keys, 60);
    let pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        Arc::new(pool.unwrap())
    };
    let pools = [pool(1), pool(1), pool(2), pool(3)];
    let show = |vote: &'_ Vote| -> Outcome {
        let engine = BatchVerifier::builder().keys(set.clone()).build().unwrap();
        let item = Item::new(vote.signer, b"vote", &vote.signature);
        engine.verify(&[item; 12]).outcomes()[11]
    };
    for outer in &pools {
        for inner in &pools {
            let engine = BatchVerifier::builder()
                .keys(set.clone())
                .inline_below(0)
                .threads(Threads::Pool(Arc::clone(inner)))
                .build()
                .unwrap();
            let verify = || {
                let report = engine.verify_by(&votes, |_, vote| {
                    if vote.signer == 0 && vote.signature[0] & 1 == 0 {
                        show(vote);
                    }
                    Item::new(vote.signer, b"vote", &vote.signature)
                });
                assert_eq!(report.unwrap().valid(), 54);
            };
            outer.install(verify);
            // Several at once, from workers and from outside.
            outer.scope(|scope| (0..4).for_each(|_| scope.spawn(|_| verify())));
            verify();
        }
    }
}

/// A pool whose threads are all busy holds up nobody who could do the work alone.
#[test]
fn busy_pools_are_not_waited_for() {
    let keys: Vec<SigningKey<MlDsa44>> = (0..2).map(|n| SigningKey::from_seed(&[n; 32])).collect();
    let set = KeySet::<MlDsa44>::from_public_keys(keys.iter().map(public)).unwrap();
    let votes = votes(&keys, 200);
    let items: Vec<Item<'_>> = votes
        .iter()
        .map(|vote| Item::new(vote.signer, b"vote", &vote.signature))
        .collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = Arc::new(pool.unwrap());
    let (free, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(held));
    for _ in 0..2 {
        let held = Arc::clone(&held);
        pool.spawn(move || assert!(held.lock().unwrap().recv().is_err()));
    }
    let engine = BatchVerifier::builder()
        .keys(set)
        .threads(Threads::Pool(Arc::clone(&pool)))
        .build()
        .unwrap();
    for size in [9, 16, 200] {
        let report = engine.verify(&items[..size]);
        assert_eq!(report.valid(), size - size / 10);
    }
    // They were busy all the time.
    drop(free);
    assert_eq!(engine.verify(&items).valid(), 180);
}
