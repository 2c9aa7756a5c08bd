//! One round of a BFT engine: every validator has signed a vertex, some of them
//! wrongly. Who, and how long does it take to know?
//!
//! `cargo run --release --example bft_round [VALIDATORS]`

use core::error::Error;
use core::time::Duration;
use std::time::Instant;

use batch_verify::{
    BatchVerifier, Duplicates, Item, KeySet, Message, Mode, Outcome, Policy, Threshold, Vote,
    Weights,
};
use mldsa_core::{Backend, Context, MlDsa87, Randomness, SigningKey, VerifyingKey};

const NETWORK: &[u8] = b"mychain/v1/vertex";
/// Rounds that are timed.
const ROUNDS: usize = 200;

struct Vertex {
    author: u32,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let validators: u32 = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 100,
    };
    if !(8..=10_000).contains(&validators) {
        return Err("between 8 and 10000 validators".into());
    }
    let context = Context::new(NETWORK)?;
    let signers: Vec<SigningKey<MlDsa87>> = (0..validators)
        .map(|n| {
            let mut seed = [0x42; 32];
            seed[..4].copy_from_slice(&n.to_le_bytes());
            SigningKey::from_seed(&seed)
        })
        .collect();

    // Once an epoch: expand the keys of the validators.
    let start = Instant::now();
    let keys = KeySet::<MlDsa87>::from_public_keys(signers.iter().map(|key| key.verifying_key()))?;
    let expansion = start.elapsed();
    let engine = BatchVerifier::builder()
        .keys(keys.clone())
        .context(NETWORK)
        .build()?;

    // Every round: one vertex from everyone.
    let mut vertices = Vec::new();
    for (author, signer) in (0..).zip(&signers) {
        let payload = format!("round 7, vertex of {author}").into_bytes();
        let signature = signer.sign(&payload, context, Randomness::Deterministic)?;
        let signature = signature.as_ref().to_vec();
        vertices.push(Vertex {
            author,
            payload,
            signature,
        });
    }
    let honest = time(&engine, &vertices, true)?;

    // Three validators misbehave, each in another way.
    vertices[3].payload.push(b'!');
    vertices[5].signature.truncate(4000);
    vertices[6].signature[4626] = 0xff;
    let report = engine.verify_by(&vertices, |_, vertex| show(vertex))?;
    let culprits: Vec<String> = report
        .invalid()
        .map(|(index, reason)| format!("{} {reason}", vertices[index].author))
        .collect();
    assert_eq!(culprits.len(), 3, "three vertices are wrong");
    let attacked = time(&engine, &vertices, false)?;

    // What a node without this crate does.
    let single: Vec<&VerifyingKey<MlDsa87>> =
        signers.iter().map(SigningKey::verifying_key).collect();
    let mut one_by_one = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let mut verdicts = Vec::with_capacity(vertices.len());
        for vertex in &vertices {
            let key = single[vertex.author as usize];
            let verdict = key.verify(&vertex.payload, context, &vertex.signature);
            verdicts.push(verdict.is_ok());
        }
        one_by_one = one_by_one.min(start.elapsed());
        for (alone, together) in verdicts.iter().zip(report.outcomes()) {
            assert_eq!(*alone, *together == Outcome::Valid, "verdicts differ");
        }
    }

    // Everyone votes for a block; a third of the votes is forged or missing.
    let block = Message::Bytes(b"block 7");
    let votes: Vec<_> = signers
        .iter()
        .map(|signer| signer.sign(b"block 7", context, Randomness::Deterministic))
        .collect::<Result<_, _>>()?;
    let votes: Vec<Vote<'_>> = (0..)
        .zip(&votes)
        .map(|(n, vote): (u32, _)| Vote::new(n, vote.as_ref()))
        .collect();
    let weights = Weights::equal(keys.len());
    let threshold = Threshold::two_thirds(&weights);
    let quorum = engine.verify_quorum(
        block,
        &votes,
        &weights,
        threshold,
        Policy::Lenient,
        Duplicates::Once,
    )?;

    let threads = report.summary().threads;
    println!(
        "ML-DSA-87, backend {}, {threads} threads",
        Backend::detect().name()
    );
    println!("validators            {validators:>10}");
    println!(
        "expanded keys         {:>10.1} MiB in {:.1} ms",
        mib(keys.memory_bytes()),
        ms(expansion)
    );
    println!("vertices              {:>10}", vertices.len());
    println!("valid                 {:>10}", report.valid());
    println!(
        "culprits              {:>10}  {}",
        culprits.len(),
        culprits.join(", ")
    );
    println!(
        "quorum                {:>10}  of {} votes, {} needed, {} examined",
        quorum.weight,
        votes.len(),
        threshold.weight(),
        quorum.examined
    );
    println!("one by one            {:>10.3} ms", ms(one_by_one));
    println!(
        "batch, best           {:>10.3} ms, {:.1} times faster",
        ms(attacked[0]),
        one_by_one.as_secs_f64() / attacked[0].as_secs_f64()
    );
    for (name, times) in [("honest round", &honest), ("attacked round", &attacked)] {
        let at = |share: f64| ms(times[(share * (times.len() - 1) as f64) as usize]);
        println!(
            "{name:<22}{:>10.3} ms p50 {:>9.3} p99 {:>9.3} p99.9",
            at(0.5),
            at(0.99),
            at(0.999)
        );
    }
    // An engine that only wants to know whether all is well stops early.
    let quick = BatchVerifier::builder()
        .keys(keys)
        .context(NETWORK)
        .mode(Mode::AnyInvalid)
        .build()?;
    let quick = quick.verify_by(&vertices, |_, vertex| show(vertex))?;
    println!(
        "early exit            {:>10}  vertices not looked at",
        quick.skipped()
    );
    Ok(())
}

fn show(vertex: &Vertex) -> Item<'_> {
    Item::new(vertex.author, vertex.payload.as_slice(), &vertex.signature)
}

/// Sorted times of some rounds.
fn time(
    engine: &BatchVerifier<MlDsa87>,
    vertices: &[Vertex],
    valid: bool,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let report = engine.verify_by(vertices, |_, vertex| show(vertex))?;
        times.push(start.elapsed());
        assert_eq!(report.all_valid(), valid, "a wrong verdict");
    }
    times.sort_unstable();
    Ok(times)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
