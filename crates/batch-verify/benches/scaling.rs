//! How much faster two threads verify batches of 1,024 votes of 64 keys than one, ML-DSA-65: the
//! median of pairs that run one after the other.
//!
//! `cargo bench -p batch-verify --bench scaling`

use core::error::Error;
use std::time::Instant;

use batch_verify::{Committee, CommitteeVerifier, Threads, Vote};
use mldsa_core::{Context, MlDsa65, Randomness, SigningKey};

const KEYS: usize = 64;
const VOTES: usize = 1024;
const PAIRS: usize = 300;

fn main() -> Result<(), Box<dyn Error>> {
    let keys: Vec<_> = (0..KEYS as u8)
        .map(|n| SigningKey::<MlDsa65>::from_seed(&[n; 32]))
        .collect();
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<MlDsa65>::builder(b"").build(members)?;
    let ids: Vec<_> = committee.members().collect();
    let mut votes = Vec::new();
    for n in 0..VOTES {
        let (key, message) = (n * KEYS / VOTES, n.to_le_bytes());
        let randomness = Randomness::Deterministic;
        let signature = keys[key].sign_with_context(&message, Context::EMPTY, randomness)?;
        votes.push((ids[key], message, signature));
    }
    let verifier = |threads| {
        CommitteeVerifier::builder()
            .threads(threads)
            .build(committee.clone())
    };
    let (one, two) = (verifier(Threads::Inline)?, verifier(Threads::Dedicated(2))?);
    let time = |verifier: &CommitteeVerifier<MlDsa65>| {
        let votes = votes
            .iter()
            .map(|(member, message, signature)| Vote::new(*member, message, signature.as_ref()));
        let start = Instant::now();
        assert!(verifier.verify_batch(votes).all_valid());
        start.elapsed().as_secs_f64()
    };
    let mut ratios: Vec<f64> = (0..PAIRS).map(|_| time(&one) / time(&two)).collect();
    ratios.sort_by(f64::total_cmp);
    println!("two threads over one: {:.3}", ratios[PAIRS / 2]);
    Ok(())
}
