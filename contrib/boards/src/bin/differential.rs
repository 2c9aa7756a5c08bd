//! The kernels of this target beside the same functions in plain Rust: random inputs, and inputs at
//! the bounds. Prints one line per kernel; the exit code is not zero if results differ.
#![no_std]
#![no_main]

use boards::{exit, println};
use cortex_m_rt::entry;
use mldsa_core::internals::{N, NttPoly, Poly, Q, field, keccak, ntt};

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
    println!(
        "{{\"kernel\":\"{}\",\"cases\":{},\"equal\":{}}}",
        kernel, cases, equal
    );
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
    for round in 0..10_000 {
        let factors = core::array::from_fn(|_| random.coefficient(round, Q / 2));
        let mut b = [[0; 8]; 2];
        b.as_flattened_mut()
            .fill_with(|| random.coefficient(round, 1 << 19));
        let (a, mut plain) = (b[1], b);
        field::sums_of_three(&factors, &a, &mut b);
        field::sums_of_three_portable(&factors, &a, &mut plain);
        equal &= b == plain;
    }
    report("sums_of_three", 10_000, equal);

    let mut equal = true;
    for round in 0..300 {
        // The bound of the transform, then what callers have.
        let bound = if round % 2 == 0 {
            i32::MAX - 8 * Q
        } else {
            Q - 1
        };
        let mut w = [0; N];
        w.fill_with(|| random.coefficient(round / 2, bound));
        let mut plain = w;
        let (src, mut dst) = (Poly(w), NttPoly([0; N]));
        ntt::ntt(&src, &mut dst);
        ntt::ntt_in_place(&mut w);
        ntt::ntt_layers(&mut plain, N / 2, 1);
        equal &= w == plain && dst.0 == plain;
    }
    report("ntt", 300, equal);

    let mut equal = true;
    for round in 0..96 {
        let mut polys = [const { NttPoly([0; N]) }; 16];
        for poly in &mut polys {
            poly.0.fill_with(|| random.coefficient(round, Q - 1));
        }
        let (a, b) = polys.split_at(8);
        let count = (round % 9) as usize;
        let (mut out, mut plain) = (NttPoly([1; N]), NttPoly([2; N]));
        ntt::row_product(&a[..count], b, &mut out);
        ntt::row_product_portable(&a[..count], b, &mut plain);
        equal &= out.0 == plain.0;
    }
    report("row_product", 96, equal);

    let mut equal = true;
    for round in 0..300 {
        let mut w = [0; N];
        w.fill_with(|| random.coefficient(round, Q - 1));
        let mut plain = w;
        let (src, mut dst) = (NttPoly(w), Poly([0; N]));
        ntt::inv_ntt(&src, &mut dst);
        ntt::inv_ntt_in_place(&mut w);
        equal &= w == dst.0;
        ntt::inverse_layers(&mut plain);
        equal &= w.iter().all(|w| w.abs() < Q);
        equal &= w.map(field::canonical) == plain.map(field::canonical);
    }
    report("inv_ntt", 300, equal);
    exit(0)
}
