//! Attempts, time, messages and bytes of decisions with faulty members over a simulated network, as
//! the table of `docs/ml-adsa.md`.
//!
//! `cargo run --release -p mladsa-aggregate --features test-util --example session_costs`
//!
//! It fails if an honest member has no certificate after the attempts of the plan.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/committee/mod.rs"]
mod committee;
#[path = "../tests/hostile/mod.rs"]
mod hostile;
#[path = "../tests/simulation/mod.rs"]
mod simulation;

use simulation::Fault::*;
use simulation::{HEADER, MIXED, row};

fn main() {
    let mut seeds = std::env::args().skip(1).map(|seed| seed.parse().unwrap());
    if let (Some(first), Some(last)) = (seeds.next(), seeds.next()) {
        (first..last).for_each(|seed| println!("{}", simulation::random(seed)));
        return;
    }
    println!("{HEADER}");
    for n in [4, 7, 16, 31] {
        for (faults, loss) in [
            (&[Honest][..], 0),
            (&[Honest], 200),
            (&[Silent], 0),
            (&[Partial], 0),
            (&[TwoHashes], 0),
            (&[Grinding], 0),
            (&[Slow], 0),
            (&[LastHash], 0),
            (&[LastCommitment], 0),
            (&[SplitHash], 0),
            (&MIXED, 200),
        ] {
            println!("{}", row(n, faults, loss));
        }
    }
}
