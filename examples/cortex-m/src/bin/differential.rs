//! The kernels of this target beside the same functions in plain Rust: random inputs, and inputs at
//! the bounds. Prints one line per kernel; the exit code is not zero if results differ.
#![no_std]
#![no_main]

use board_meter::{exit, println};
use cortex_m_rt::entry;
use mldsa_core::internals::{N, Q, field, keccak, ntt};

/// xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A coefficient of at most `bound` in absolute value; for the first rounds an extreme one.
    fn coefficient(&mut self, round: u32, bound: i32) -> i32 {
        let any = self.next();
        match round {
            0 => bound,
            1 => -bound,
            2..8 => [bound, -bound, 0][(any % 3) as usize],
            _ => (any % (2 * u64::from(bound.unsigned_abs()) + 1)) as i32 - bound,
        }
    }
}

fn report(kernel: &str, cases: u32, equal: bool) {
    println!("{{\"kernel\":\"{}\",\"cases\":{},\"equal\":{}}}", kernel, cases, equal);
    if !equal {
        exit(1);
    }
}

#[entry]
fn main() -> ! {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);

    let mut equal = true;
    for round in 0..1000 {
        let mut plain: [u64; 25] = core::array::from_fn(|_| match round {
            0 => 0,
            1 => u64::MAX,
            _ => random.next(),
        });
        let mut lanes = [0; 25];
        for (n, &value) in plain.iter().enumerate() {
            keccak::add(&mut lanes, n, value);
        }
        for _ in 0..3 {
            keccak::permute(&mut lanes);
            keccak::keccak_f1600_compact(&mut plain);
        }
        equal &= (0..25).all(|n| keccak::value(&lanes, n) == plain[n]);
    }
    report("permutation", 3000, equal);

    let mut equal = true;
    for round in 0..100_000u32 {
        // |a| < 2^31 q, and every low half that is special.
        let high = random.coefficient(round % 16, Q / 2 - 1);
        let low = [0, 1, u32::MAX, 1 << 31, random.next() as u32][(round % 5) as usize];
        let a = (i64::from(high) << 32) + i64::from(low);
        equal &= field::montgomery_reduce(a) == field::montgomery_reduce_portable(a);
    }
    report("montgomery_reduce", 100_000, equal);

    let mut equal = true;
    for round in 0..300 {
        // The bound of the transform, then what callers have.
        let bound = if round % 2 == 0 { i32::MAX - 8 * Q } else { Q - 1 };
        let mut w = [0; N];
        w.fill_with(|| random.coefficient(round / 2, bound));
        let mut plain = w;
        ntt::ntt_in_place(&mut w);
        ntt::ntt_layers(&mut plain, N / 2, 1);
        equal &= w == plain;
    }
    report("ntt", 300, equal);

    let mut equal = true;
    for round in 0..300 {
        let mut w = [0; N];
        w.fill_with(|| random.coefficient(round, Q - 1));
        let mut plain = w;
        ntt::inv_ntt_in_place(&mut w);
        ntt::inverse_layers(&mut plain);
        equal &= w.iter().all(|w| w.abs() < Q);
        equal &= w.map(field::canonical) == plain.map(field::canonical);
    }
    report("inv_ntt", 300, equal);
    exit(0)
}
