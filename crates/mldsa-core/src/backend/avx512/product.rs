//! Products in the NTT domain with IFMA and one lazy reduction per coefficient.
//!
//! Bounds: matrix entries in `[0, q)` and vector entries in `[0, 22 q)`, or one of
//! `[0, 22 q)` by one of `[0, 9 q / 4)`; at most eight terms. A product is below
//! `49.5 q^2 < 2^52`, so IFMA's low 52 bits hold it, and a sum is below `204 q^2`.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::dims::{Array, Dims};
use super::registers::{Aligned, high_dwords};
use crate::coding::expansion::Expansion;
use crate::params::Q;
use crate::ring::poly::NttPoly;

/// `-q^-1 mod 2^32`.
const NEGATED_Q_INV: u32 = 4_236_238_847;

/// Sixteen running sums, of the even and of the odd lanes.
#[derive(Clone, Copy)]
pub(super) struct Sums(__m512i, __m512i);

impl Sums {
    /// Adds `a b`, both split into even and odd lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add(self, a: (__m512i, __m512i), b: (__m512i, __m512i)) -> Self {
        Self(
            _mm512_madd52lo_epu64(self.0, a.0, b.0),
            _mm512_madd52lo_epu64(self.1, a.1, b.1),
        )
    }

    /// The sums times `2^-32`: algorithm 49 on unsigned numbers, which spares the
    /// sign extensions.
    ///
    /// Bounds: sums below `204 q^2` give `(s + m q) / 2^32` in `[0, q + 204 q^2 / 2^32]`,
    /// and less q that is in `[-q, q)`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn reduce(self) -> __m512i {
        let q = _mm512_set1_epi64(Q.into());
        let factor = _mm512_set1_epi64(NEGATED_Q_INV.into());
        let [even, odd] = [self.0, self.1].map(
            #[inline(always)]
            |sum| {
                let multiple = _mm512_mul_epu32(_mm512_mul_epu32(sum, factor), q);
                _mm512_add_epi64(sum, multiple)
            },
        );
        let sum = _mm512_mask_blend_epi32(0xaaaa, high_dwords(even), odd);
        _mm512_sub_epi32(sum, _mm512_set1_epi32(Q))
    }
}

/// Even and odd lanes as 64-bit numbers. Bounds: `v >= 0`.
#[inline]
#[target_feature(enable = "avx512f")]
fn split(v: __m512i) -> (__m512i, __m512i) {
    let even = _mm512_and_si512(v, _mm512_set1_epi64(0xffff_ffff));
    (even, _mm512_srli_epi64::<32>(v))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn block(poly: &[i32], n: usize) -> __m512i {
    let chunk = &poly[16 * n..16 * n + 16];
    // SAFETY: 64 bytes.
    unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }
}

/// Every row of the prepared matrix times the vector: `a` is
/// `[block 0..16][row 0..K][column 0..TERMS][16]`. Every element of `out` is written.
/// Algorithm 48 and the c t1 column in one.
///
/// Bounds: `0 <= a < q`, `0 <= b < 22 q`, `|out| <= q`; the factor `2^-32` stays.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
pub(super) fn matrix_product<S: Dims>(
    a: Expansion<'_>,
    b: &S::Terms<NttPoly>,
    out: &mut MaybeUninit<S::Rows<NttPoly>>,
) {
    match a {
        Expansion::Wide(a) => {
            let a = &a[..S::K * S::TERMS];
            // SAFETY: `NttPoly` is 256 coefficients without padding.
            let a = unsafe { core::slice::from_raw_parts(a.as_ptr().cast(), 16 * a.len()) };
            product_of::<S, WideBlock>(a, b, out);
        }
        Expansion::Packed(a) => {
            let a = &a[..S::K * S::TERMS];
            // SAFETY: `PackedPoly` is 256 coefficients of three bytes without padding.
            let a = unsafe { core::slice::from_raw_parts(a.as_ptr().cast(), 16 * a.len()) };
            product_of::<S, PackedBlock>(a, b, out);
        }
    }
}

/// Sixteen coefficients in memory.
trait Stored {
    /// Even and odd lanes as 64-bit numbers.
    ///
    /// # Safety
    /// The CPU must have this backend's features.
    unsafe fn split(&self) -> (__m512i, __m512i);
}

type WideBlock = [i32; 16];

impl Stored for WideBlock {
    #[inline(always)]
    unsafe fn split(&self) -> (__m512i, __m512i) {
        // SAFETY: 64 bytes; the caller has the features.
        unsafe { split(_mm512_loadu_si512(self.as_ptr().cast())) }
    }
}

type PackedBlock = [u8; 48];

impl Stored for PackedBlock {
    #[inline(always)]
    unsafe fn split(&self) -> (__m512i, __m512i) {
        // SAFETY: 48 bytes, no more are touched; the caller has the features.
        unsafe {
            let bytes = _mm512_maskz_loadu_epi8((1 << 48) - 1, self.as_ptr().cast());
            (
                _mm512_permutexvar_epi8(PACKED_LANES[0].load(), bytes),
                _mm512_permutexvar_epi8(PACKED_LANES[1].load(), bytes),
            )
        }
    }
}

/// Positions of the bytes of the even and of the odd coefficients among 48; the last
/// byte of the register, which the load made zero, fills their 64-bit lanes.
static PACKED_LANES: [Aligned<[u8; 64]>; 2] = {
    let mut tables = [Aligned([63; 64]); 2];
    let mut n = 0;
    while n < 16 {
        let mut byte = 0;
        while byte < 3 {
            tables[n % 2].0[8 * (n / 2) + byte] = (3 * n + byte) as u8;
            byte += 1;
        }
        n += 1;
    }
    tables
};

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
fn product_of<S: Dims, B: Stored>(
    a: &[B],
    b: &S::Terms<NttPoly>,
    out: &mut MaybeUninit<S::Rows<NttPoly>>,
) {
    let out = S::Rows::elements(out);
    let zero = _mm512_setzero_si512();
    for (n, rows) in a.chunks_exact(S::K * S::TERMS).enumerate() {
        let mut vector = S::Terms::filled((zero, zero));
        for (term, b) in vector.as_mut().iter_mut().zip(b.as_ref()) {
            *term = split(block(&b.0, n));
        }
        for (row, out) in rows.chunks_exact(S::TERMS).zip(out.iter_mut()) {
            let mut sums = Sums(zero, zero);
            for (a, &term) in row.iter().zip(vector.as_ref()) {
                // SAFETY: the features of this function.
                sums = sums.add(unsafe { a.split() }, term);
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
    pub(super) fn add(&mut self, a: &[NttPoly], b: &[NttPoly]) {
        for (n, sums) in self.0.iter_mut().enumerate() {
            let memory: *mut __m512i = sums.as_mut_ptr().cast();
            // SAFETY: two vectors of 64 bytes, aligned by the type.
            let mut total =
                unsafe { Sums(_mm512_load_si512(memory), _mm512_load_si512(memory.add(1))) };
            for (a, b) in a.iter().zip(b) {
                total = total.add(split(block(&a.0, n)), split(block(&b.0, n)));
            }
            // SAFETY: the two vectors that were just read.
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
