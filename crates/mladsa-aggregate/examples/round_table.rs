//! Attempts, time and bytes of decisions with faulty members over a simulated network, as the tables of
//! `docs/ml-adsa.md`.
//!
//! `cargo run --release -p mladsa-aggregate --features test-util --example round_table`
//!
//! With two numbers it runs the random patterns of these seeds instead, and counts those that needed
//! more attempts than claimed: `... --example round_table -- 1 100001`.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/committee/mod.rs"]
mod committee;
#[path = "../tests/hostile/mod.rs"]
mod hostile;
#[path = "../tests/simulation/mod.rs"]
mod simulation;

use simulation::Fault::*;
use simulation::{Fault, HEADER, Patterns, row};

fn main() {
    let mut seeds = std::env::args().skip(1).map(|seed| seed.parse().unwrap());
    if let (Some(first), Some(last)) = (seeds.next(), seeds.next()) {
        let (mut exceeded, mut most) = (0, 0);
        let mut patterns = Patterns::new();
        for seed in first..last {
            let (attempts, bound, text) = patterns.run(seed);
            most = most.max(attempts);
            if attempts > bound {
                exceeded += 1;
                println!("{attempts} of {bound} attempts: {text}");
            }
        }
        let number = last - first;
        println!("{number} patterns, at most {most} attempts, {exceeded} beyond the bound");
        return;
    }
    println!("{HEADER}");
    for n in [4, 16, 64, 128] {
        println!("{}", row(n, &[Honest], 0));
        println!("{}", row(n, &[Honest], 10));
        println!("{}", row(n, &[Silent], 0));
        println!("{}", row(n, &[LeaderOnly], 0));
        println!("{}", row(n, Fault::KINDS, 10));
    }
}
