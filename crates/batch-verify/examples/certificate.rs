//! Votes are counted as they arrive, kept as a certificate, and verified by another node.
//! `cargo run --example certificate`

use batch_verify::{Certificate, Committee, Context, MemberId, MlDsa44, QuorumRule, SigningKey};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let keys = [1, 2, 3, 4].map(|seed| SigningKey::<MlDsa44>::from_seed(&[seed; 32]));
    let context = Context::new(b"mychain/v1/vote")?;
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<MlDsa44>::builder(context)
        .epoch(7)
        .build(members)?;
    let verifier = committee.verifier();

    // A forged vote in a member's name excludes neither that member nor the quorum.
    let mut votes: Vec<(MemberId, Vec<u8>)> = Vec::new();
    for (member, key) in committee.members().zip(&keys) {
        let signature = key.sign_hedged(b"block 9", context)?;
        votes.push((member, signature.as_ref().to_vec()));
    }
    votes.insert(0, (votes[1].0, vec![0; 2420]));
    let borrowed: Vec<(MemberId, &[u8])> = votes.iter().map(|(m, s)| (*m, &**s)).collect();
    let quorum = verifier.verify_quorum(b"block 9", &borrowed, QuorumRule::AnyValid)?;
    let carried = quorum.carried_by().iter().map(|&vote| borrowed[vote]);
    let bytes = Certificate::new(&committee, carried)?.to_bytes();
    println!("a certificate of {} bytes", bytes.len());

    // Another node reads no more than the largest certificate of its committee.
    assert!(bytes.len() <= Certificate::<MlDsa44>::encoded_len(committee.len()));
    let received = Certificate::<MlDsa44>::from_bytes(&bytes)?;
    let weight = received.verify(&verifier, b"block 9")?.weight();
    assert!(weight >= committee.required_weight());
    println!(
        "epoch {}: weight {weight} of {}",
        received.epoch(),
        committee.total_weight()
    );
    Ok(())
}
