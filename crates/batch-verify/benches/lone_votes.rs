//! Time of a vote alone, in small batches and through a service, warm and after other work has
//! replaced the CPU's caches: medians, ML-DSA-65, one thread unless it says otherwise.
//!
//! `cargo bench -p batch-verify --bench lone_votes`

use core::error::Error;
use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use batch_verify::{Committee, CommitteeVerifier, Source, Threads, VerificationService, Vote};
use mldsa_core::{Backend, Context, MlDsa65, PreparedVerifyingKey, Randomness, SigningKey};

const SIGNERS: usize = 16;
const VOTES: usize = 256;
const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let keys: Vec<SigningKey<MlDsa65>> = (0..SIGNERS as u8)
        .map(|n| SigningKey::from_seed(&[n; 32]))
        .collect();
    let prepared: Vec<PreparedVerifyingKey<MlDsa65>> = keys
        .iter()
        .map(|key| key.verifying_key().prepare())
        .collect();
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<MlDsa65>::builder(b"").build(members)?;
    let members: Vec<_> = committee.members().collect();
    let signed = (0..VOTES)
        .map(|n| {
            let message = n.to_le_bytes();
            let key = &keys[n % SIGNERS];
            Ok((
                message,
                key.sign_with_context(&message, Context::EMPTY, Randomness::Deterministic)?,
            ))
        })
        .collect::<Result<Vec<_>, mldsa_core::SignError>>()?;
    let vote = |n: usize| {
        let (message, signature) = &signed[n % VOTES];
        Vote::new(members[n % SIGNERS], message, signature.as_ref())
    };

    let backend = Backend::detect().name();
    println!("ML-DSA-65, backend {backend}, {SIGNERS} keys, us a vote");
    println!("| | warm | after other work |\n|---|--:|--:|");
    row("PreparedVerifyingKey::verify", 1, |n| {
        let (message, signature) = &signed[n % VOTES];
        let key = &prepared[n % SIGNERS];
        assert!(
            key.verify_with_context(message, Context::EMPTY, &signature)
                .is_ok()
        );
    });
    row("Committee::verify", 1, |n| {
        assert_eq!(committee.verify(&vote(n)), Ok(()))
    });
    let verifier = CommitteeVerifier::builder().threads(Threads::Inline);
    let inline = verifier.build(committee.clone())?;
    let verifier = CommitteeVerifier::builder().threads(Threads::Dedicated(2));
    let pool = verifier.build(committee.clone())?;
    for (verifier, name, sizes) in [
        (&inline, "", &[1, 2, 8, 16, 64][..]),
        (&pool, ", pool of two", &[9, 16, 32, 64]),
    ] {
        for &size in sizes {
            row(&format!("batch of {size}{name}"), size, |n| {
                let votes = (n * size..(n + 1) * size).map(vote);
                assert!(verifier.verify_batch(votes).all_valid());
            });
        }
    }
    let service = |cache_bytes| {
        let builder = VerificationService::builder(committee.clone()).threads(1);
        builder.cache_bytes(cache_bytes).build()
    };
    for (name, cache_bytes) in [("service, no cache", 0), ("service, cache missed", 1 << 16)] {
        let service = service(cache_bytes)?;
        row(name, 1, |n| assert_eq!(service.verify(&vote(n)), Ok(())));
    }
    let cached = service(16 << 20)?;
    row("service, cached", 1, |n| {
        assert_eq!(cached.verify(&vote(n % 2)), Ok(()))
    });
    let uncached = service(0)?;
    let lone = ratio(
        |n| assert_eq!(uncached.verify(&vote(n)), Ok(())),
        |n| {
            let (message, signature) = &signed[n % VOTES];
            let key = &prepared[n % SIGNERS];
            let valid = key.verify_with_context(message, Context::EMPTY, &signature);
            assert!(valid.is_ok());
        },
    );
    // With the wake-up of the worker and of this thread.
    let queued = service(0)?;
    row("service, submitted and awaited", 1, |n| {
        let answer = queued.submit(Source::own(), &vote(n));
        assert_eq!(answer.and_then(|answer| answer.wait()), Ok(()));
    });
    println!("\nA lone vote through a service takes {lone:.3} times PreparedVerifyingKey::verify.");
    Ok(())
}

/// Ratio of the median times of two calls that alternate.
fn ratio(mut call: impl FnMut(usize), mut reference: impl FnMut(usize)) -> f64 {
    let mut times = [Vec::new(), Vec::new()];
    for n in 0..20 * ROUNDS {
        for (times, call) in times
            .iter_mut()
            .zip([&mut call as &mut dyn FnMut(usize), &mut reference])
        {
            let start = Instant::now();
            call(n);
            times.push(start.elapsed());
        }
    }
    let [call, reference] = times.map(|mut times| {
        times.sort_unstable();
        micros(times[times.len() / 2])
    });
    call / reference
}

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
