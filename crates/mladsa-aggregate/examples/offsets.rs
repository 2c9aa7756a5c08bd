//! Misses that faulty signers can force with their offsets: all of them use the greatest one in every
//! coefficient, which each response admits and no evidence shows.
//!
//! `cargo run --release -p mladsa-aggregate --features test-util --example offsets`
//!
//! An attempt is drawn as the scheme computes it: w and the low part of t are uniform, c has 60
//! coefficients of 1 or -1, honest offsets are uniform. An attempt misses with more than 75 hints.

use mladsa_aggregate::test_util::offset_width;

const Q: i64 = 8_380_417;
const ALPHA: i64 = (Q - 1) / 16;
const ATTEMPTS: u64 = 50;

/// A generator of numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> i64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        (drawn % bound).cast_signed()
    }

    fn within(&mut self, most: i64) -> i64 {
        self.below((2 * most + 1).unsigned_abs()) - most
    }
}

/// HighBits of FIPS 204 (algorithm 37) with gamma2 = (q-1)/32.
fn high_bits(value: i64) -> i64 {
    let value = value.rem_euclid(Q);
    let high = (value + ALPHA / 2 - 1).div_euclid(ALPHA);
    if high == 16 { 0 } else { high }
}

/// The number of hints of an attempt with `honest` and `faulty` signers.
fn hints(random: &mut Random, honest: usize, faulty: i64, width: i64) -> usize {
    let mut needed = 0;
    let mut challenge = [0i64; 256];
    for i in 196..256 {
        let j = random.below(i as u64 + 1).unsigned_abs() as usize;
        challenge[i] = challenge[j];
        challenge[j] = 1 - 2 * random.below(2);
    }
    for _ in 0..8 {
        let low: [i64; 256] = core::array::from_fn(|_| random.within(1 << 12));
        for n in 0..256 {
            let product: i64 = (0..256)
                .map(|k| {
                    let sign = if k > n { -1 } else { 1 };
                    sign * challenge[k] * low[(256 + n - k) % 256]
                })
                .sum();
            let offsets: i64 = (0..honest).map(|_| random.within(width)).sum();
            let committed = random.below(Q.unsigned_abs());
            let computed = committed - offsets - faulty * width + product;
            needed += usize::from(high_bits(committed) != high_bits(computed));
        }
    }
    needed
}

fn main() {
    println!(
        "| n | signers | R | faulty | hints, mean | attempts that miss |\n|--:|--:|--:|--:|--:|--:|"
    );
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for n in [4, 16, 64, 256] {
        let most = (n - 1) / 3;
        let signers = n - most;
        let width = i64::from(offset_width(signers).expect("a width for each committee"));
        for faulty in [0, most / 2, most] {
            let mut attempt = || hints(&mut random, signers - faulty, faulty as i64, width);
            let counts: Vec<usize> = (0..ATTEMPTS).map(|_| attempt()).collect();
            let mean = counts.iter().sum::<usize>() as f64 / ATTEMPTS as f64;
            let missed = counts.iter().filter(|count| **count > 75).count();
            let missed = 100 * missed as u64 / ATTEMPTS;
            println!("| {n} | {signers} | {width} | {faulty} | {mean:.0} | {missed} % |");
        }
    }
}
