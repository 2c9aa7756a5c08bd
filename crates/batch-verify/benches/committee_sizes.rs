//! Time of a vote in a round of a whole committee, by its size and by the storage of its keys, warm
//! and after other work has replaced the CPU's caches: ML-DSA-65, one thread, medians.
//!
//! `cargo bench -p batch-verify --bench committee_sizes`

use core::error::Error;
use core::hint::black_box;
use std::time::Instant;

use batch_verify::{Committee, CommitteeVerifier, KeyStorage, Threads, Vote};
use mldsa_core::{Backend, Context, MlDsa65, Randomness, SigningKey};

const SIZES: [usize; 3] = [21, 175, 1_000];
const ROUNDS: usize = 41;

fn main() -> Result<(), Box<dyn Error>> {
    let message = b"height 1000, round 0";
    let mut keys = Vec::new();
    let mut signatures = Vec::new();
    for n in 0..SIZES[2] as u16 {
        let key =
            SigningKey::<MlDsa65>::from_seed(&[n.to_le_bytes(); 16].concat().try_into().unwrap());
        signatures.push(key.sign_with_context(
            message,
            Context::EMPTY,
            Randomness::Deterministic,
        )?);
        keys.push(key.verifying_key().clone());
    }
    println!("ML-DSA-65, backend {}, us a vote", Backend::detect().name());
    println!("| members | storage | warm | after other work |\n|--:|---|--:|--:|");
    for size in SIZES {
        for storage in [KeyStorage::BySize, KeyStorage::Wide, KeyStorage::Packed] {
            let builder = Committee::<MlDsa65>::builder(b"").key_storage(storage);
            let members = keys[..size].iter().map(|key| (key, 1));
            let committee = builder.threads(Threads::Inline).build(members)?;
            let verifier = CommitteeVerifier::builder().threads(Threads::Inline);
            let verifier = verifier.build(committee.clone())?;
            let votes: Vec<_> = committee.members().zip(&signatures).collect();
            let votes: Vec<_> = votes
                .iter()
                .map(|(member, signature)| Vote::new(*member, message, signature.as_ref()))
                .collect();
            let mut other = vec![1u64; 8 << 20];
            let mut median = |is_cold: bool| {
                let mut times: Vec<_> = (0..ROUNDS)
                    .map(|_| {
                        if is_cold {
                            other
                                .iter_mut()
                                .for_each(|word| *word = word.wrapping_mul(5));
                            black_box(&other);
                        }
                        let start = Instant::now();
                        let votes = votes.iter().copied();
                        assert!(verifier.verify_batch(votes).all_valid());
                        start.elapsed()
                    })
                    .collect();
                times.sort_unstable();
                times[ROUNDS / 2].as_secs_f64() * 1e6 / size as f64
            };
            let (warm, cold) = (median(false), median(true));
            println!("| {size} | {storage:?} | {warm:.2} | {cold:.2} |");
        }
    }
    Ok(())
}
