//! The rows of `docs/ml-adsa-operators.md`: CPU time of one thread, allocations and bytes.
//!
//! `cargo run --release -p mladsa-aggregate --features insecure-open-commitments,test-util
//! --example figures`
//!
//! Times are means, which include rejected attempts where a row says so.
#![allow(clippy::unwrap_used, reason = "a measurement")]
#![allow(unsafe_code, reason = "an allocator that counts")]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/committee/mod.rs"]
mod committee;

use core::alloc::{GlobalAlloc, Layout};
use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::alloc::System;
use std::sync::Arc;

use committee::*;
use mladsa_aggregate::open_commitments::OneParty;
use mladsa_aggregate::test_util::Matrix;
use mladsa_aggregate::*;
use mldsa_core::Randomness::Deterministic;

const SIZES: [usize; 6] = [1, 4, 8, 16, 64, 128];

struct Counting;
static BYTES: AtomicU64 = AtomicU64::new(0);
static BLOCKS: AtomicU64 = AtomicU64::new(0);

// SAFETY: forwards every call to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as u64, Relaxed);
        BLOCKS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract of the system allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// CPU time of this thread in microseconds.
#[cfg(unix)]
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Time in microseconds: std has no clock of CPU time.
#[cfg(not(unix))]
fn cpu() -> f64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    start.elapsed().as_secs_f64() * 1e6
}

/// Mean milliseconds, bytes and allocations of `calls` calls, of which the first is not counted.
fn measure(calls: u64, mut call: impl FnMut(u64)) -> (f64, u64, u64) {
    call(0);
    let before = (BYTES.load(Relaxed), BLOCKS.load(Relaxed), cpu());
    (1..=calls).for_each(&mut call);
    let time = (cpu() - before.2) / calls as f64 / 1e3;
    let bytes = (BYTES.load(Relaxed) - before.0) / calls;
    (time, bytes, (BLOCKS.load(Relaxed) - before.1) / calls)
}

fn line(name: &str, (time, bytes, blocks): (f64, u64, u64)) {
    println!("| {name} | {time:.4} | {bytes} | {blocks} |");
}

fn main() {
    println!("| one call | ms | bytes allocated | allocations |\n|---|---|---|---|");
    line(
        "ExpandA",
        measure(200, |_| drop(black_box(Matrix::expand(&[7; 32])))),
    );
    let keys = |n| Epoch::new(b"", 1, 1, n).unwrap();
    let (one, nine) = (keys(1), keys(9));
    let create = |epoch: &Arc<Epoch>| measure(200, |n| drop(member(n as usize, epoch)));
    let (one_key, nine_keys) = (create(&one), create(&nine));
    let key = (
        (nine_keys.0 - one_key.0) / 8.0,
        (nine_keys.1 - one_key.1) / 8,
        (nine_keys.2 - one_key.2) / 8,
    );
    line("ContentKeyDerive with its leaf, of eight", key);
    let register = |n: u64| {
        black_box(member(n as usize, &one).register(Deterministic).unwrap());
    };
    let enrolled = measure(200, register);
    line(
        "MemberKeyGen with proof of possession, and one content key",
        enrolled,
    );
    let mut group = Group::new(1);
    let (aggregate, round) = group.sign(&[0], 0, b"payload");
    let verify = |_| {
        let verdict = round
            .aggregate_key()
            .verify_mu(round.mu(), aggregate.signature().as_ref());
        verdict.unwrap();
    };
    line("Verify", measure(200, verify));

    println!(
        "\n| AggregateF, n | ms, with rejected attempts | attempts, mean | bytes allocated | allocations |"
    );
    println!("|---|---|---|---|---|");
    for n in SIZES {
        let party = OneParty::new(&[0x4d; 32], (0..n).map(seed).collect()).unwrap();
        let mut attempts = 0;
        let calls = 64;
        let (time, bytes, blocks) = measure(calls, |call| {
            let signed = party
                .sign(&call.to_be_bytes(), b"BENCH", b"payload")
                .unwrap();
            attempts += u64::from(call > 0) * (u64::from(signed.attempt) + 1);
        });
        let mean = attempts as f64 / calls as f64;
        println!("| {n} | {time:.3} | {mean:.2} | {bytes} | {blocks} |");
    }

    println!(
        "\n| n | all members, interactive, ms | final check, ms | openings cached, ms | openings in the certificate, ms | list, ms | aggregate, bytes | certificate, bytes | list, bytes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for n in SIZES {
        verification(n);
    }
}

fn verification(n: usize) {
    let epoch = Epoch::new(DOMAIN, EPOCH, 64, 4).unwrap();
    let mut group = Group::with(&epoch, &vec![1; n], 1);
    let all = group.all();
    // Includes the openings, rejected attempts, and the verification of one set of messages.
    let interactive = measure(8, |call| drop(group.sign(&all, call as u32, b"payload")));
    let (aggregate, round) = group.sign(&all, 60, b"payload");
    let task = SigningTask::decision(60, b"payload");
    let openings: Vec<_> = all
        .iter()
        .map(|n| group.open(*n, round.attempt_id()))
        .collect();
    let keys: Vec<_> = openings
        .iter()
        .map(|o| group.committee.authenticate(o).unwrap())
        .collect();
    let certificate = AggregateCertificate::new(aggregate.clone(), &openings);
    let view = group.committee.view();
    let calls = 40;
    let check = measure(calls, |_| {
        let key = round.aggregate_key();
        key.verify_mu(round.mu(), aggregate.signature().as_ref())
            .unwrap();
    });
    let cached = measure(calls, |_| {
        drop(aggregate.verify(view, &keys, &task).unwrap())
    });
    let whole = measure(calls, |_| drop(certificate.verify(view, &task).unwrap()));
    let signer = mldsa_core::SigningKey::<mldsa_core::MlDsa87>::from_seed(&[1; 32]);
    let context = mldsa_core::Context::new(b"").unwrap();
    let one = signer
        .sign_with_context(b"payload", context, Deterministic)
        .unwrap();
    let key = signer.verifying_key();
    let list = measure(calls, |_| {
        for _ in 0..n {
            key.verify_with_context(b"payload", context, one.as_ref())
                .unwrap();
        }
    });
    println!(
        "| {n} | {:.2} | {:.3} | {:.3} | {:.3} | {:.3} | {} | {} | {} |",
        interactive.0,
        check.0,
        cached.0,
        whole.0,
        list.0,
        aggregate.to_bytes().len(),
        certificate.to_bytes().len(),
        4627 * n,
    );
}
