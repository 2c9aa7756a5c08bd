//! An item that the memory has no room for is not copied for it.

#![allow(clippy::unwrap_used, reason = "a test")]

use batch_verify::{BatchVerifier, Intake, IntakeLimits, Item, KeySet, Outcome, Threads};
use mldsa_core::{Context, Hedge, MlDsa44, SigningKey};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

#[test]
fn what_is_not_remembered_is_not_copied() {
    let profiler = dhat::Profiler::builder().testing().build();
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
        .sign(&message, Context::EMPTY, Hedge::Deterministic)
        .unwrap();
    let vote = Item::new(0, &message[..], signature.as_ref());
    assert_eq!(intake.verify(vote), Outcome::Valid);
    let before = dhat::HeapStats::get().total_bytes;
    assert_eq!(intake.verify(vote), Outcome::Valid);
    let copied = dhat::HeapStats::get().total_bytes - before;
    assert_eq!(intake.stats().memory.items, 0);
    assert!(copied < 1000, "{copied} bytes");
    drop(profiler);
}
