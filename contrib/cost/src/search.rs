//! The search for one polynomial that rejects many candidates.

use mldsa_core::Backend;
use mldsa_core::internals::Shake128;

use crate::tails::{N, rejects_at_least};

const Q: u32 = 8_380_417;

/// Returns the rejected candidates until polynomial (`r`, `s`) of A is full.
pub(crate) fn rejected(rho: &[u8; 32], r: u8, s: u8) -> u32 {
    let mut xof = Shake128::new(Backend::detect().permutation());
    xof.absorb(rho);
    xof.absorb(&[s, r]);
    xof.finish();
    let (mut accepted, mut rejected) = (0, 0);
    loop {
        let mut block = [0; 168];
        xof.squeeze(&mut block);
        for bytes in block.as_chunks::<3>().0 {
            let z = u32::from_le_bytes([bytes[0], bytes[1], bytes[2] & 0x7f, 0]);
            if z < Q {
                accepted += 1;
                if accepted == N {
                    return rejected;
                }
            } else {
                rejected += 1;
            }
        }
    }
}

/// Returns a seed that a number names.
pub(crate) fn seed(number: u64) -> [u8; 32] {
    let mut rho = [0; 32];
    rho[..8].copy_from_slice(&number.to_le_bytes());
    rho
}

/// The worst of `count` polynomials, beside the tail.
pub(crate) fn polynomials(count: u64) -> Result<(), String> {
    let mut seen = [0u64; 64];
    for number in 0..count {
        seen[rejected(&seed(number), 0, 0).min(63) as usize] += 1;
    }
    println!(
        "| rejected, at least | polynomials found | of {count}, expected at most |\n|--:|--:|--:|"
    );
    let (mut at_least, mut beyond) = (count, Vec::new());
    for (rejected, found) in seen.iter().enumerate() {
        let tail: f64 = if rejected == 0 {
            0.0
        } else {
            rejects_at_least(1, rejected as u32).log2()
        };
        let expected = tail.exp2() * count as f64;
        if rejected > 0 && at_least > 0 {
            println!("| {rejected} | {at_least} | {expected:.3} |");
            // Six standard deviations and one more: never exceeded by chance.
            if at_least as f64 > expected + 6.0 * expected.sqrt() + 1.0 {
                beyond.push(rejected);
            }
        }
        at_least -= found;
    }
    if beyond.is_empty() {
        Ok(())
    } else {
        Err(format!("the tail is exceeded at {beyond:?}"))
    }
}
