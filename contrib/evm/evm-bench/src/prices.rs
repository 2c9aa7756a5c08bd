//! Time of the precompile per unit of gas.

use std::time::Instant;

use evm_bench::cases::Key;
use mldsa_evm_precompile::{Precompile as _, Set};

/// Prints the time of a precompile call per unit of its gas, for a valid signature and
/// for the invalid one that takes longest.
pub(crate) fn precompile_prices() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    println!(
        "\nPrecompile on one thread of{}",
        cpu.unwrap_or(" an unknown CPU")
    );
    println!(
        "{:<10} {:>8} {:>12} {:>12} {:>10} {:>10} {:>12} {:>16} {:>18}",
        "set",
        "gas",
        "valid ns",
        "invalid ns",
        "ns/gas",
        "ns/gas",
        "long ns/gas",
        "gas at 100 Mgas/s",
        "and a word's gas"
    );
    for (set, name) in Set::ALL.into_iter().zip([44, 65, 87]) {
        let pair = Key::new(name, &[name; 32]);
        let signature = pair.sign(b"", &[1; 32]);
        let valid = [&pair.pk[..], &signature, &[1; 32]].concat();
        // Fails at the end only: another message.
        let mut invalid = valid.clone();
        *invalid.last_mut().expect("bytes") ^= 1;
        let long = [&valid[..], &[0; LONG as usize]].concat();
        let gas = set.gas(valid.len());
        let time = |input: &[u8]| {
            best_ns(|| {
                let output = set.execute(std::hint::black_box(input), u64::MAX);
                output.is_some()
            })
        };
        let (good, bad, slow) = (time(&valid), time(&invalid), time(&long));
        println!(
            "{:<10} {gas:>8} {good:>12.0} {bad:>12.0} {:>10.2} {:>10.2} {:>12.2} {:>16.0} {:>18.1}",
            set.name(),
            good / gas as f64,
            bad / gas as f64,
            slow / set.gas(long.len()) as f64,
            good.max(bad) / 10.0,
            (slow - good) / f64::from(LONG / 32) / 10.0
        );
    }
    // Time of KECCAK256 in the EVM, which has the same price per word.
    let message = vec![0; LONG as usize];
    let hash = best_ns(|| revm::primitives::keccak256(std::hint::black_box(&message)));
    println!(
        "KECCAK256 of as long a message, without the EVM around it: {:.2} ns/gas",
        hash / f64::from(30 + 6 * LONG / 32)
    );
}

/// A message whose price outweighs that of the signature, in bytes.
const LONG: u32 = 1 << 18;

/// Nanoseconds of the fastest of many calls, which met no other process.
fn best_ns<T>(mut call: impl FnMut() -> T) -> f64 {
    let sample = |_| {
        let start = Instant::now();
        std::hint::black_box(call());
        start.elapsed().as_nanos()
    };
    (0..400).map(sample).min().unwrap_or(u128::MAX) as f64
}
