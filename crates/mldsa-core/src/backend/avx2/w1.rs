//! High bits of w, with and without hints, and their packed form.

use core::arch::x86_64::*;

use super::ntt::{get_pair, inv_ntt};
use super::pack::{in_order, pack_fours, pack_sixes};
use super::vector::{Eight, get};
use crate::backend::transform::{Order, Vector};
use crate::memory::array::Zeroed;
use crate::params::N;
use crate::ring::poly::{NttPoly, Poly};

/// Fused inverse NTT, UseHint (algorithm 40) and w1Encode (algorithm 28) of one row.
/// `SIX_BITS` selects gamma2 = (q - 1) / 88 and 192 bytes out, otherwise it is
/// (q - 1) / 32 and 128 bytes. Variable time in the hint.
///
/// Bounds: `|w_hat| <= q`, carrying the factor `2^-32`. Panics if `out` is short.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn inv_ntt_use_hint<const SIX_BITS: bool, O: Order>(
    w_hat: &NttPoly,
    hint: &[u8],
    out: &mut [u8],
) {
    let mut w = Poly::zeroed();
    inv_ntt(
        #[inline(always)]
        |n| get_pair::<O>(&w_hat.0, n),
        #[inline(always)]
        |v| v.canonical(),
        &mut w.0,
    );
    let masks = HintMasks::new(hint);
    encode::<SIX_BITS>(
        &w,
        #[inline(always)]
        |s, n| use_hint::<SIX_BITS>(s, masks.0.as_chunks::<16>().0[n]),
        out,
    );
}

/// HighBits (algorithm 37) and w1Encode of a canonical row, as [`inv_ntt_use_hint`].
/// Constant time.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn high_bits<const SIX_BITS: bool>(w: &Poly, out: &mut [u8]) {
    encode::<SIX_BITS>(
        w,
        #[inline(always)]
        |s, _| rounded::<SIX_BITS>(s),
        out,
    );
}

/// w1Encode of what `high(s, n)` makes of each sixteen coefficients, `s` being
/// `ceil(r / 128)` in 16-bit lanes, in the order that [`HintMasks`] has.
#[inline]
#[target_feature(enable = "avx2")]
fn encode<const SIX_BITS: bool>(
    w: &Poly,
    high: impl Fn(__m256i, usize) -> __m256i,
    out: &mut [u8],
) {
    let len = if SIX_BITS { 24 } else { 16 };
    for (n, out) in out[..8 * len].chunks_exact_mut(len).enumerate() {
        let w = |i: usize| get(&w.0, 4 * n + i);
        let low = wrapped::<SIX_BITS>(high(hundred_twenty_eighths(w(0), w(1)), 2 * n));
        let high = wrapped::<SIX_BITS>(high(hundred_twenty_eighths(w(2), w(3)), 2 * n + 1));
        let w1 = in_order(_mm256_packus_epi16(low, high));
        if SIX_BITS {
            pack_sixes(w1, out);
        } else {
            pack_fours(w1, out);
        }
    }
}

/// `ceil(r / 128)` of sixteen canonical coefficients: below 2^16. Of each half of the
/// registers first `a`, then `b`.
#[inline]
#[target_feature(enable = "avx2")]
fn hundred_twenty_eighths(a: __m256i, b: __m256i) -> __m256i {
    let up = _mm256_set1_epi32(127);
    _mm256_packus_epi32(
        _mm256_srli_epi32::<7>(_mm256_add_epi32(a, up)),
        _mm256_srli_epi32::<7>(_mm256_add_epi32(b, up)),
    )
}

/// Algorithm 37 except for its wrap, from [`hundred_twenty_eighths`]: `0..=44` or
/// `0..=16`.
///
/// 2 gamma2 is a multiple of 128, so 16 bits are enough: s over gamma2 / 64, rounded, as
/// `floor(s factor / 2^16)` and that over 2^8 or 2^6, rounded.
#[inline]
#[target_feature(enable = "avx2")]
fn rounded<const SIX_BITS: bool>(s: __m256i) -> __m256i {
    let (factor, round) = if SIX_BITS {
        (11_275, 1 << 7)
    } else {
        (1_025, 1 << 9)
    };
    _mm256_mulhrs_epi16(
        _mm256_mulhi_epu16(s, _mm256_set1_epi16(factor)),
        _mm256_set1_epi16(round),
    )
}

/// Algorithm 40 except for its wrap: `-1..=44` or `-1..=16`; `hint` is all ones where the
/// hint is 1.
///
/// r0 is positive where s exceeds the multiple that r1 encodes. At the topmost
/// residues r1 stays as it is before its wrap: r0 is at most zero there, as the special
/// case of algorithm 36 requires.
#[inline]
#[target_feature(enable = "avx2")]
fn use_hint<const SIX_BITS: bool>(s: __m256i, hint: [i16; 16]) -> __m256i {
    let step = if SIX_BITS { 1_488 } else { 4_092 };
    let r1 = rounded::<SIX_BITS>(s);
    // The difference fits, so that its sign is right though s wraps.
    let minus_r0 = _mm256_sub_epi16(_mm256_mullo_epi16(r1, _mm256_set1_epi16(step)), s);
    // -1 where r0 > 0, else 1.
    let down = _mm256_or_si256(_mm256_srai_epi16::<15>(minus_r0), _mm256_set1_epi16(1));
    // SAFETY: 32 bytes.
    let hint = unsafe { _mm256_loadu_si256(hint.as_ptr().cast()) };
    _mm256_sub_epi16(r1, _mm256_and_si256(down, hint))
}

/// One bit for each of 32 coefficients: whether the high bits of the two differ.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn changed_high_bits<const SIX_BITS: bool>(pairs: [(Eight, Eight); 4]) -> [u8; 4] {
    let high = |a, b| wrapped::<SIX_BITS>(rounded::<SIX_BITS>(hundred_twenty_eighths(a, b)));
    let same = |n: usize| {
        let ((a, a_after), (b, b_after)) = (pairs[n], pairs[n + 1]);
        _mm256_cmpeq_epi16(high(a, b), high(a_after, b_after))
    };
    let same = _mm256_packs_epi16(same(0), same(2));
    (!_mm256_movemask_epi8(in_order(same))).to_le_bytes()
}

/// `-1..=44` to `0..44`, or `-1..=16` to `0..16`.
#[inline]
#[target_feature(enable = "avx2")]
fn wrapped<const SIX_BITS: bool>(r1: __m256i) -> __m256i {
    if SIX_BITS {
        // As unsigned numbers: of x and x + 44, and of x and x - 44, the smaller.
        let m = _mm256_set1_epi16(44);
        let r1 = _mm256_min_epu16(r1, _mm256_add_epi16(r1, m));
        _mm256_min_epu16(r1, _mm256_sub_epi16(r1, m))
    } else {
        _mm256_and_si256(r1, _mm256_set1_epi16(15))
    }
}

/// The hint of one row, all ones where it is 1: in each sixteen coefficients the second
/// and the third four change places, as packing two registers into one has them.
#[repr(C, align(32))]
struct HintMasks([i16; N]);

impl HintMasks {
    /// Makes the masks from the increasing indices.
    #[inline]
    fn new(indices: &[u8]) -> Self {
        let mut masks = [0; N];
        for &n in indices {
            masks[usize::from(n & !12 | n >> 1 & 4 | n << 1 & 8)] = -1;
        }
        Self(masks)
    }
}

/// Algorithm 38 on canonical coefficients.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn low_bits<const SIX_BITS: bool>(gamma2: i32, r: __m256i) -> __m256i {
    // As in `rounding`: 2 gamma2 is a multiple of 128.
    let eighths = _mm256_srli_epi32::<7>(r.add(r.splat(127)));
    let (factor, round, shift, top) = if SIX_BITS {
        (11_275, 1 << 23, 24, 43)
    } else {
        (1_025, 1 << 21, 22, 15)
    };
    let product = _mm256_mullo_epi32(eighths, r.splat(factor)).add(r.splat(round));
    let r1 = _mm256_srl_epi32(product, _mm_cvtsi32_si128(shift));
    // The topmost residues, whose r1 is one too many, have r - q instead of r - (q - 1).
    let topmost = _mm256_cmpgt_epi32(r1, r.splat(top));
    r.sub(_mm256_mullo_epi32(r1, r.splat(2 * gamma2)))
        .add(topmost)
}
