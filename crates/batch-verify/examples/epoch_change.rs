//! A change of the validator set while votes are in flight. `cargo run --example epoch_change`

use batch_verify::{
    Committee, Context, MlDsa44, ServiceError, SigningKey, Source, VerificationService, Vote,
};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let keys = [1, 2, 3, 4].map(|seed| SigningKey::<MlDsa44>::from_seed(&[seed; 32]));
    let public = |n: usize| keys[n].verifying_key();
    let context = Context::new(b"mychain/v1/vote")?;
    let first = Committee::<MlDsa44>::builder(context).epoch(7);
    let first = first.build([(public(0), 10), (public(1), 10), (public(2), 10)])?;
    let service = VerificationService::builder(first.clone())
        .retained_committees(0)
        .build()?;

    // The last vote of epoch 7, by its second member.
    let signature = keys[1].sign_hedged(b"block 99", context)?;
    let member = first.member(1).ok_or("no such member")?;
    let last = Vote::new(member, b"block 99", signature.as_ref());
    let in_flight = service.submit(Source::peer(17), &last)?;

    // Epoch 8: the first member leaves, another joins. Keys that stay remain prepared.
    let next = first.successor(8, [(public(0), 0), (public(3), 20)])?;
    service.set_committee(next.clone())?;
    in_flight.wait()?;
    assert_eq!((next.len(), next.total_weight()), (3, 40));

    // A late vote of epoch 7 is no fault of its sender, and epoch 7 does not come back.
    let other = keys[1].sign_hedged(b"block 98", context)?;
    let late = Vote::new(member, b"block 98", other.as_ref());
    let answer = service.submit(Source::peer(17), &late);
    assert_eq!(answer.err(), Some(ServiceError::OtherEpoch));
    assert!(service.set_committee(first).is_err());
    println!("epoch {} with {} members", next.epoch(), next.len());
    Ok(())
}
