//! Products in the NTT domain: 64-bit sums, one reduction per coefficient. Constant
//! time.
//!
//! Bounds: a sum `s` with `|s| < 2^31 q = 256 q^2` gives `|out| < q`.

use core::arch::aarch64::*;

use super::vector::{Eight, get, get_at, put, spread};
use crate::coding::expansion::Expansion;
use crate::params::{N, Q};
use crate::ring::field::Q_INV;
use crate::ring::poly::NttPoly;

/// Eight running sums, in order.
#[derive(Clone, Copy)]
pub(super) struct Sums([int64x2_t; 4]);

impl Sums {
    /// `a b`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn of(a: Eight, b: Eight) -> Self {
        Self([
            vmull_s32(vget_low_s32(a.0), vget_low_s32(b.0)),
            vmull_high_s32(a.0, b.0),
            vmull_s32(vget_low_s32(a.1), vget_low_s32(b.1)),
            vmull_high_s32(a.1, b.1),
        ])
    }

    /// Adds `a b`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn add(self, a: Eight, b: Eight) -> Self {
        let [s0, s1, s2, s3] = self.0;
        Self([
            vmlal_s32(s0, vget_low_s32(a.0), vget_low_s32(b.0)),
            vmlal_high_s32(s1, a.0, b.0),
            vmlal_s32(s2, vget_low_s32(a.1), vget_low_s32(b.1)),
            vmlal_high_s32(s3, a.1, b.1),
        ])
    }

    /// Adds `a`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn add_one(self, a: Eight) -> Self {
        let [s0, s1, s2, s3] = self.0;
        Self([
            vaddw_s32(s0, vget_low_s32(a.0)),
            vaddw_high_s32(s1, a.0),
            vaddw_s32(s2, vget_low_s32(a.1)),
            vaddw_high_s32(s3, a.1),
        ])
    }

    /// The sums times `2^-32`: algorithm 49.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn reduce(self) -> Eight {
        let [s0, s1, s2, s3] = self.0;
        Eight(reduced(s0, s1), reduced(s2, s3))
    }
}

/// Algorithm 49 on four sums.
#[inline]
#[target_feature(enable = "neon")]
fn reduced(low: int64x2_t, high: int64x2_t) -> int32x4_t {
    let q = vdupq_n_s32(Q);
    let words = vuzp1q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high));
    let t = vmulq_s32(words, vdupq_n_s32(Q_INV));
    let low = vmlsl_s32(low, vget_low_s32(t), vget_low_s32(q));
    let high = vmlsl_high_s32(high, t, q);
    vuzp2q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high))
}

/// Coefficients `8 n..8 n + 8` of a row, not reduced. Panics if the row is empty.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn row_sums(a: &[NttPoly], b: &[NttPoly], n: usize) -> Sums {
    let mut sums = Sums::of(get(&a[0].0, n), get(&b[0].0, n));
    for (a, b) in a[1..].iter().zip(&b[1..]) {
        sums = sums.add(get(&a.0, n), get(&b.0, n));
    }
    sums
}

/// [`crate::ring::ntt::row_product`], the same order in and out.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn row_product(a: &[NttPoly], b: &[NttPoly], out: &mut NttPoly) {
    if a.is_empty() || b.is_empty() {
        out.0 = [0; N];
        return;
    }
    for n in 0..N / 8 {
        put(&mut out.0, n, row_sums(a, b, n).reduce());
    }
}

/// Every row of the prepared matrix times the vector: `a` is
/// `[block 0..32][row][column 0..TERMS][8]`, `vector` has `TERMS` polynomials and `out`
/// as many as there are rows, an even number. Algorithm 48 and the c t1 column in one.
///
/// Bounds: `0 <= a < q`, `|b| < 9 q`, `|out| < q`; the factor `2^-32` stays.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn matrix_product<const TERMS: usize>(
    a: Expansion<'_>,
    vector: &[NttPoly; TERMS],
    out: &mut [NttPoly],
) {
    match a {
        Expansion::Wide(a) => {
            let a = &a[..out.len() * TERMS];
            // SAFETY: `NttPoly` is 256 coefficients without padding.
            let a = unsafe { core::slice::from_raw_parts(a.as_ptr().cast(), 32 * a.len()) };
            product_of::<TERMS, [i32; 8]>(a, vector, out);
        }
        Expansion::Packed(a) => {
            let a = &a[..out.len() * TERMS];
            // SAFETY: `PackedPoly` is 256 coefficients of three bytes without padding.
            let a = unsafe { core::slice::from_raw_parts(a.as_ptr().cast(), 32 * a.len()) };
            product_of::<TERMS, [u8; 24]>(a, vector, out);
        }
    }
}

/// Eight coefficients in memory.
trait Stored {
    /// To registers; `register` proves that there are such.
    fn load(&self, register: Eight) -> Eight;
}

impl Stored for [i32; 8] {
    #[inline(always)]
    fn load(&self, _register: Eight) -> Eight {
        // SAFETY: a register proves the features.
        unsafe { get_at(self) }
    }
}

impl Stored for [u8; 24] {
    #[inline(always)]
    fn load(&self, _register: Eight) -> Eight {
        // SAFETY: a register proves the features.
        unsafe { spread(self) }
    }
}

#[inline(never)]
#[target_feature(enable = "neon")]
fn product_of<const TERMS: usize, B: Stored>(
    a: &[B],
    vector: &[NttPoly; TERMS],
    out: &mut [NttPoly],
) {
    let rows = out.len();
    for (n, block) in a.chunks_exact(rows * TERMS).enumerate() {
        let terms: [Eight; TERMS] = core::array::from_fn(
            #[inline(always)]
            |j| get(&vector[j].0, n),
        );
        for (row, out) in block.as_chunks::<TERMS>().0.iter().zip(&mut *out) {
            let mut sums = Sums::of(row[0].load(terms[0]), terms[0]);
            for (a, &b) in row[1..].iter().zip(&terms[1..]) {
                sums = sums.add(a.load(b), b);
            }
            put(&mut out.0, n, sums.reduce());
        }
    }
}
