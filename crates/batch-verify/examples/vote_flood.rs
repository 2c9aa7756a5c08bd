//! Votes of an honest peer and of the node itself through a `VerificationService`, alone and
//! together with peers that forge as fast as they can: loss and latency of the honest votes,
//! peak memory, and the counters of the service.
//!
//! `cargo run --release -p batch-verify --example vote_flood -- [--votes N] [--peers N,N..]`
//!
//! N (100,000) forged votes by 1, 10 and 1,000 peers, one after the other. One honest vote and one of
//! the node at a time, each 500 us after the answers to the last.

use core::error::Error;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use batch_verify::{Committee, Source, VerificationService, Vote};
use mldsa_core::{Context, MlDsa65, ParameterSet, Randomness, SigningKey};

const NETWORK: &[u8] = b"example/vote-flood/v1";
const VALIDATORS: usize = 100;
const HEIGHTS: u64 = 40;
const INTERVAL: Duration = Duration::from_micros(500);
/// Honest votes without a flood.
const QUIET: usize = 1000;
/// Bytes for each priority, and for the node itself.
const QUEUE_BYTES: usize = 16 << 20;
const CACHE_BYTES: usize = 1 << 20;

type Votes = Vec<(batch_verify::MemberId, [u8; 8], Vec<u8>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut forgeries, mut peers) = (100_000, vec![1, 10, 1000]);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or("an option without a value")?;
        match &*word {
            "--votes" => forgeries = value.parse()?,
            "--peers" => peers = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            _ => return Err(format!("unknown option {word}").into()),
        }
    }
    let context = Context::new(NETWORK)?;
    let keys: Vec<SigningKey<MlDsa65>> = (0..VALIDATORS as u8)
        .map(|n| SigningKey::from_seed(&[n; 32]))
        .collect();
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<MlDsa65>::builder(context).build(members)?;
    let mut votes = Votes::new();
    for height in 0..HEIGHTS {
        for (member, key) in committee.members().zip(&keys) {
            let message = height.to_le_bytes();
            let signature = key.sign_with_context(&message, context, Randomness::Deterministic)?;
            votes.push((member, message, signature.as_ref().to_vec()));
        }
    }
    println!("{VALIDATORS} validators, ML-DSA-65, queue of {QUEUE_BYTES} bytes\n");
    println!(
        "| forging peers | forged | honest votes | lost | p50 us | p99 us | most queued bytes | peak MiB more |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    run(&committee, &votes, 0, 0)?;
    for peers in peers {
        run(&committee, &votes, forgeries, peers)?;
    }
    Ok(())
}

fn run(
    committee: &Committee<MlDsa65>,
    votes: &Votes,
    forgeries: u64,
    peers: u64,
) -> Result<(), Box<dyn Error>> {
    let service = VerificationService::builder(committee.clone());
    let service = service.queue_bytes(QUEUE_BYTES).cache_bytes(CACHE_BYTES);
    let service = service.build()?;
    let before = peak_kib();
    let ended = AtomicBool::new(peers == 0);
    let (mut times, mut lost, mut queued) = (Vec::new(), 0, 0);
    thread::scope(|scope| {
        scope.spawn(|| flood(&service, votes, forgeries, peers, &ended));
        let mut n = 0;
        while !ended.load(Ordering::Relaxed) || n < QUIET {
            let (member, message, signature) = &votes[n % votes.len()];
            let vote = Vote::new(*member, message, signature);
            for source in [Source::peer(u64::MAX), Source::own()] {
                let start = Instant::now();
                let answer = service.submit(source, &vote);
                match answer.and_then(|answer| answer.wait()) {
                    Ok(()) => times.push(start.elapsed()),
                    Err(_) => lost += 1,
                }
            }
            queued = queued.max(service.stats().queued_bytes);
            n += 1;
            thread::sleep(INTERVAL);
        }
    });
    service.drain().wait();
    times.sort_unstable();
    let at = |share: f64| 1e6 * times[(share * (times.len() - 1) as f64) as usize].as_secs_f64();
    println!(
        "| {peers} | {forgeries} | {} | {lost} | {:.0} | {:.0} | {queued} | {:.1} |",
        times.len() + lost,
        at(0.5),
        at(0.99),
        (peak_kib() - before) as f64 / 1024.0
    );
    print!("{}", comment(&service.stats().to_string()));
    Ok(())
}

/// Submits forged votes that are all different.
fn flood(
    service: &VerificationService<MlDsa65>,
    votes: &Votes,
    forgeries: u64,
    peers: u64,
    ended: &AtomicBool,
) {
    let mut forged = [0; MlDsa65::SIG_LEN];
    for n in 0..if peers == 0 { 0 } else { forgeries } {
        let (member, message, signature) = &votes[n as usize % votes.len()];
        forged.copy_from_slice(signature);
        forged[..8].copy_from_slice(&n.to_le_bytes());
        let vote = Vote::new(*member, message, &forged);
        if let Ok(answer) = service.submit(Source::peer(n % peers), &vote) {
            answer.detach();
        }
    }
    ended.store(true, Ordering::Relaxed);
}

/// Counters as comments of the table, without types.
fn comment(stats: &str) -> String {
    let lines = stats.lines().filter(|line| !line.starts_with('#'));
    lines.fold(String::new(), |all, line| all + "<!-- " + line + " -->\n")
}

/// Most memory that the process had so far; 0 where the system does not say.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}
