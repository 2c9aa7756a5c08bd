//! One round of a BFT engine: every validator has signed a vertex, some of them wrongly. The
//! report names them; a quorum of votes makes a certificate; the next epoch follows.
//!
//! `cargo run --release --example bft_round [VALIDATORS]`

use core::error::Error;
use core::time::Duration;
use std::time::Instant;

use batch_verify::{Committee, CommitteeVerifier, MemberId, Mode, QuorumRule, Vote};
use mldsa_core::{Backend, Context, MlDsa87, Randomness, SigningKey};

const NETWORK: &[u8] = b"mychain/v1/vertex";
/// Rounds that are timed.
const ROUNDS: usize = 200;

struct Vertex {
    author: MemberId,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl Vertex {
    fn vote(&self) -> Vote<'_> {
        Vote::new(self.author, &self.payload, &self.signature)
    }
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

    // Once an epoch: the keys of the validators are expanded.
    let start = Instant::now();
    let members = signers.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<MlDsa87>::builder(NETWORK)
        .epoch(1)
        .build(members)?;
    let expansion = start.elapsed();
    let verifier = committee.verifier();

    // Every round: one vertex by each.
    let mut vertices = Vec::new();
    for (author, signer) in committee.members().zip(&signers) {
        let payload = format!("round 7, vertex of {}", author.index()).into_bytes();
        let signature = signer.sign_with_context(&payload, context, Randomness::Deterministic)?;
        let signature = signature.as_ref().to_vec();
        vertices.push(Vertex {
            author,
            payload,
            signature,
        });
    }
    let honest = time(&verifier, &vertices, true);

    // Three validators misbehave, each in another way.
    vertices[3].payload.push(b'!');
    vertices[5].signature.truncate(4000);
    vertices[6].signature[4626] = 0xff;
    let report = verifier.verify_batch(vertices.iter().map(Vertex::vote));
    let rejected: Vec<String> = report
        .rejected()
        .map(|(index, reason)| format!("{} {reason}", vertices[index].author.index()))
        .collect();
    assert_eq!(rejected.len(), 3, "three vertices are wrong");
    let attacked = time(&verifier, &vertices, false);

    // Verification one by one, for comparison.
    let mut one_by_one = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let single = |(vertex, key): (&Vertex, &SigningKey<_>)| {
            key.verifying_key()
                .verify_with_context(&vertex.payload, context, &vertex.signature)
                .is_ok()
        };
        let verdicts: Vec<bool> = vertices.iter().zip(&signers).map(single).collect();
        one_by_one = one_by_one.min(start.elapsed());
        for (alone, together) in verdicts.iter().zip(report.verdicts()) {
            assert_eq!(*alone, together.is_ok(), "verdicts differ");
        }
    }

    // All vote for a block; the votes that carry the quorum are its certificate.
    let votes: Vec<_> = signers
        .iter()
        .map(|signer| signer.sign_with_context(b"block 7", context, Randomness::Deterministic))
        .collect::<Result<_, _>>()?;
    let votes: Vec<(MemberId, &[u8])> = committee
        .members()
        .zip(&votes)
        .map(|(member, vote)| (member, vote.as_ref()))
        .collect();
    let quorum = verifier.verify_quorum(b"block 7", &votes, QuorumRule::AnyValid)?;
    let certificate: Vec<_> = quorum
        .carried_by()
        .iter()
        .map(|&vote| votes[vote])
        .collect();
    let checked = verifier.verify_quorum(b"block 7", &certificate, QuorumRule::Certificate)?;
    assert_eq!(checked.weight(), quorum.weight());

    let threads = report.threads();
    println!(
        "ML-DSA-87, backend {}, {threads} threads",
        Backend::detect().name()
    );
    println!("validators            {validators:>10}");
    println!(
        "prepared keys         {:>10.1} MiB in {:.1} ms",
        committee.memory_bytes() as f64 / f64::from(1 << 20),
        ms(expansion)
    );
    println!("valid vertices        {:>10}", report.valid_items());
    println!(
        "rejected              {:>10}  {}",
        rejected.len(),
        rejected.join(", ")
    );
    println!(
        "quorum                {:>10}  of {} votes, {} needed, {} examined",
        quorum.weight(),
        votes.len(),
        committee.required_weight(),
        quorum.examined()
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
    // Early exit, for engines that need one answer for the whole batch.
    let quick = CommitteeVerifier::builder()
        .mode(Mode::AnyInvalid)
        .build(committee)?;
    let quick = quick.verify_batch(vertices.iter().map(Vertex::vote));
    println!(
        "early exit            {:>10}  vertices skipped",
        quick.skipped()
    );
    Ok(())
}

/// Sorted times of some rounds.
fn time(verifier: &CommitteeVerifier<MlDsa87>, vertices: &[Vertex], valid: bool) -> Vec<Duration> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let report = verifier.verify_batch(vertices.iter().map(Vertex::vote));
        times.push(start.elapsed());
        assert_eq!(report.all_valid(), valid, "a wrong verdict");
    }
    times.sort_unstable();
    times
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
