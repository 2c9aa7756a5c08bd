//! Products in the NTT domain with IFMA and one lazy reduction per coefficient.
//!
//! Bounds: matrix entries in `[0, q)` and vector entries in `[0, 22 q)`, or one of
//! `[0, 22 q)` by one of `[0, 9 q / 4)`; at most eight terms. A product is below
//! `49.5 q^2 < 2^52`, so IFMA's low 52 bits hold it, and a sum is below `204 q^2`.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::ntt::{Q, high_dwords};
use crate::params::N;
use crate::poly::NttPoly;

/// `-q^-1 mod 2^32`.
const NEGATED_Q_INV: u32 = 4_236_238_847;

/// Sixteen running sums, of the even and of the odd lanes.
#[derive(Clone, Copy)]
struct Sums(__m512i, __m512i);

impl Sums {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Self {
        Self(_mm512_setzero_si512(), _mm512_setzero_si512())
    }

    /// Adds `a b` with `b` split into even and odd lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add(self, a: __m512i, (even, odd): (__m512i, __m512i)) -> Self {
        let (a_even, a_odd) = split(a);
        Self(
            _mm512_madd52lo_epu64(self.0, a_even, even),
            _mm512_madd52lo_epu64(self.1, a_odd, odd),
        )
    }

    /// The sums times `2^-32`: algorithm 49 on unsigned numbers, which spares the
    /// sign extensions.
    ///
    /// Bounds: sums below `204 q^2` give `(s + m q) / 2^32` in `[0, q + 204 q^2 / 2^32]`,
    /// and less q that lies in `[-q, q)`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn reduce(self) -> __m512i {
        let q = _mm512_set1_epi32(Q);
        let factor = _mm512_set1_epi32(NEGATED_Q_INV.cast_signed());
        let even = _mm512_add_epi64(
            self.0,
            _mm512_mul_epu32(_mm512_mul_epu32(self.0, factor), q),
        );
        let odd = _mm512_add_epi64(
            self.1,
            _mm512_mul_epu32(_mm512_mul_epu32(self.1, factor), q),
        );
        _mm512_sub_epi32(_mm512_mask_blend_epi32(0xaaaa, high_dwords(even), odd), q)
    }
}

/// Even and odd lanes as 64-bit numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn split(v: __m512i) -> (__m512i, __m512i) {
    (
        _mm512_and_si512(v, _mm512_set1_epi64(0xffff_ffff)),
        _mm512_srli_epi64::<32>(v),
    )
}

#[inline]
#[target_feature(enable = "avx512f")]
fn block(poly: &[i32], n: usize) -> __m512i {
    let chunk = &poly[16 * n..16 * n + 16];
    // SAFETY: 64 bytes.
    unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }
}

/// Every row of the prepared matrix times the vector: `a` is
/// `[block 0..16][row 0..K][column 0..TERMS][16]`, `b` has `TERMS` polynomials.
/// Algorithm 48 and the c t1 column in one.
///
/// Bounds: `0 <= a < q`, `0 <= b < 22 q`, `|out| <= q`; the factor `2^-32` stays.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn matrix_product<const K: usize, const TERMS: usize>(
    a: &[NttPoly],
    b: &[NttPoly; TERMS],
    out: &mut [MaybeUninit<NttPoly>; K],
) {
    let a = &a[..K * TERMS];
    // SAFETY: `NttPoly` is 256 coefficients without padding.
    let a = unsafe { core::slice::from_raw_parts(a.as_ptr().cast::<i32>(), N * a.len()) };
    for (n, rows) in a.chunks_exact(16 * K * TERMS).enumerate() {
        let mut vector = [(_mm512_setzero_si512(), _mm512_setzero_si512()); TERMS];
        for (term, b) in vector.iter_mut().zip(b) {
            *term = split(block(&b.0, n));
        }
        for (row, out) in rows.chunks_exact(16 * TERMS).zip(out.iter_mut()) {
            let mut sums = Sums::zero();
            for (j, &term) in vector.iter().enumerate() {
                sums = sums.add(block(row, j), term);
            }
            let out: *mut i32 = out.as_mut_ptr().cast();
            // SAFETY: `n < 16`, 64 bytes.
            unsafe { _mm512_storeu_si512(out.add(16 * n).cast(), sums.reduce()) };
        }
    }
}

/// One polynomial of running sums, even and odd lanes apart.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct RowSums([[u64; 16]; 16]);

impl RowSums {
    pub(super) const ZERO: Self = Self([[0; 16]; 16]);

    /// Adds the products of neighbouring polynomials of one row.
    ///
    /// Bounds: at most eight terms in all, of the ranges above.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add(&mut self, a: &[[i32; N]], b: &[NttPoly]) {
        for (n, sums) in self.0.iter_mut().enumerate() {
            let memory: *mut __m512i = sums.as_mut_ptr().cast();
            // SAFETY: two vectors of 64 bytes, aligned by the type.
            let mut total =
                unsafe { Sums(_mm512_load_si512(memory), _mm512_load_si512(memory.add(1))) };
            for (a, b) in a.iter().zip(b) {
                total = total.add(block(a, n), split(block(&b.0, n)));
            }
            // SAFETY: as above.
            unsafe {
                _mm512_store_si512(memory, total.0);
                _mm512_store_si512(memory.add(1), total.1);
            }
        }
    }

    /// The reduced row. Bounds: `|out| <= q`; the factor `2^-32` stays.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn reduce(&self, out: &mut MaybeUninit<NttPoly>) {
        let out: *mut i32 = out.as_mut_ptr().cast();
        for (n, sums) in self.0.iter().enumerate() {
            let memory: *const __m512i = sums.as_ptr().cast();
            // SAFETY: two vectors of 64 bytes, aligned by the type; `n < 16`.
            unsafe {
                let total = Sums(_mm512_load_si512(memory), _mm512_load_si512(memory.add(1)));
                _mm512_storeu_si512(out.add(16 * n).cast(), total.reduce());
            }
        }
    }
}
