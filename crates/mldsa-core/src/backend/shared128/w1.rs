//! High bits of w, with and without hints, and their packed form.

use super::registers::*;

use super::ntt::{get_pair, inv_ntt};
use super::pack::{pack_fours, pack_sixes};
use super::vector::{Eight, bytes, get, low_bytes, positive, put_bytes_at};
use crate::backend::transform::Order;
use crate::memory::array::Zeroed;
use crate::memory::secret::Secret;
use crate::params::{GAMMA2_32, GAMMA2_88, N};
use crate::ring::poly::{NttPoly, Poly};
use crate::ring::rounding::use_hint_vartime;

/// Fused inverse NTT, UseHint (algorithm 40) and w1Encode (algorithm 28) of one row.
/// `SIX_BITS` selects gamma2 = (q - 1) / 88 and 192 bytes out, otherwise it is
/// (q - 1) / 32 and 128 bytes. Variable time in the hint.
///
/// Bounds: `|w_hat| <= q`, carrying the factor `2^-32`. Panics if `out` is short.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
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
        |v| positive(v),
        &mut w.0,
    );
    let mut w1 = [0; N];
    round::<SIX_BITS>(&w, &mut w1);
    let gamma2 = if SIX_BITS { GAMMA2_88 } else { GAMMA2_32 };
    // High bits for all, then the few hinted coefficients again.
    for &n in hint {
        let n = usize::from(n);
        w1[n] = use_hint_vartime(gamma2, 1, w.0[n]) as u8;
    }
    encode::<SIX_BITS>(&w1, out);
}

/// HighBits (algorithm 37) and w1Encode of a canonical row, as [`inv_ntt_use_hint`].
/// Constant time.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn high_bits<const SIX_BITS: bool>(w: &Poly, out: &mut [u8]) {
    let mut w1 = Secret::<[u8; N]>::zeroed();
    round::<SIX_BITS>(w, w1.expose_mut());
    encode::<SIX_BITS>(w1.expose(), out);
}

/// HighBits of a canonical row.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn round<const SIX_BITS: bool>(w: &Poly, w1: &mut [u8; N]) {
    for n in 0..N / 16 {
        let a = rounded::<SIX_BITS>(get(&w.0, 2 * n));
        let b = rounded::<SIX_BITS>(get(&w.0, 2 * n + 1));
        put_bytes_at(w1, 16 * n, wrapped::<SIX_BITS>(low_bytes(a, b)));
    }
}

#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn encode<const SIX_BITS: bool>(w1: &[u8; N], out: &mut [u8]) {
    if SIX_BITS {
        pack_sixes(w1, out);
    } else {
        pack_fours(w1, out);
    }
}

/// Algorithm 37 except for its wrap, of canonical coefficients: `0..=44` or `0..=16`.
///
/// With a factor just below `2^49 / (2 gamma2)` or `2^48 / (2 gamma2)` the upper half of
/// a doubled product, over `2^18` or `2^17` and rounded, is r over 2 gamma2, rounded: the
/// factor is too small by less than `2^-30` of it, so that a half is rounded down and a
/// half and `1 / (2 gamma2)` is rounded up.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn rounded<const SIX_BITS: bool>(r: Eight) -> Eight {
    r.map(
        #[inline(always)]
        |r| {
            if SIX_BITS {
                const FACTOR: i32 = ((1 << 48) / (2 * GAMMA2_88 as i64)) as i32;
                vrshrq_n_s32::<17>(vqdmulhq_n_s32(r, FACTOR))
            } else {
                const FACTOR: i32 = ((1 << 49) / (2 * GAMMA2_32 as i64)) as i32;
                vrshrq_n_s32::<18>(vqdmulhq_n_s32(r, FACTOR))
            }
        },
    )
}

/// The wrap of algorithm 37 on bytes: 44 or 16 becomes 0.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn wrapped<const SIX_BITS: bool>(r1: uint8x16_t) -> uint8x16_t {
    if SIX_BITS {
        vbicq_u8(r1, vcgtq_u8(r1, vdupq_n_u8(43)))
    } else {
        vandq_u8(r1, vdupq_n_u8(15))
    }
}

/// One bit for each of 32 coefficients: whether the high bits of the two differ.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn changed_high_bits<const SIX_BITS: bool>(pairs: [(Eight, Eight); 4]) -> [u8; 4] {
    let high = |a: Eight, b: Eight| {
        wrapped::<SIX_BITS>(low_bytes(rounded::<SIX_BITS>(a), rounded::<SIX_BITS>(b)))
    };
    let changed = |n: usize| {
        let ((a, a_after), (b, b_after)) = (pairs[n], pairs[n + 1]);
        let same = vceqq_u8(high(a, b), high(a_after, b_after));
        let weights = bytes(&[1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);
        vbicq_u8(weights, same)
    };
    let bits = vpaddq_u8(changed(0), changed(2));
    let bits = vpaddq_u8(bits, bits);
    let bits = vpaddq_u8(bits, bits);
    vgetq_lane_u32::<0>(vreinterpretq_u32_u8(bits)).to_le_bytes()
}

/// Algorithm 38 on canonical coefficients.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn low_bits<const SIX_BITS: bool>(gamma2: i32, r: Eight) -> Eight {
    let r1 = rounded::<SIX_BITS>(r);
    let four = |r: int32x4_t, r1: int32x4_t| {
        let r0 = vmlsq_s32(r, r1, vdupq_n_s32(2 * gamma2));
        // The topmost residues, whose r1 is one too many, have r - q instead of
        // r - (q - 1).
        let topmost = vcgtq_s32(r1, vdupq_n_s32(if SIX_BITS { 43 } else { 15 }));
        vaddq_s32(r0, vreinterpretq_s32_u32(topmost))
    };
    Eight(four(r.0, r1.0), four(r.1, r1.1))
}
