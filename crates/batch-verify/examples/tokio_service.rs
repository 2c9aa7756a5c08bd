//! Votes from the network in a tokio program, until a quorum is reached:
//! `cargo run --release -p batch-verify --example tokio_service`.

use batch_verify::{Committee, Source, VerificationService, Vote};
use mldsa_core::{Context, MlDsa65, SigningKey};
use tokio::task::JoinSet;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let context = Context::new(b"mychain/v1/vote")?;
    let keys: Vec<_> = (0..10)
        .map(|n| SigningKey::<MlDsa65>::from_seed(&[n; 32]))
        .collect();
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<MlDsa65>::builder(context)
        .epoch(7)
        .build(members)?;
    let service = VerificationService::builder(committee.clone()).build()?;

    // Peer n forwards the vote of member n; the vote of member 3 is forged.
    let mut verdicts = JoinSet::new();
    for (n, key) in keys.iter().enumerate() {
        let block: &[u8] = if n == 3 { b"block 9" } else { b"block 8" };
        let signature = key.sign_hedged(block, context)?;
        let member = committee.member(n as u32).ok_or("no such member")?;
        let vote = Vote::new(member, b"block 8", signature.as_ref());
        let verdict = service.submit(Source::peer(n as u64), &vote)?;
        verdicts.spawn(async move { (member, verdict.await) });
    }

    let needed = committee.required_weight(committee.threshold());
    let mut weight = 0;
    while let Some(verdict) = verdicts.join_next().await {
        let (member, verdict) = verdict?;
        match verdict {
            Ok(()) => weight += u128::from(committee.weight(member).unwrap_or(0)),
            Err(reason) => println!("member {}: {reason}", member.index()),
        }
    }
    println!("weight {weight}, a quorum needs {needed}");
    assert!(weight >= needed);
    Ok(())
}
