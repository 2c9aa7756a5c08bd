//! The rows of signing and key generation. Constant time; verdicts are secret.

use core::arch::x86_64::*;

use super::ntt::{get, inv_ntt, ntt, put};
use super::pack::{in_order, pack, pack_fours, pack_threes};
use super::product::Sums;
use super::unpack::{field, short_field};
use super::w1::{high_bits, hundred_twenty_eighths, rounded, wrapped};
use crate::backend::transform::{Order, Standard, Vector, response};
use crate::coding::hint::HINT_ROW_LEN;
use crate::memory::ct::is_negative;
use crate::memory::secret::Secret;
use crate::params::{D, GAMMA2_32, GAMMA2_88, N, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring::poly::{NttPoly, Poly};

/// Fused BitUnpack and NTT of one y. Bounds: `|out| < 9 q`.
#[target_feature(enable = "avx2")]
pub(super) fn unpack_mask_ntt(gamma1_bits: u32, bytes: &[u8], out: &mut NttPoly) {
    match gamma1_bits {
        17 => ntt::<Standard>(
            #[inline(always)]
            |n| response(field::<18>(bytes, n), 1 << 17),
            &mut out.0,
        ),
        _ => ntt::<Standard>(
            #[inline(always)]
            |n| response(field::<20>(bytes, n), 1 << 19),
            &mut out.0,
        ),
    }
}

/// Fused BitUnpack, range check and NTT of one row of s1 or s2. Bounds: `|out| < 9 q`.
#[target_feature(enable = "avx2")]
pub(super) fn unpack_eta_ntt(eta: i32, bytes: &[u8], out: &mut NttPoly) -> bool {
    let mut check = Check::new();
    ntt::<Standard>(
        #[inline(always)]
        |n| {
            let code = eta_field(eta, bytes, n);
            check.at_most(code, 2 * eta);
            response(code, eta)
        },
        &mut out.0,
    );
    check.passed()
}

/// Fused BitUnpack and NTT of one row of t0. Bounds: `|out| < 9 q`.
#[target_feature(enable = "avx2")]
pub(super) fn unpack_t0_ntt(bytes: &[u8], out: &mut NttPoly) {
    ntt::<Standard>(
        #[inline(always)]
        |n| response(short_field::<{ D as usize }>(bytes, n), 1 << (D - 1)),
        &mut out.0,
    );
}

/// BitPack of one row of s1 or s2.
#[target_feature(enable = "avx2")]
pub(super) fn pack_eta(eta: i32, s: &Poly, out: &mut [u8]) {
    let len = if eta == 2 { 12 } else { 16 };
    for (n, out) in out[..8 * len].chunks_exact_mut(len).enumerate() {
        let code = |i| response(get(&s.0, 4 * n + i), eta);
        let low = _mm256_packus_epi32(code(0), code(1));
        let high = _mm256_packus_epi32(code(2), code(3));
        let codes = in_order(_mm256_packus_epi16(low, high));
        if eta == 2 {
            pack_threes(codes, out);
        } else {
            pack_fours(codes, out);
        }
    }
}

/// One row of `Power2Round(A s1 + s2)`, packed.
#[target_feature(enable = "avx2")]
pub(super) fn public_row(
    eta: i32,
    a_row: &[NttPoly],
    s1_hat: &[NttPoly],
    s2: &[u8],
    t1_out: &mut [u8; T1_POLY_LEN],
    t0_out: &mut [u8; T0_POLY_LEN],
) {
    let mut t = Secret::<Poly>::zeroed();
    let t = t.expose_mut();
    row_of_product(a_row, s1_hat, t);
    for n in 0..N / 8 {
        let s2 = response(eta_field(eta, s2, n), eta);
        // -eta <= t + s2 < q + eta
        let t = get(&t.0, n).add(s2).canonical();
        let up = t.splat((1 << (D - 1)) - 1);
        let t1 = _mm256_srai_epi32::<{ D as i32 }>(t.add(up));
        let t0 = t.sub(_mm256_slli_epi32::<{ D as i32 }>(t1));
        pack::<10>(t1, n, t1_out);
        pack::<{ D as i32 }>(response(t0, 1 << (D - 1)), n, t0_out);
    }
}

/// One row of a commitment: w = A y and its packed high bits.
#[target_feature(enable = "avx2")]
pub(super) fn commit_row(
    gamma2: i32,
    a_row: &[NttPoly],
    y_hat: &[NttPoly],
    w: &mut Poly,
    w1: &mut [u8],
) {
    row_of_product(a_row, y_hat, w);
    match gamma2 {
        GAMMA2_88 => high_bits::<true>(w, w1),
        _ => high_bits::<false>(w, w1),
    }
}

/// One row of z = y + c s1, packed, and its norm check.
#[target_feature(enable = "avx2")]
pub(super) fn respond_row(
    gamma1_bits: u32,
    bound: i32,
    c_hat: &NttPoly,
    s1_hat: &NttPoly,
    y_hat: &NttPoly,
    out: &mut [u8],
) -> bool {
    let one = _mm256_set1_epi32(1);
    let mut z = Secret::<Poly>::zeroed();
    let z = z.expose_mut();
    // |c s1 + y| < 121 q^2 + 11 q; the common factor 2^-32 leaves with the inverse
    // transform.
    centred_inv_ntt(
        #[inline(always)]
        |n| {
            Sums::zero()
                .add(get(&c_hat.0, n), get(&s1_hat.0, n))
                .add(get(&y_hat.0, n), one)
        },
        z,
    );
    let mut check = Check::new();
    for n in 0..N / 8 {
        let z = get(&z.0, n);
        check.at_most(_mm256_abs_epi32(z), bound - 1);
        match gamma1_bits {
            17 => pack::<18>(response(z, 1 << 17), n, out),
            _ => pack::<20>(response(z, 1 << 19), n, out),
        }
    }
    check.passed()
}

/// One row of w - c s2 in the place of w, and the check of its low bits.
#[target_feature(enable = "avx2")]
pub(super) fn low_bits_row(
    gamma2: i32,
    bound: i32,
    c_hat: &NttPoly,
    s2_hat: &NttPoly,
    w: &mut Poly,
) -> bool {
    let mut cs2 = Secret::<Poly>::zeroed();
    let cs2 = cs2.expose_mut();
    product_inv_ntt(c_hat, s2_hat, cs2);
    let mut check = Check::new();
    for n in 0..N / 8 {
        let r = get(&w.0, n).sub(get(&cs2.0, n)).canonical();
        put(&mut w.0, n, r);
        check.at_most(_mm256_abs_epi32(low_bits(gamma2, r)), bound - 1);
    }
    check.passed()
}

/// MakeHint of one row as a bitmap, and the norm check of c t0.
#[target_feature(enable = "avx2")]
pub(super) fn hint_row(
    gamma2: i32,
    c_hat: &NttPoly,
    t0_hat: &NttPoly,
    w: &Poly,
    bitmap: &mut [u8; HINT_ROW_LEN],
) -> bool {
    let mut ct0 = Secret::<Poly>::zeroed();
    let ct0 = ct0.expose_mut();
    product_inv_ntt(c_hat, t0_hat, ct0);
    let mut check = Check::new();
    for (n, bits) in bitmap.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let mut sums = |n: usize| {
            let (w, ct0) = (get(&w.0, n), get(&ct0.0, n));
            check.at_most(_mm256_abs_epi32(ct0), gamma2 - 1);
            (w, w.add(ct0).canonical())
        };
        let mut same = |n: usize| {
            let ((a, a_sum), (b, b_sum)) = (sums(n), sums(n + 1));
            let (before, after) = (
                hundred_twenty_eighths(a, b),
                hundred_twenty_eighths(a_sum, b_sum),
            );
            match gamma2 {
                GAMMA2_88 => same_high_bits::<true>(before, after),
                _ => same_high_bits::<false>(before, after),
            }
        };
        let same = _mm256_packs_epi16(same(4 * n), same(4 * n + 2));
        let same = _mm256_movemask_epi8(in_order(same));
        *bits = (!same).to_le_bytes();
    }
    check.passed()
}

/// The product of two polynomials, back in centred coefficients.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn product_inv_ntt(a: &NttPoly, b: &NttPoly, out: &mut Poly) {
    centred_inv_ntt(
        #[inline(always)]
        |n| Sums::zero().add(get(&a.0, n), get(&b.0, n)),
        out,
    );
}

/// The centred coefficients of what the sums are the product of.
#[inline]
#[target_feature(enable = "avx2")]
fn centred_inv_ntt(sums: impl Fn(usize) -> Sums, out: &mut Poly) {
    inv_ntt(
        #[inline(always)]
        |n| Standard::to_private(sums(2 * n).reduce(), sums(2 * n + 1).reduce()).into(),
        #[inline(always)]
        |v| v.centred(),
        &mut out.0,
    );
}

/// A row of A times a vector, back in canonical coefficients.
#[inline]
#[target_feature(enable = "avx2")]
fn row_of_product(a: &[NttPoly], b: &[NttPoly], out: &mut Poly) {
    let product = |n| {
        let mut sums = Sums::zero();
        for (a, b) in a.iter().zip(b) {
            sums = sums.add(get(&a.0, n), get(&b.0, n));
        }
        sums.reduce()
    };
    inv_ntt(
        #[inline(always)]
        |n| Standard::to_private(product(2 * n), product(2 * n + 1)).into(),
        #[inline(always)]
        |v| v.canonical(),
        &mut out.0,
    );
}

/// Eight code words of a packed row of s1 or s2, of 3 or 4 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn eta_field(eta: i32, bytes: &[u8], n: usize) -> __m256i {
    let bits = if eta == 2 { 3 } else { 4 };
    // The last ones are read with what is before them.
    let first = (bits * n).min(32 * bits - 4);
    let word = bytes[first..]
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let word = (word >> (8 * (bits * n - first))).cast_signed();
    let shifts = _mm256_mullo_epi32(
        _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
        _mm256_set1_epi32(bits as i32),
    );
    _mm256_and_si256(
        _mm256_srlv_epi32(_mm256_set1_epi32(word), shifts),
        _mm256_set1_epi32((1 << bits) - 1),
    )
}

/// Algorithm 38 on canonical coefficients.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn low_bits(gamma2: i32, r: __m256i) -> __m256i {
    // As in `rounding`: 2 gamma2 is a multiple of 128.
    let eighths = _mm256_srli_epi32::<7>(r.add(r.splat(127)));
    let (factor, round, shift, top) = if gamma2 == GAMMA2_32 {
        (1_025, 1 << 21, 22, 15)
    } else {
        (11_275, 1 << 23, 24, 43)
    };
    let product = _mm256_mullo_epi32(eighths, r.splat(factor)).add(r.splat(round));
    let r1 = _mm256_srl_epi32(product, _mm_cvtsi32_si128(shift));
    // The topmost residues, whose r1 is one too many, have r - q instead of r - (q - 1).
    let topmost = _mm256_cmpgt_epi32(r1, r.splat(top));
    r.sub(_mm256_mullo_epi32(r1, r.splat(2 * gamma2)))
        .add(topmost)
}

/// All ones where the high bits agree.
#[inline]
#[target_feature(enable = "avx2")]
fn same_high_bits<const SIX_BITS: bool>(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi16(
        wrapped::<SIX_BITS>(rounded::<SIX_BITS>(a)),
        wrapped::<SIX_BITS>(rounded::<SIX_BITS>(b)),
    )
}

/// A verdict over many coefficients, negative somewhere if one is beyond its limit.
#[derive(Clone, Copy)]
struct Check(__m256i);

impl Check {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new() -> Self {
        Self(_mm256_setzero_si256())
    }

    /// Bounds: `a >= 0`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn at_most(&mut self, a: __m256i, limit: i32) {
        self.0 = _mm256_or_si256(self.0, a.splat(limit).sub(a));
    }

    /// The verdict, passed through the value barrier: the caller declassifies it.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn passed(self) -> bool {
        !is_negative(-_mm256_movemask_ps(_mm256_castsi256_ps(self.0)))
    }
}
