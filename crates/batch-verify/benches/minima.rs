//! The least time of each call of a node, as its program is built: what a cargo profile does to
//! them. `tools/profiles.py` builds this file with several and puts their rows side by side.
//!
//! `cargo bench -p batch-verify --bench minima`
//!
//! Rows: parameter set, call, nanoseconds for each key or signature.

use core::error::Error;
use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use batch_verify::{Committee, CommitteeVerifier, Threads, Vote};
use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey};

/// Messages, each signed by a key of its own.
const MESSAGES: usize = 8;
const ROUNDS: usize = 400;

fn main() -> Result<(), Box<dyn Error>> {
    of::<MlDsa44>()?;
    of::<MlDsa65>()?;
    of::<MlDsa87>()
}

fn of<P: ParameterSet>() -> Result<(), Box<dyn Error>> {
    let keys: [SigningKey<P>; MESSAGES] =
        core::array::from_fn(|n| SigningKey::from_seed(&[n as u8; 32]));
    let prepared = keys.each_ref().map(SigningKey::prepare);
    let messages: [[u8; 32]; MESSAGES] = core::array::from_fn(|n| [n as u8; 32]);
    let sign = |n: usize| {
        keys[n].sign_with_context(&messages[n], Context::EMPTY, Randomness::Deterministic)
    };
    let signatures: Vec<_> = (0..MESSAGES).map(sign).collect::<Result<_, _>>()?;
    let members = keys.iter().map(|key| (key.verifying_key(), 1));
    let committee = Committee::<P>::builder(b"").build(members)?;
    let verifier = CommitteeVerifier::builder().threads(Threads::Inline);
    let verifier = verifier.build(committee.clone())?;
    let votes = committee.members().zip(&messages).zip(&signatures);
    let votes: Vec<Vote<'_>> = votes
        .map(|((member, message), signature)| Vote::new(member, message, signature.as_ref()))
        .collect();

    row::<P, _>("keygen", |n| SigningKey::<P>::from_seed(&[n as u8; 32]));
    row::<P, _>("sign", |n| sign(n).map(drop));
    row::<P, _>("sign, prepared", |n| {
        prepared[n]
            .sign_with_context(&messages[n], Context::EMPTY, Randomness::Deterministic)
            .map(drop)
    });
    row::<P, _>("verify", |n| {
        let verdict = keys[n].verifying_key().verify_with_context(
            &messages[n],
            Context::EMPTY,
            &signatures[n],
        );
        assert!(verdict.is_ok(), "a wrong verdict");
    });
    row::<P, _>("verify, prepared", |n| {
        assert!(committee.verify(&votes[n]).is_ok(), "a wrong verdict");
    });
    // Eight at once, however often it is called.
    let batch = || verifier.verify_batch(votes.iter().copied()).all_valid();
    let eight = least(|| assert!(batch(), "a wrong verdict"));
    print::<P>("verify, eight prepared", eight / MESSAGES as u32);
    Ok(())
}

/// The mean over the messages of the least time of each.
fn row<P: ParameterSet, R>(call: &str, mut act: impl FnMut(usize) -> R) {
    let times = (0..MESSAGES).map(|n| least(|| drop(black_box(act(n)))));
    print::<P>(call, times.sum::<Duration>() / MESSAGES as u32);
}

fn least(mut act: impl FnMut()) -> Duration {
    let timed = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        act();
        start.elapsed()
    });
    timed.min().unwrap_or_default()
}

fn print<P: ParameterSet>(call: &str, time: Duration) {
    println!("{}, {call}, {}", P::NAME, time.as_nanos());
}
