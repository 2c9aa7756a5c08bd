//! Votes of honest validators through a `VerificationService`, alone and together with peers
//! that forge: loss and latency of the honest ones, and the counters of the service.
//!
//! `cargo run --release -p batch-verify --example vote_flood [FORGERIES] [PEERS]`
//!
//! A vote arrives every 200 us, with FORGERIES (10) forged ones by PEERS (10) peers.

use core::error::Error;
use core::time::Duration;
use std::thread;
use std::time::Instant;

use batch_verify::{Committee, OwnedVote, Priority, Source, VerificationService};
use mldsa_core::{Context, MlDsa65, Randomness, SigningKey};

const NETWORK: &[u8] = b"example/vote-flood/v1";
const VALIDATORS: usize = 100;
const ROUNDS: usize = 30;
const INTERVAL: Duration = Duration::from_micros(200);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize| words.get(at).map_or(Ok(10), |word| word.parse::<u64>());
    let (forgeries, peers) = (word(0)?, word(1)?.max(1));
    let context = Context::new(NETWORK)?;
    let keys: Vec<SigningKey<MlDsa65>> = (0..VALIDATORS as u8)
        .map(|n| SigningKey::from_seed(&[n; 32]))
        .collect();
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<MlDsa65>::builder(context)
        .epoch(1)
        .build(members)?;
    let mut votes = Vec::new();
    for round in 0..ROUNDS as u64 {
        for (member, key) in committee.members().zip(&keys) {
            let message = round.to_le_bytes();
            let signature = key.sign(&message, context, Randomness::Deterministic)?;
            votes.push(OwnedVote::new(member, message, signature.as_ref()));
        }
    }
    println!("{VALIDATORS} validators, {ROUNDS} rounds, ML-DSA-65");
    for forgeries in [0, forgeries] {
        let service = VerificationService::builder(committee.clone()).build()?;
        let mut flood = 0_u64;
        let mut waiting = Vec::new();
        let (mut times, mut lost) = (Vec::new(), 0);
        let start = Instant::now();
        for (n, vote) in votes.iter().enumerate() {
            let due = INTERVAL * n as u32;
            thread::sleep(due.saturating_sub(start.elapsed()));
            for _ in 0..forgeries {
                flood += 1;
                let mut forged = vote.clone();
                forged.signature[..8].copy_from_slice(&flood.to_le_bytes());
                let source = Source::peer(1000 + flood % peers, Priority::CurrentRound);
                if let Ok(answer) = service.submit(source, forged) {
                    answer.detach();
                }
            }
            let source = Source::peer(n as u64 % 20, Priority::CurrentRound);
            let since = Instant::now();
            let answer = service.submit(source, vote.clone());
            waiting.push(thread::spawn(move || {
                answer?.wait().map(|()| since.elapsed())
            }));
        }
        for answer in waiting {
            match answer.join().map_err(|_| "a thread panicked")? {
                Ok(time) => times.push(time),
                Err(_) => lost += 1,
            }
        }
        times.sort_unstable();
        let at = |share: f64| times[(share * (times.len() - 1) as f64) as usize].as_secs_f64();
        println!("\nforgeries for each honest vote: {forgeries}");
        println!("  honest votes valid {:>8}, lost {lost}", times.len());
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
            println!("  honest, {name:<6}{:>14.1} us", 1e6 * at(share));
        }
        print!("{}", service.stats());
    }
    Ok(())
}
