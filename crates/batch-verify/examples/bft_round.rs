//! One round of a BFT engine: every validator has signed a vertex, some of them wrongly. The
//! report names them; a quorum of votes makes a certificate.
//!
//! `cargo run --release --example bft_round [VALIDATORS]`

use core::error::Error;
use std::time::Instant;

use batch_verify::{Certificate, Committee, CommitteeVerifier, MemberId, Mode, QuorumRule, Vote};
use mldsa_core::{Backend, Context, MlDsa87, Randomness, SigningKey};

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
    let validators: u32 = std::env::args()
        .nth(1)
        .map_or(Ok(100), |count| count.parse())?;
    if !(8..=10_000).contains(&validators) {
        return Err("between 8 and 10000 validators".into());
    }
    let context = Context::new(b"mychain/v1/vertex")?;
    let signers: Vec<SigningKey<MlDsa87>> = (0..validators)
        .map(|n| {
            let mut seed = [0x42; 32];
            seed[..4].copy_from_slice(&n.to_le_bytes());
            SigningKey::from_seed(&seed)
        })
        .collect();
    let sign = |signer: &SigningKey<_>, message: &[u8]| {
        signer.sign_with_context(message, context, Randomness::Deterministic)
    };

    // Once an epoch: the keys of the validators are expanded.
    let start = Instant::now();
    let members = signers.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<MlDsa87>::builder(context)
        .epoch(1)
        .build(members)?;
    println!("ML-DSA-87, backend {}", Backend::detect().name());
    println!(
        "{validators} validators, keys expanded in {:?}",
        start.elapsed()
    );
    let verifier = committee.verifier();

    // Every round: one vertex by each.
    let mut vertices = Vec::new();
    for (author, signer) in committee.members().zip(&signers) {
        let payload = format!("round 7, vertex of {}", author.index()).into_bytes();
        let signature = sign(signer, &payload)?.as_ref().to_vec();
        vertices.push(Vertex {
            author,
            payload,
            signature,
        });
    }
    verifier
        .verify_batch(vertices.iter().map(Vertex::vote))
        .require_all()?;

    // Three validators misbehave, each in another way.
    vertices[3].payload.push(b'!');
    vertices[5].signature.truncate(4000);
    vertices[6].signature[4626] = 0xff;
    let report = verifier.verify_batch(vertices.iter().map(Vertex::vote));
    println!(
        "{} valid vertices in {:?}",
        report.valid_items(),
        report.elapsed()
    );
    for (index, reason) in report.rejected() {
        println!("validator {}: {reason}", vertices[index].author.index());
    }
    assert!(
        report.rejected().map(|(index, _)| index).eq([3, 5, 6]),
        "three vertices are wrong"
    );

    // One answer for the whole batch.
    let quick = CommitteeVerifier::builder()
        .mode(Mode::AnyInvalid)
        .build(committee.clone())?;
    let quick = quick.verify_batch(vertices.iter().map(Vertex::vote));
    println!("early exit: {} vertices skipped", quick.skipped());

    // All vote for a block; the votes that carry the quorum are its certificate.
    let votes = signers.iter().map(|signer| sign(signer, b"block 7"));
    let votes = votes.collect::<Result<Vec<_>, _>>()?;
    let votes: Vec<(MemberId, &[u8])> = committee
        .members()
        .zip(votes.iter().map(AsRef::as_ref))
        .collect();
    let quorum = verifier.verify_quorum(b"block 7", &votes, QuorumRule::AnyValid)?;
    let carrying = quorum.carried_by().iter().map(|&vote| votes[vote]);
    let certificate = Certificate::new(&committee, carrying)?;
    let checked = certificate.verify(&verifier, b"block 7")?;
    assert_eq!(checked.weight(), quorum.weight());
    println!(
        "a certificate of weight {}, {} needed",
        checked.weight(),
        committee.required_weight()
    );
    Ok(())
}
