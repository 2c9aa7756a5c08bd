//! Bit fields to coefficients, fused with the forward transform.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::ntt::{Order, ntt_registers, reduce, to_standard_order};
use super::registers::Aligned;
use super::registers::{Registers, for_each_register};
use super::vector::Vector;
use crate::memory::ct::is_negative;
use crate::params::Q;
use crate::params::{D, N};
use crate::ring::poly::{NttPoly, Poly};

/// Addend that makes a transformed polynomial non-negative, as IFMA needs it. Bounds: `|v| < 2^19 + 10 q < 11 q` before, `0 < v < 22 q < 2^28` after.
const BIAS: i32 = 11 * Q;

/// Fused BitUnpack (algorithm 19), norm check and NTT of one polynomial of z.
/// `bytes` holds `32 * BITS` bytes, `BITS` is 18 or 20. Returns whether every
/// `|z| < 2^(BITS - 1) - beta`.
///
/// Bounds: `0 < out < 22 q`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn unpack_z_ntt<const BITS: usize, O: Order>(
    bytes: &[u8],
    beta: i32,
    out: &mut MaybeUninit<NttPoly>,
) -> bool {
    let gamma1 = 1 << (BITS - 1);
    let lowest = _mm512_set1_epi32(beta + 1);
    let mut largest = _mm512_setzero_si512();
    let mut v = unpack::<BITS>(bytes);
    // With z = gamma1 - x, |z| < gamma1 - beta means beta < x < 2 gamma1 - beta.
    for x in &mut v {
        largest = _mm512_max_epu32(largest, _mm512_sub_epi32(*x, lowest));
        *x = response(*x, gamma1);
    }
    let limit = _mm512_set1_epi32(2 * gamma1 - 2 * beta - 1);
    let within = _mm512_cmplt_epu32_mask(largest, limit) == 0xffff;
    transform::<O>(&mut v, Range::Biased, out);
    within
}

/// Range of a transformed polynomial.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    /// `(0, 22 q)`, a vector entry next to canonical matrix entries.
    Biased,
    /// `(3 q / 4, 9 q / 4)`, a vector entry next to a biased polynomial.
    Reduced,
    /// `[0, q)`, a matrix entry.
    Canonical,
}

/// NTT of the challenge, in the given range.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn challenge_ntt<O: Order>(c: &[i8; N], range: Range, out: &mut MaybeUninit<NttPoly>) {
    let mut v = [_mm512_setzero_si512(); 16];
    for (register, chunk) in v.iter_mut().zip(c.as_chunks::<16>().0) {
        // SAFETY: a chunk has 16 bytes.
        *register = _mm512_cvtepi8_epi32(unsafe { _mm_loadu_si128(chunk.as_ptr().cast()) });
    }
    transform::<O>(&mut v, range, out);
}

/// `NTT(-t1 2^13)` from the 320 packed bytes of one row of t1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn unpack_t1_ntt<O: Order>(bytes: &[u8], range: Range, out: &mut MaybeUninit<NttPoly>) {
    let mut v = unpack::<10>(bytes);
    for t1 in &mut v {
        *t1 = minus_t1_2d(*t1);
    }
    transform::<O>(&mut v, range, out);
}

/// NTT of any polynomial, in standard order, as [`Kernels::ntt`]. Constant time.
///
/// [`Kernels::ntt`]: crate::backend::kernels::Kernels::ntt
#[target_feature(enable = "avx512f")]
pub(super) fn ntt(a: &Poly, out: &mut NttPoly) {
    let mut v = load(&a.0);
    transform_secret(&mut v, out);
}

/// Fused BitUnpack and NTT of one y. Constant time. Bounds: `|out| < 11 q`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn unpack_mask_ntt<const BITS: usize>(bytes: &[u8], out: &mut NttPoly) {
    let mut v = unpack::<BITS>(bytes);
    for y in &mut v {
        *y = response(*y, 1 << (BITS - 1));
    }
    transform_secret(&mut v, out);
}

/// Fused BitUnpack and NTT of one row of t0. Constant time. Bounds: `|out| < 11 q`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn unpack_t0_ntt(bytes: &[u8], out: &mut NttPoly) {
    let mut v = unpack::<13>(bytes);
    for t0 in &mut v {
        *t0 = response(*t0, 1 << (D - 1));
    }
    transform_secret(&mut v, out);
}

/// Fused BitUnpack, range check and NTT of one row of s1 or s2. Returns whether every
/// field was at most 2 eta. Constant time. Bounds: `|out| < 11 q`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn unpack_eta_ntt<const BITS: usize>(bytes: &[u8], out: &mut NttPoly) -> bool {
    let mut largest = _mm512_setzero_si512();
    let mut v = unpack::<BITS>(bytes);
    for_each_register!(n, {
        largest = _mm512_max_epu32(largest, v[n]);
        v[n] = response(v[n], eta(BITS));
    });
    transform_secret(&mut v, out);
    none_above(largest, 2 * eta(BITS))
}

/// eta, of which a coefficient has three or four bits.
pub(super) const fn eta(bits: usize) -> i32 {
    if bits == 3 { 2 } else { 4 }
}

/// Whether no lane is above `limit`: a verdict on secrets, passed through the value barrier.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn none_above(largest: __m512i, limit: i32) -> bool {
    let above = _mm512_cmpgt_epu32_mask(largest, _mm512_set1_epi32(limit));
    !is_negative(-i32::from(above))
}

/// Transforms secret coefficients; the output is in standard order. Bounds: `|v| < B` in,
/// `|out| < B + 10 q`, as [`ntt_registers`].
#[inline(always)]
fn transform_secret(v: &mut Registers, out: &mut NttPoly) {
    ntt_registers(v);
    for_each_register!(n in 0..8, {
        (v[2 * n], v[2 * n + 1]) = to_standard_order(v[2 * n], v[2 * n + 1]);
    });
    // SAFETY: `v` is registers, which prove the features; a polynomial has 1024 bytes.
    unsafe { store(v, out.0.as_mut_ptr()) };
}

/// z from its field. Bounds: `0 <= x < 2 gamma1` gives `-gamma1 < out <= gamma1`.
#[inline(always)]
pub(super) fn response(x: __m512i, gamma1: i32) -> __m512i {
    x.splat(gamma1).sub(x)
}

/// `-t1 2^13`. Bounds: `0 <= t1 < 2^10` gives `-q < out <= 0`.
#[inline(always)]
pub(super) fn minus_t1_2d(t1: __m512i) -> __m512i {
    t1.splat(0).sub(t1.mul(1 << D))
}

/// NTT, order and range.
///
/// Bounds: `|v| <= q` in, so that `|v| < 11 q` before the range is chosen.
#[inline(always)]
fn transform<O: Order>(v: &mut Registers, range: Range, out: &mut MaybeUninit<NttPoly>) {
    ntt_registers(v);
    for_each_register!(n in 0..8, {
        let (a, b) = O::from_private(v[2 * n], v[2 * n + 1]);
        (v[2 * n], v[2 * n + 1]) = (range.of(a), range.of(b));
    });
    // SAFETY: `v` is registers, which prove the features; a polynomial has 1024 bytes.
    unsafe { store(v, out.as_mut_ptr().cast()) };
}

impl Range {
    /// The same residue in this range. Bounds: `|a| < 11 q`.
    #[inline(always)]
    pub(super) fn of(self, a: __m512i) -> __m512i {
        match self {
            Self::Biased => a.add(a.splat(BIAS)),
            Self::Reduced => reduce(a).add(a.splat(Q)),
            Self::Canonical => reduce(a).canonical(),
        }
    }
}

/// 256 fields of 3 to 20 bits. Constant time. Panics if `bytes` is shorter than
/// `32 * BITS`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn unpack<const BITS: usize>(bytes: &[u8]) -> Registers {
    let bytes = &bytes[..32 * BITS];
    let mut v = [_mm512_setzero_si512(); 16];
    for_each_register!(n, {
        v[n] = fields::<BITS>(bytes, n);
    });
    v
}

/// Fields `16 n..16 n + 16`, which are `2 * BITS` bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn fields<const BITS: usize>(bytes: &[u8], n: usize) -> __m512i {
    let bytes = &bytes[2 * BITS * n..2 * BITS * (n + 1)];
    let index = const { &field_bytes(BITS) }.load();
    let shift = const { &field_shifts(BITS) }.load();
    // SAFETY: the mask lets exactly the bytes of the slice be read.
    let raw = unsafe { _mm512_maskz_loadu_epi8((1 << (2 * BITS)) - 1, bytes.as_ptr().cast()) };
    let fields = _mm512_srlv_epi32(_mm512_permutexvar_epi8(index, raw), shift);
    _mm512_and_si512(fields, _mm512_set1_epi32((1 << BITS) - 1))
}

/// Byte numbers for `vpermb`: the four bytes from which field `n` is cut.
const fn field_bytes(bits: usize) -> Aligned<[u8; 64]> {
    let mut table = [0; 64];
    let mut n = 0;
    while n < 64 {
        table[n] = (n / 4 * bits / 8 + n % 4) as u8;
        n += 1;
    }
    Aligned(table)
}

const fn field_shifts(bits: usize) -> Aligned<[i32; 16]> {
    let mut table = [0; 16];
    let mut n = 0;
    while n < 16 {
        table[n] = (n * bits % 8) as i32;
        n += 1;
    }
    Aligned(table)
}

/// All 256 coefficients.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(poly: &[i32; 256]) -> Registers {
    let at = |n: usize| {
        let chunk = &poly.as_chunks::<16>().0[n];
        // SAFETY: a chunk has 64 bytes.
        unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }
    };
    // This is unrolled, because with a loop the compiler copies the array to memory.
    let (a, b) = ([at(0), at(1), at(2), at(3)], [at(4), at(5), at(6), at(7)]);
    let (c, d) = (
        [at(8), at(9), at(10), at(11)],
        [at(12), at(13), at(14), at(15)],
    );
    [
        a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], c[0], c[1], c[2], c[3], d[0], d[1], d[2],
        d[3],
    ]
}

/// Writes all 256 coefficients.
///
/// # Safety
/// `poly` must be valid for writes of 1024 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn store(v: &Registers, poly: *mut i32) {
    for (n, register) in v.iter().enumerate() {
        // SAFETY: `n < 16`, sixteen vectors of 64 bytes.
        unsafe { _mm512_storeu_si512(poly.add(16 * n).cast(), *register) };
    }
}
