//! Votes of network peers on a tokio runtime: submitted as they arrive, awaited until a batch is
//! verified. `cargo run --example tokio_service`

use batch_verify::{
    Committee, Context, MlDsa44, ServiceError, SigningKey, Source, VerificationService, Vote,
};
use tokio::task::JoinSet;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let keys = [1, 2, 3, 4].map(|seed| SigningKey::<MlDsa44>::from_seed(&[seed; 32]));
    let context = Context::new(b"mychain/v1/vote")?;
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<MlDsa44>::builder(context).epoch(1);
    let committee = committee.build(members)?;
    let service = VerificationService::builder(committee.clone()).build()?;

    // One task for each peer. The last one sends a forged vote.
    let mut peers = JoinSet::new();
    for (member, key) in committee.members().zip(&keys) {
        let mut signature = key.sign_hedged(b"block 7", context)?.as_ref().to_vec();
        signature[0] ^= u8::from(member.index() == 3);
        let service = service.clone();
        peers.spawn(async move {
            let source = Source::peer(member.index().into());
            let answer = service.submit(source, &Vote::new(member, b"block 7", &signature))?;
            answer.await?;
            Ok::<_, ServiceError>(member.index())
        });
    }
    let answers = peers.join_all().await;
    let (valid, rejected): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    println!("{} votes are valid; {:?}", valid.len(), rejected);
    assert_eq!((valid.len(), rejected.len()), (3, 1));
    print!("{}", service.stats());
    Ok(())
}
