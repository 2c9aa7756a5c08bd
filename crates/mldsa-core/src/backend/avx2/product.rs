//! Products in the NTT domain: 64-bit sums, one reduction per coefficient. Constant
//! time.
//!
//! Bounds: a sum `s` with `|s| < 2^31 q = 256 q^2` gives `|out| < q`.

use core::arch::x86_64::*;

use super::vector::{get, odd_lanes, put, spread, upper_halves};
use crate::coding::expansion::Expansion;
use crate::params::{N, Q};
use crate::ring::field::Q_INV;
use crate::ring::poly::NttPoly;

/// Eight running sums, of the even and of the odd lanes.
#[derive(Clone, Copy)]
pub(super) struct Sums(__m256i, __m256i);

impl Sums {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn zero() -> Self {
        Self(_mm256_setzero_si256(), _mm256_setzero_si256())
    }

    /// `a b`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn of(a: __m256i, b: __m256i) -> Self {
        Self::zero().add(a, b)
    }

    /// Adds `a`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add_one(self, a: __m256i) -> Self {
        self.add(a, _mm256_set1_epi32(1))
    }

    /// Adds `a b`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add(self, a: __m256i, b: __m256i) -> Self {
        self.add_split(a, (b, odd_lanes(b)))
    }

    /// Adds `a b`, of b the even and the odd lanes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_split(self, a: __m256i, (even, odd): (__m256i, __m256i)) -> Self {
        Self(
            _mm256_add_epi64(self.0, _mm256_mul_epi32(a, even)),
            _mm256_add_epi64(self.1, _mm256_mul_epi32(odd_lanes(a), odd)),
        )
    }

    /// The sums times `2^-32`: algorithm 49.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn reduce(self) -> __m256i {
        upper_halves(reduced(self.0), reduced(self.1))
    }
}

/// Algorithm 49, the result in the upper halves.
#[inline]
#[target_feature(enable = "avx2")]
fn reduced(sums: __m256i) -> __m256i {
    let t = _mm256_mul_epi32(sums, _mm256_set1_epi32(Q_INV));
    _mm256_sub_epi64(sums, _mm256_mul_epi32(t, _mm256_set1_epi32(Q)))
}

/// Coefficients `8 n..8 n + 8` of a row, not reduced.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn row_sums(a: &[NttPoly], b: &[NttPoly], n: usize) -> Sums {
    let mut sums = Sums::zero();
    for (a, b) in a.iter().zip(b) {
        sums = sums.add(get(&a.0, n), get(&b.0, n));
    }
    sums
}

/// [`crate::ring::ntt::row_product`], the same order in and out.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn row_product(a: &[NttPoly], b: &[NttPoly], out: &mut NttPoly) {
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
#[target_feature(enable = "avx2")]
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
            product_of::<TERMS, WideBlock>(a, vector, out);
        }
        Expansion::Packed(a) => {
            let a = &a[..out.len() * TERMS];
            // SAFETY: `PackedPoly` is 256 coefficients of three bytes without padding.
            let a = unsafe { core::slice::from_raw_parts(a.as_ptr().cast(), 32 * a.len()) };
            product_of::<TERMS, PackedBlock>(a, vector, out);
        }
    }
}

/// Eight coefficients in memory.
trait Stored {
    /// # Safety
    /// The CPU must have this backend's features.
    unsafe fn load(&self) -> __m256i;
}

type WideBlock = [i32; 8];

impl Stored for WideBlock {
    #[inline(always)]
    unsafe fn load(&self) -> __m256i {
        // SAFETY: 32 bytes; the caller has the features.
        unsafe { _mm256_loadu_si256(self.as_ptr().cast()) }
    }
}

type PackedBlock = [u8; 24];

impl Stored for PackedBlock {
    #[inline(always)]
    unsafe fn load(&self) -> __m256i {
        // SAFETY: the caller has the features.
        unsafe { spread(self) }
    }
}

#[inline(never)]
#[target_feature(enable = "avx2")]
fn product_of<const TERMS: usize, B: Stored>(
    a: &[B],
    vector: &[NttPoly; TERMS],
    out: &mut [NttPoly],
) {
    let zero = _mm256_setzero_si256();
    let rows = out.len();
    for (n, block) in a.chunks_exact(rows * TERMS).enumerate() {
        let mut terms = [(zero, zero); TERMS];
        for (term, b) in terms.iter_mut().zip(vector) {
            let b = get(&b.0, n);
            *term = (b, odd_lanes(b));
        }
        // Two rows at a time: what the vector loads serves both.
        let (pairs, out) = (
            block.as_chunks::<TERMS>().0.as_chunks::<2>().0,
            out.as_chunks_mut::<2>().0,
        );
        for ([first, second], out) in pairs.iter().zip(out) {
            let mut sums = [Sums::zero(); 2];
            for ((a, b), &term) in first.iter().zip(second).zip(&terms) {
                // SAFETY: the features of this function.
                let (a, b) = unsafe { (a.load(), b.load()) };
                sums = [sums[0].add_split(a, term), sums[1].add_split(b, term)];
            }
            put(&mut out[0].0, n, sums[0].reduce());
            put(&mut out[1].0, n, sums[1].reduce());
        }
    }
}
