//! The rows of key generation and signing: products, the inverse transform, and
//! what rounds, checks and packs, in one pass over registers.
//!
//! Everything here is secret and constant time: integers alone, masks and byte
//! permutations in registers, verdicts over all coefficients, passed through the value barrier.
//! A product is signed and reduced once (`montgomery`): NTT forms of `|a| < 11 q` and
//! matrix entries of `0 <= a < q` keep every sum below `2^31 q`.

use core::arch::x86_64::*;

use super::ntt::{Shoup, from_standard_order, inv_ntt_registers};
use super::pack::{pack_eta, pack_t0, pack_t1, pack_z};
use super::registers::{EvenLanes, Q, Registers, for_each_register};
use super::unpack::{eta, fields, load, none_above, response, store};
use super::vector::Vector;
use super::w1::encode;
use crate::coding::hint::HINT_ROW_LEN;
use crate::memory::secret::Secret;
use crate::params::{D, GAMMA2_32, GAMMA2_88, N, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring::poly::{NttPoly, Poly};

/// A row of algorithm 48 times `2^-32`, as [`Kernels::row_product`].
///
/// [`Kernels::row_product`]: crate::backend::kernels::Kernels::row_product
// One function for all rows of this file: the number of terms is not known to it.
#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(super) fn row_product(a: &[NttPoly], b: &[NttPoly], out: &mut NttPoly) {
    let lanes = EvenLanes::new();
    let zero = _mm512_setzero_si512();
    for (n, out) in out.0.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let mut sum = (zero, zero);
        for (a, b) in a.iter().zip(b) {
            sum = block(&a.0, n).accumulate(block(&b.0, n), sum);
        }
        // SAFETY: a chunk has 64 bytes.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), zero.montgomery(sum, lanes)) };
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn block(poly: &[i32; N], n: usize) -> __m512i {
    let chunk = &poly.as_chunks::<16>().0[n];
    // SAFETY: a chunk has 64 bytes.
    unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }
}

/// Algorithm 42 times `2^32`, from standard order: `|v| <= q` in, `[0, q)` out.
#[inline(always)]
pub(super) fn back(v: &mut [__m512i; 16]) {
    for_each_register!(n in 0..8, {
        (v[2 * n], v[2 * n + 1]) = from_standard_order(v[2 * n], v[2 * n + 1]);
    });
    inv_ntt_registers::<Shoup>(v);
}

/// As [`Kernels::inv_ntt`]; out in `[0, q)`.
///
/// [`Kernels::inv_ntt`]: crate::backend::kernels::Kernels::inv_ntt
#[target_feature(enable = "avx512f")]
pub(super) fn inv_ntt(a: &NttPoly, out: &mut Poly) {
    let mut v = load(&a.0);
    back(&mut v);
    // SAFETY: a polynomial has 1024 bytes.
    unsafe { store(&v, out.0.as_mut_ptr()) };
}

/// The coefficients of `a b`, in `[0, q)`, from the registers of `a`.
// Always inlined: a call would pass the registers through memory.
#[inline(always)]
fn product(v: &mut Registers, b: &NttPoly) {
    let lanes = EvenLanes::new();
    for_each_register!(n, {
        // SAFETY: `v` is registers, which prove the features.
        let b = unsafe { block(&b.0, n) };
        v[n] = b.montgomery(b.product(v[n]), lanes);
    });
    back(v);
}

/// As [`Kernels::product_inv_ntt`].
///
/// [`Kernels::product_inv_ntt`]: crate::backend::kernels::Kernels::product_inv_ntt
#[target_feature(enable = "avx512f")]
pub(super) fn product_inv_ntt(a: &NttPoly, b: &NttPoly, out: &mut Poly) {
    let mut v = load(&a.0);
    product(&mut v, b);
    let q = _mm512_set1_epi32(Q);
    for_each_register!(n, {
        let above = _mm512_cmpgt_epi32_mask(v[n], _mm512_set1_epi32(Q / 2));
        v[n] = _mm512_mask_sub_epi32(v[n], above, v[n], q);
    });
    // SAFETY: a polynomial has 1024 bytes.
    unsafe { store(&v, out.0.as_mut_ptr()) };
}

/// As [`Kernels::commit_row`].
///
/// [`Kernels::commit_row`]: crate::backend::kernels::Kernels::commit_row
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn commit_row<const SIX_BITS: bool>(
    a: &[NttPoly],
    y_hat: &[NttPoly],
    w: &mut Poly,
    w1: &mut [u8],
) {
    let mut sums = Secret::<NttPoly>::zeroed();
    row_product(a, y_hat, sums.expose_mut());
    let mut v = load(&sums.expose().0);
    back(&mut v);
    // SAFETY: a polynomial has 1024 bytes.
    unsafe { store(&v, w.0.as_mut_ptr()) };
    encode::<SIX_BITS>(&v, &[0; 8], w1);
}

/// As [`Kernels::respond_row`]; a field of z has `BITS` bits.
///
/// [`Kernels::respond_row`]: crate::backend::kernels::Kernels::respond_row
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn respond_row<const BITS: usize, const WIDTH: usize>(
    bound: i32,
    c_hat: &NttPoly,
    s1_hat: &NttPoly,
    y_hat: &NttPoly,
    out: &mut [u8],
) -> bool {
    let out = &mut out[..16 * WIDTH];
    let lanes = EvenLanes::new();
    let one = _mm512_set1_epi32(1);
    let mut v = [one; 16];
    for_each_register!(n, {
        let y = block(&y_hat.0, n).product(one);
        let sum = block(&c_hat.0, n).accumulate(block(&s1_hat.0, n), y);
        v[n] = one.montgomery(sum, lanes);
    });
    back(&mut v);
    // With x = z + bound - 1 mod q, |z| < bound means x <= 2 bound - 2, and the field
    // is gamma1 - z = gamma1 + bound - 1 - x.
    let reach = _mm512_set1_epi32(bound - 1);
    let field = _mm512_set1_epi32((1 << (BITS - 1)) + bound - 1);
    let mut largest = _mm512_setzero_si512();
    for_each_register!(n, {
        let x = less_q(_mm512_add_epi32(v[n], reach));
        largest = _mm512_max_epu32(largest, x);
        v[n] = _mm512_sub_epi32(field, x);
    });
    pack_z::<BITS, WIDTH>(&v, out);
    none_above(largest, 2 * bound - 2)
}

/// As [`Kernels::low_bits_row`].
///
/// [`Kernels::low_bits_row`]: crate::backend::kernels::Kernels::low_bits_row
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn low_bits_row<const SIX_BITS: bool>(
    bound: i32,
    c_hat: &NttPoly,
    s2_hat: &NttPoly,
    w: &mut Poly,
) -> bool {
    let mut v = load(&c_hat.0);
    product(&mut v, s2_hat);
    let reach = _mm512_set1_epi32(bound - 1);
    let mut largest = _mm512_setzero_si512();
    // w - c s2 takes the place of the product.
    for_each_register!(n, {
        let w = plus_q(_mm512_sub_epi32(block(&w.0, n), v[n]));
        v[n] = w;
        let r1 = high_bits::<SIX_BITS>(w);
        let step = _mm512_set1_epi32(2 * gamma2(SIX_BITS));
        let r0 = _mm512_sub_epi32(w, _mm512_mullo_epi32(r1, step));
        // The topmost residues: r0 - 1.
        let top = _mm512_cmpeq_epi32_mask(r1, _mm512_set1_epi32(top(SIX_BITS)));
        let r0 = _mm512_mask_sub_epi32(r0, top, r0, _mm512_set1_epi32(1));
        largest = _mm512_max_epu32(largest, _mm512_add_epi32(r0, reach));
    });
    // SAFETY: a polynomial has 1024 bytes.
    unsafe { store(&v, w.0.as_mut_ptr()) };
    none_above(largest, 2 * bound - 2)
}

/// As [`Kernels::hint_row`].
///
/// [`Kernels::hint_row`]: crate::backend::kernels::Kernels::hint_row
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn hint_row<const SIX_BITS: bool>(
    c_hat: &NttPoly,
    t0_hat: &NttPoly,
    w: &Poly,
    bitmap: &mut [u8; HINT_ROW_LEN],
) -> bool {
    let bound = gamma2(SIX_BITS);
    let mut ct0 = load(&c_hat.0);
    product(&mut ct0, t0_hat);
    let reach = _mm512_set1_epi32(bound - 1);
    let mut largest = _mm512_setzero_si512();
    let wrapped = |r| {
        let r1 = high_bits::<SIX_BITS>(r);
        let kept = _mm512_cmpneq_epi32_mask(r1, _mm512_set1_epi32(top(SIX_BITS)));
        _mm512_maskz_mov_epi32(kept, r1)
    };
    let words = bitmap.as_chunks_mut::<2>().0;
    for_each_register!(n, {
        let (w, ct0) = (block(&w.0, n), ct0[n]);
        // As z in `respond_row`.
        let x = less_q(_mm512_add_epi32(ct0, reach));
        largest = _mm512_max_epu32(largest, x);
        let sum = less_q(_mm512_add_epi32(w, ct0));
        words[n] = _mm512_cmpneq_epi32_mask(wrapped(sum), wrapped(w)).to_le_bytes();
    });
    none_above(largest, 2 * bound - 2)
}

/// As [`Kernels::public_row`]; a field of s2 has `BITS` bits.
///
/// [`Kernels::public_row`]: crate::backend::kernels::Kernels::public_row
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn public_row<const BITS: usize>(
    a: &[NttPoly],
    s1_hat: &[NttPoly],
    s2: &[u8],
    t1_out: &mut [u8; T1_POLY_LEN],
    t0_out: &mut [u8; T0_POLY_LEN],
) {
    let s2 = &s2[..32 * BITS];
    let mut sums = Secret::<NttPoly>::zeroed();
    row_product(a, s1_hat, sums.expose_mut());
    let mut t = load(&sums.expose().0);
    back(&mut t);
    for_each_register!(n, {
        // 0 <= t < q, |s2| <= eta
        let s2 = response(fields::<BITS>(s2, n), eta(BITS));
        let sum = less_q(plus_q(_mm512_add_epi32(t[n], s2)));
        t[n] = _mm512_add_epi32(sum, _mm512_set1_epi32((1 << (D - 1)) - 1));
    });
    // Of x = t + 2^12 - 1, t1 is x / 2^13, and 2^12 - t0 is 2^13 - 1 - x mod 2^13.
    pack_t1(&t, |x| _mm512_srli_epi32::<{ D }>(x), t1_out);
    let low = _mm512_set1_epi32((1 << D) - 1);
    pack_t0(&t, |x| _mm512_andnot_si512(x, low), t0_out);
}

/// BitPack of one row of s1 or s2 with `BITS` bits a field.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn pack_secret<const BITS: usize>(s: &Poly, out: &mut [u8]) {
    let mut v = load(&s.0);
    for_each_register!(n, {
        v[n] = response(v[n], eta(BITS));
    });
    pack_eta::<BITS>(&v, out);
}

/// `[-q, q)` to `[0, q)`.
#[inline]
#[target_feature(enable = "avx512f")]
fn plus_q(v: __m512i) -> __m512i {
    _mm512_min_epu32(v, _mm512_add_epi32(v, _mm512_set1_epi32(Q)))
}

/// `[0, 2 q)` to `[0, q)`.
#[inline]
#[target_feature(enable = "avx512f")]
fn less_q(v: __m512i) -> __m512i {
    _mm512_min_epu32(v, _mm512_sub_epi32(v, _mm512_set1_epi32(Q)))
}

const fn gamma2(six_bits: bool) -> i32 {
    if six_bits { GAMMA2_88 } else { GAMMA2_32 }
}

/// The high bits of the topmost residues before they wrap to 0.
const fn top(six_bits: bool) -> i32 {
    (Q - 1) / (2 * gamma2(six_bits))
}

/// Algorithm 37 except for its wrap: 0 to 44 or 16. As `rounding::high_bits`: with
/// `a = ceil(r / 2^7)` below 2^16, `(a 11275 + 2^23) / 2^24` or
/// `(a 1025 + 2^21) / 2^22`, the first 16 bits of the quotient by 16-bit products.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn high_bits<const SIX_BITS: bool>(r: __m512i) -> __m512i {
    let a = _mm512_srli_epi32::<7>(_mm512_add_epi32(r, _mm512_set1_epi32(127)));
    if SIX_BITS {
        let product = _mm512_mulhi_epu16(a, _mm512_set1_epi32(11_275));
        _mm512_srli_epi32::<8>(_mm512_add_epi32(product, _mm512_set1_epi32(1 << 7)))
    } else {
        let product = _mm512_mulhi_epu16(a, _mm512_set1_epi32(1_025));
        _mm512_srli_epi32::<6>(_mm512_add_epi32(product, _mm512_set1_epi32(1 << 5)))
    }
}
