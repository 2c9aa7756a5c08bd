//! What a vote costs alone, in small batches and through an intake, warm and after
//! other work has been through the caches: medians, ML-DSA-65, one thread unless it says
//! otherwise.
//!
//! `cargo bench -p batch-verify --bench lone_votes`

use core::error::Error;
use core::hint::black_box;
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use batch_verify::{
    BatchVerifier, CallerPool, Intake, IntakeLimits, Item, KeySet, Outcome, OwnedItem, SignerId,
    Threads,
};
use mldsa_core::{Backend, Context, MlDsa65, Randomness, SigningKey};

const SIGNERS: u32 = 16;
const VOTES: usize = 256;
const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let keys: Vec<SigningKey<MlDsa65>> = (0..SIGNERS as u8)
        .map(|n| SigningKey::from_seed(&[n; 32]))
        .collect();
    let public = keys.iter().map(|key| key.verifying_key());
    let set = KeySet::<MlDsa65>::from_public_keys(public)?;
    let engine = BatchVerifier::builder()
        .keys(set.clone())
        .threads(Threads::Inline);
    let engine = engine.build()?;
    // As many again, so that no memory knows what comes next.
    let votes = (0..2 * VOTES)
        .map(|n| {
            let signer = n as u32 % SIGNERS;
            let key = &keys[signer as usize];
            let signature =
                key.sign(&n.to_le_bytes(), Context::EMPTY, Randomness::Deterministic)?;
            Ok((signer, n.to_le_bytes(), signature))
        })
        .collect::<Result<Vec<_>, mldsa_core::SignError>>()?;
    let items: Vec<Item<'_>> = votes
        .iter()
        .map(|(signer, message, signature)| Item::new(*signer, message, signature.as_ref()))
        .collect();

    println!(
        "ML-DSA-65, backend {}, {SIGNERS} keys, us a vote",
        Backend::detect().name()
    );
    println!("| | warm | after other work |\n|---|--:|--:|");
    row("KeySet::verify_one", 1, |n| {
        let (signer, message, signature) = &votes[n % VOTES];
        let signer = SignerId::new(*signer);
        let verdict = set.verify_one(signer, message, Context::EMPTY, signature.as_ref());
        assert!(verdict.is_ok(), "a wrong verdict");
    });
    row("BatchVerifier::verify_one", 1, |n| {
        assert_eq!(engine.verify_one(items[n % VOTES]), Outcome::Valid);
    });
    for size in [1, 2, 8, 16, 64] {
        let mut outcomes = vec![Outcome::Skipped; size];
        row(&format!("batch of {size}"), size, |n| {
            let at = n * size % VOTES;
            let summary = engine.verify_into(&items[at..at + size], &mut outcomes);
            assert!(
                summary.is_ok_and(|summary| summary.all_valid()),
                "a wrong verdict"
            );
        });
    }
    // Asked for by a thread that is none of the pool's.
    let pool = engine.with_threads(Threads::Dedicated(2))?;
    for size in [9, 16, 32, 64] {
        let mut outcomes = vec![Outcome::Skipped; size];
        row(&format!("batch of {size}, pool of two"), size, |n| {
            let at = n * size % (VOTES - size + 1);
            let summary = pool.verify_into(&items[at..at + size], &mut outcomes);
            assert!(
                summary.is_ok_and(|summary| summary.all_valid()),
                "a wrong verdict"
            );
        });
    }
    let limits = |memory_bytes| IntakeLimits {
        memory_bytes,
        ..IntakeLimits::default()
    };
    for (name, memory_bytes) in [("idle intake, no memory", 0), ("idle intake", 1 << 16)] {
        let intake = Intake::new(engine.clone(), limits(memory_bytes));
        row(name, 1, |n| {
            assert_eq!(intake.verify(items[n % VOTES]), Outcome::Valid)
        });
    }
    let intake = Intake::new(engine.clone(), limits(16 << 20));
    row("intake, remembered", 1, |n| {
        assert_eq!(intake.verify(items[n % 2]), Outcome::Valid);
    });

    saturated(&engine, &items)
}

/// Votes arrive faster than they are verified: how long the thread that works takes,
/// against a batch of all of them. The three in turn, so that what else the machine
/// does falls on all.
fn saturated(engine: &BatchVerifier<MlDsa65>, items: &[Item<'_>]) -> Result<(), Box<dyn Error>> {
    // The work of the intake is kept until all votes have arrived.
    let jobs: Arc<Mutex<Vec<Job>>> = Arc::default();
    let kept = Arc::clone(&jobs);
    let keep = move |job| {
        kept.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(job)
    };
    let pool = CallerPool::new(1, |_, _| {}).spawning(keep, || false);
    let lent = engine.with_threads(pool.into_threads())?;
    let mut outcomes = vec![Outcome::Skipped; VOTES];
    // A memory that is full, as it is when votes never cease, and of other votes.
    let intakes = [0, 1 << 19].map(|memory_bytes| {
        let limits = IntakeLimits {
            memory_bytes,
            ..IntakeLimits::default()
        };
        Intake::new(lent.clone(), limits)
    });
    let (mut together, mut working, mut arriving) =
        (Vec::new(), [const { Vec::new() }; 2], Vec::new());
    for round in 1..=ROUNDS {
        let items = &items[round % 2 * VOTES..][..VOTES];
        let start = Instant::now();
        let summary = engine.verify_into(items, &mut outcomes)?;
        together.push(start.elapsed());
        assert!(summary.all_valid(), "a wrong verdict");
        for (times, intake) in working.iter_mut().zip(&intakes) {
            let owned: Vec<OwnedItem> = items.iter().map(|item| OwnedItem::from(*item)).collect();
            let start = Instant::now();
            let pending: Vec<_> = owned.into_iter().map(|item| intake.submit(item)).collect();
            arriving.push(start.elapsed());
            let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let start = Instant::now();
            while let Some(job) = next() {
                job();
            }
            times.push(start.elapsed());
            assert_eq!(
                intake.stats().verified,
                (round * VOTES) as u64,
                "votes without a worker"
            );
            for pending in pending {
                let outcome = pending.and_then(|pending| pending.wait());
                assert_eq!(outcome, Ok(Outcome::Valid));
            }
        }
    }
    println!("\n{VOTES} votes that wait already, us a vote on the thread that works");
    println!("| | | over the batch |\n|---|--:|--:|");
    let a_vote = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        micros(times[times.len() / 2]) / VOTES as f64
    };
    let together = a_vote(&mut together);
    println!("| batch | {together:.2} | |");
    for (name, times) in ["intake, no memory", "intake"].iter().zip(&mut working) {
        let time = a_vote(times);
        println!("| {name} | {time:.2} | {:.2} |", time / together);
    }
    println!(
        "| submission, on the thread that submits | {:.2} | |",
        a_vote(&mut arriving)
    );
    Ok(())
}

type Job = Box<dyn FnOnce() + Send>;

fn row(name: &str, votes: usize, mut call: impl FnMut(usize)) {
    let mut other = vec![1u64; 3 << 20];
    let mut n = 0;
    let mut time = |cold: bool| {
        let time = median(|| {
            if cold {
                other
                    .iter_mut()
                    .for_each(|word| *word = word.wrapping_mul(5) + 1);
                black_box(&other);
            }
            n += 1;
            let start = Instant::now();
            call(n);
            start.elapsed()
        });
        micros(time) / votes as f64
    };
    let (warm, cold) = (time(false), time(true));
    println!("| {name} | {warm:.2} | {cold:.2} |");
}

fn median(mut run: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| run()).collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
