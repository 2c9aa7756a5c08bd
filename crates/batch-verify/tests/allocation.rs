//! `verify_into` allocates nothing after its first batch, inline and from inside the pool;
//! an intake copies nothing that it has no room for; expanded keys and what is remembered
//! of others take no more than they may.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::alloc::System;
use std::sync::{Mutex, PoisonError};

use batch_verify::{
    BatchVerifier, Duplicates, Intake, IntakeLimits, Item, KeyPolicy, KeySet, Mode, Outcome,
    Threads,
};
use mldsa_core::{Context, MlDsa44, Randomness, SigningKey};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// All threads of a process are counted.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn no_allocation_after_the_first_batch() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let context = Context::new(b"quiet").unwrap();
    let signers: Vec<_> = (0..10)
        .map(|n| SigningKey::<MlDsa44>::from_seed(&[n; 32]))
        .collect();
    let mut signatures: Vec<Vec<u8>> = (0..300)
        .map(|n| {
            let key = &signers[n % 10];
            let signature = key.sign(&n.to_le_bytes(), context, Randomness::Deterministic);
            signature.unwrap().as_ref().to_vec()
        })
        .collect();
    // Refusals, early exits and repeats must be quiet too.
    signatures[250][0] ^= 1;
    *signatures[260].last_mut().unwrap() = 0xff;
    signatures[270].pop();
    let messages: Vec<[u8; 8]> = (0..300usize).map(usize::to_le_bytes).collect();
    let items: Vec<Item<'_>> = (0..300)
        .map(|n| if n == 299 { 0 } else { n })
        .map(|n| Item::new((n % 10) as u32, messages[n].as_slice(), &signatures[n]))
        .collect();
    let pool = std::sync::Arc::new(
        rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap(),
    );
    // Threads allocate when they begin, which on a busy machine is later.
    pool.broadcast(|_| ());
    let mut outcomes = vec![Outcome::Skipped; items.len()];
    let mut batches = 0;
    for policy in [KeyPolicy::Expanded, KeyPolicy::Compact] {
        let keys = KeySet::builder()
            .policy(policy)
            .build(
                signers
                    .iter()
                    .map(|key| key.verifying_key().as_bytes().as_slice()),
            )
            .unwrap();
        for mode in [Mode::Full, Mode::FirstInvalid, Mode::AnyInvalid] {
            for duplicates in [Duplicates::Once, Duplicates::Verify, Duplicates::Reject] {
                for threads in [Threads::Inline, Threads::Pool(pool.clone())] {
                    let inline = matches!(threads, Threads::Inline);
                    let verifier = BatchVerifier::<MlDsa44>::builder()
                        .keys(keys.clone())
                        .context(context)
                        .mode(mode)
                        .duplicates(duplicates)
                        .threads(threads)
                        .build()
                        .unwrap();
                    let mut round = || {
                        let summary = verifier.verify_into(&items, &mut outcomes).unwrap();
                        assert!(summary.invalid() > 0);
                    };
                    let mut measure = || {
                        // Workers find their memory within a few batches.
                        (0..3).for_each(|_| round());
                        let region = Region::new(ALLOCATOR);
                        (0..5).for_each(|_| round());
                        let change = region.change();
                        change.allocations + change.reallocations
                    };
                    let allocated = if inline {
                        measure()
                    } else {
                        pool.install(measure)
                    };
                    assert_eq!(
                        allocated, 0,
                        "{policy:?} {mode:?} {duplicates:?} inline {inline}"
                    );
                    batches += 5;
                }
            }
        }
    }
    assert_eq!(batches, 2 * 3 * 3 * 2 * 5);
    assert!(ALLOCATOR.stats().allocations > 0, "what came before counts");
}

#[test]
fn what_is_not_remembered_is_not_copied() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
    let keys = KeySet::from_public_keys([key.verifying_key().as_bytes().as_slice()]).unwrap();
    let verifier = BatchVerifier::<MlDsa44>::builder()
        .keys(keys)
        .threads(Threads::Inline);
    let limits = IntakeLimits {
        memory_bytes: 4096,
        ..IntakeLimits::default()
    };
    let intake = Intake::new(verifier.build().unwrap(), limits);
    let message = vec![5; 200_000];
    let signature = key
        .sign(&message, Context::EMPTY, Randomness::Deterministic)
        .unwrap();
    let vote = Item::new(0, &message[..], signature.as_ref());
    assert_eq!(intake.verify(vote), Outcome::Valid);
    let region = Region::new(ALLOCATOR);
    assert_eq!(intake.verify(vote), Outcome::Valid);
    let copied = region.change().bytes_allocated;
    assert_eq!(intake.stats().memory.items, 0);
    assert!(copied < 1000, "{copied} bytes");
}

#[test]
fn a_cache_of_keys_keeps_its_bound() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let spent: Vec<_> = (0..400_u32)
        .map(|n| {
            let mut seed = [0; 32];
            seed[..4].copy_from_slice(&n.to_le_bytes());
            let key = SigningKey::<MlDsa44>::from_seed(&seed);
            let signature = key.sign(b"spent", Context::EMPTY, Randomness::Deterministic);
            (*key.verifying_key().as_bytes(), signature.unwrap())
        })
        .collect();
    for max_bytes in [25_000, 160_000, 360_000, 400_000, 600_000] {
        let verifier = BatchVerifier::<MlDsa44>::builder()
            .threads(Threads::Inline)
            .key_cache_bytes(max_bytes)
            .build()
            .unwrap();
        let region = Region::new(ALLOCATOR);
        // With room for them, two make a place, and eight without.
        for times in [2, 1, 1, 8] {
            for (key, signature) in &spent {
                let item = Item::new(key.as_slice(), b"spent".as_slice(), signature.as_ref());
                for _ in 0..times {
                    assert_eq!(verifier.verify_one(item), Outcome::Valid);
                }
            }
        }
        let change = region.change();
        let taken = change.bytes_allocated - change.bytes_deallocated;
        let said = verifier.verify(&[]).summary().cache_bytes;
        assert!(taken <= max_bytes, "{taken} of {max_bytes} bytes");
        assert!(said <= max_bytes && said > max_bytes / 2);
    }
}
