//! Attempts, time and bytes of decisions with faulty members over a simulated network, as the tables of
//! `docs/ml-adsa.md`.
//!
//! `cargo run --release -p mladsa-aggregate --features test-util --example round_table`
//!
//! With one number it prints the rows of this number of members. With two it runs the random patterns
//! of these seeds instead, and counts those that needed more attempts than claimed:
//! `... --example round_table -- 1 100001`.
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
    let mut numbers = std::env::args()
        .skip(1)
        .map(|number| number.parse().unwrap());
    let (first, last) = (numbers.next(), numbers.next());
    if let (Some(first), Some(last)) = (first, last) {
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
    let sizes = first.map_or(vec![4, 16, 64, 128], |n| vec![n as usize]);
    let mut header = HEADER.lines();
    println!("{} ms of CPU for each member |", header.next().unwrap());
    println!("{}---|", header.next().unwrap());
    for n in sizes {
        for (faults, loss) in [
            (&[Honest][..], 0),
            (&[Honest], 10),
            (&[Silent], 0),
            (&[LeaderOnly], 0),
            (Fault::KINDS, 10),
        ] {
            let before = cpu();
            let row = row(n, faults, loss);
            println!("{row} {:.1} |", (cpu() - before) / n as f64);
        }
    }
}

/// CPU time of this thread in milliseconds.
#[cfg(unix)]
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Not a number: std has no clock of CPU time.
#[cfg(not(unix))]
fn cpu() -> f64 {
    f64::NAN
}
