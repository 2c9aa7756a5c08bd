//! What a verification costs at worst (docs/cost.md): exact tails, bounds in instructions that are
//! checked against executed ones, a search that tries to exceed them, and times of 10^6 inputs.

mod counts;
mod search;
mod tails;
mod times;

use std::process::ExitCode;

use mldsa_core::{MlDsa44, MlDsa65, MlDsa87};

/// The logarithms of the numbers of hash calls.
const CALLS: [u32; 6] = [0, 20, 40, 64, 80, 128];
/// Name, k, l, tau, omega.
const SETS: [(&str, u32, u32, u32, u32); 3] = [
    ("ML-DSA-44", 4, 4, 39, 80),
    ("ML-DSA-65", 6, 5, 49, 55),
    ("ML-DSA-87", 8, 7, 60, 75),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, otherwise: u64| {
        arguments
            .get(n)
            .map_or(Ok(otherwise), |text| text.parse::<u64>())
    };
    let done = match (arguments.first().map(String::as_str), number(1, 0)) {
        (Some("tails"), Ok(_)) => {
            print_tails();
            Ok(())
        }
        (Some("bounds"), _) => counts::bounds(number(1, 60).unwrap_or(60) as usize),
        (Some("worker"), _) => counts::work(),
        (Some("search"), _) => search::polynomials(number(1, 10_000_000).unwrap_or(10_000_000)),
        (Some("times"), _) => {
            let inputs = number(1, 1_000_000).unwrap_or(1_000_000) as usize;
            times::of::<MlDsa44>(inputs)
                .and_then(|()| times::of::<MlDsa65>(inputs))
                .and_then(|()| times::of::<MlDsa87>(inputs))
        }
        _ => {
            eprintln!("cost tails | bounds [SAMPLES] | search [POLYNOMIALS] | times [INPUTS]");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("cost: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn print_tails() {
    println!("ExpandA: log2 of the probability that a polynomial needs more than n blocks");
    for blocks in [4, 5, 6] {
        println!(
            "  n = {blocks}: {:.1}",
            tails::expand_a_needs_more(blocks).log2()
        );
    }
    println!(
        "| set | log2 of hash calls | ExpandA: blocks | mean | rejected, at most | \
         polynomials that reject | SampleInBall: bytes | blocks |\n{}",
        "|---|".to_owned() + &"--:|".repeat(7)
    );
    for (name, k, l, tau, _) in SETS {
        for calls in CALLS {
            let worst = tails::worst(k * l, tau, calls);
            let rejecting = |count| !tails::several_reject(k * l, count).is_out_of_reach(calls);
            let rejecting = (1..=k * l)
                .rev()
                .find(|&count| rejecting(count))
                .unwrap_or(0);
            println!(
                "| {name} | {calls} | {} | {} | {} | {rejecting} | {} | {} |",
                worst.blocks,
                5 * k * l,
                worst.rejected,
                worst.bytes,
                worst.ball_blocks
            );
        }
    }
}
