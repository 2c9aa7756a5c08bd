//! A change of validators, and the certificate of an earlier epoch:
//! `cargo run --release -p batch-verify --example epoch_change`.

use batch_verify::{Committee, QuorumRule};
use mldsa_core::{Context, MlDsa65, SigningKey};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let context = Context::new(b"mychain/v1/vote")?;
    let keys: Vec<_> = (0..5)
        .map(|n| SigningKey::<MlDsa65>::from_seed(&[n; 32]))
        .collect();
    let members = keys[..4].iter().map(|key| (key.verifying_key(), 10));
    let first = Committee::<MlDsa65>::builder(context)
        .epoch(1)
        .build(members)?;

    // Member 0 leaves and another one joins. Keys that stay are not expanded again.
    let changes = [(keys[0].verifying_key(), 0), (keys[4].verifying_key(), 20)];
    let second = first.successor(2, changes)?;
    println!(
        "epoch 2: {} members, weight {}",
        second.len(),
        second.total_weight()
    );

    // Three of four votes of epoch 1 are a certificate there, and nothing in epoch 2.
    let signatures = keys[..3]
        .iter()
        .map(|key| key.sign_hedged(b"block 99", context));
    let signatures = signatures.collect::<Result<Vec<_>, _>>()?;
    let votes: Vec<_> = first
        .members()
        .zip(signatures.iter().map(AsRef::as_ref))
        .collect();
    let certificate = |committee: &Committee<_>| {
        let verifier = committee.verifier();
        verifier.verify_quorum(b"block 99", &votes, QuorumRule::Certificate)
    };
    println!("epoch 1: weight {}", certificate(&first)?.weight());
    match certificate(&second) {
        Ok(_) => Err("a certificate of another epoch was accepted".into()),
        Err(reason) => {
            println!("epoch 2: {reason}");
            Ok(())
        }
    }
}
