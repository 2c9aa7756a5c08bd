//! `cargo run --release -p benches --bin memory`: stack, heap and time of key
//! generation, signing and verification, every tier of the low-memory signer beside
//! the full-memory implementations.
//!
//! What counts as stack and heap: `benches::Footprint`.

use core::time::Duration;
use std::rc::Rc;

use benches::{
    Budget, Footprint, Inputs, Op, Part, Samples, Set, Stream, contenders, hz, in_rust,
    lowmem_contenders, measure,
};
use clap::Parser;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Stack, heap and time of every implementation.
#[derive(Parser)]
struct Options {
    /// Seconds per operation and parameter set.
    #[arg(long, default_value_t = 4)]
    seconds: u64,
}

/// Signatures, and keys.
const CASES: usize = 128;

/// Time of Bouncy Castle's low-memory crate 0.1.2 over that of `fips204` 0.5.0,
/// keygen, sign, verify: measured once on another machine, because it needs a
/// nightly compiler.
fn bouncy_castle(set: Set) -> [f64; 3] {
    match set {
        Set::MlDsa44 => [317. / 409., 3529. / 1193., 319. / 307.],
        Set::MlDsa65 => [531. / 708., 6855. / 1897., 548. / 496.],
        Set::MlDsa87 => [942. / 1041., 9613. / 2147., 955. / 826.],
    }
}

fn main() {
    let options = Options::parse();
    println!(
        "{:<10} {:<7} {:<24} {:>9} {:>9} {:>7} {:>10} {:>10} {:>8} {:>6}",
        "set", "op", "implementation", "stack", "heap", "blocks", "us", "per s", "/fips204", "/BC"
    );
    let mut stream = Stream::new(7);
    for set in Set::ALL {
        let inputs = Rc::new(Inputs::random(set, 16, CASES, &mut stream));
        let operations = [
            (Part::Keygen, Op::Keygen, "keygen"),
            (Part::Sign, Op::Sign, "sign"),
            (Part::Verify, Op::VerifyCold, "verify"),
        ];
        for ((part, op, name), castle) in operations.into_iter().zip(bouncy_castle(set)) {
            let mut all = lowmem_contenders(&inputs);
            all.extend(contenders(part, &inputs));
            all.retain(|one| one.op == op && in_rust(one));
            let times = measure(
                &mut all,
                Budget {
                    time: Duration::from_secs(options.seconds),
                    cases: CASES,
                    passes: 1,
                },
            );
            let cost = |samples: &Samples| match op {
                Op::Sign => samples.mean(),
                _ => samples.min() as f64,
            };
            let fips204 = all
                .iter()
                .zip(&times)
                .find(|(one, _)| one.peer == "fips204");
            let unit = fips204.map_or(f64::NAN, |(_, samples)| cost(samples));
            for (one, samples) in all.iter_mut().zip(&times) {
                let Footprint {
                    stack,
                    heap,
                    blocks,
                } = Footprint::of(one, CASES);
                let seconds = cost(samples) / hz();
                let times = cost(samples) / unit;
                println!(
                    "{:<10} {name:<7} {:<24} {stack:>9} {heap:>9} {blocks:>7} {:>10.1} {:>10.0} {times:>8.2} {:>6.2}",
                    set.name(),
                    one.title(),
                    seconds * 1e6,
                    1. / seconds,
                    castle / times,
                );
            }
        }
    }
    println!(
        "\nus: the least, of signing the mean over {CASES} messages; /fips204: time over that of fips204;"
    );
    println!(
        "/BC: speed over that of Bouncy Castle's low-memory crate, scaled from another machine by fips204"
    );
}
