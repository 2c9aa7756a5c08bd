//! From `w` in NTT form to the packed high bits, in one pass over registers.

use core::arch::x86_64::*;

use super::Aligned;
use super::ntt::{canonical, from_standard_order, inv_ntt_registers};
use super::unpack::load;
use super::vector::Vector;
use crate::poly::NttPoly;

/// Fused inverse NTT, UseHint (algorithm 40) and w1Encode (algorithm 28) of one
/// row. `hint[n]` has a bit for each of the coefficients `16 n..16 n + 16`.
/// `SIX_BITS` selects gamma2 = (q - 1) / 88 and 192 bytes out, otherwise it is
/// (q - 1) / 32 and 128 bytes.
///
/// Bounds: `|w_hat| < q`, carrying the factor `2^-32`. Panics if `out` is short.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn inv_ntt_use_hint<const SIX_BITS: bool, const STANDARD: bool>(
    w_hat: &NttPoly,
    hint: &[u16; 16],
    out: &mut [u8],
) {
    let mut v = load(&w_hat.0);
    if STANDARD {
        for pair in v.as_chunks_mut::<2>().0 {
            (pair[0], pair[1]) = from_standard_order(pair[0], pair[1]);
        }
    }
    inv_ntt_registers(&mut v);
    let len = if SIX_BITS { 48 } else { 32 };
    for ((quad, hint), out) in v
        .as_chunks::<4>()
        .0
        .iter()
        .zip(hint.as_chunks::<4>().0)
        .zip(out[..4 * len].chunks_exact_mut(len))
    {
        let w1 = [0, 1, 2, 3].map(
            #[inline(always)]
            |n: usize| use_hint::<SIX_BITS>(canonical(quad[n]), hint[n]),
        );
        // One byte a coefficient: four registers side by side, then in order.
        let low = _mm512_or_si512(w1[0], _mm512_slli_epi32::<8>(w1[1]));
        let high = _mm512_or_si512(
            _mm512_slli_epi32::<16>(w1[2]),
            _mm512_slli_epi32::<24>(w1[3]),
        );
        let bytes = _mm512_permutexvar_epi8(IN_ORDER.load(), _mm512_or_si512(low, high));
        if SIX_BITS {
            let pairs = _mm512_maddubs_epi16(bytes, _mm512_set1_epi16(0x4001));
            let quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x1000_0001));
            let packed = _mm512_permutexvar_epi8(THREE_OF_FOUR.load(), quads);
            // SAFETY: the mask lets exactly the 48 bytes of the chunk be written.
            unsafe { _mm512_mask_storeu_epi8(out.as_mut_ptr().cast(), (1 << 48) - 1, packed) };
        } else {
            let pairs = _mm512_maddubs_epi16(bytes, _mm512_set1_epi16(0x1001));
            // SAFETY: the chunk has 32 bytes.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm512_cvtepi16_epi8(pairs)) };
        }
    }
}

/// Algorithm 40 on sixteen canonical coefficients.
///
/// `r1` is taken before its wrap at the topmost residues: there `r - r1 2 gamma2`
/// is at most zero, as the special case of algorithm 36 wants it.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn use_hint<const SIX_BITS: bool>(r: __m512i, hint: u16) -> __m512i {
    let (r1, r0) = parts::<SIX_BITS, _>(r);
    let one = _mm512_set1_epi32(1);
    let zero = _mm512_setzero_si512();
    let up = _mm512_mask_cmpgt_epi32_mask(hint, r0, zero);
    let down = _mm512_mask_cmple_epi32_mask(hint, r0, zero);
    let r1 = _mm512_mask_add_epi32(r1, up, r1, one);
    let r1 = _mm512_mask_sub_epi32(r1, down, r1, one);
    if SIX_BITS {
        // -1 is 43 and 44 is 0; 45 does not occur, since r0 <= 0 where r1 = 44.
        let m = _mm512_set1_epi32(44);
        let r1 = _mm512_min_epu32(r1, _mm512_add_epi32(r1, m));
        _mm512_min_epu32(r1, _mm512_sub_epi32(r1, m))
    } else {
        _mm512_and_si512(r1, _mm512_set1_epi32(15))
    }
}

/// r1 before its wrap, and `r - r1 2 gamma2`. Bounds: `0 <= r < q`.
#[inline(always)]
pub(super) fn parts<const SIX_BITS: bool, V: Vector>(r: V) -> (V, V) {
    let scaled = r.add(V::splat(127)).shift_right::<7>();
    if SIX_BITS {
        let rounded = scaled.mul(11_275).add(V::splat(1 << 23));
        let r1 = rounded.shift_right::<24>();
        (r1, r.sub(r1.mul(190_464)))
    } else {
        let rounded = scaled.mul(1_025).add(V::splat(1 << 21));
        let r1 = rounded.shift_right::<22>();
        (r1, r.sub(r1.mul(523_776)))
    }
}

/// The hint bits of one row from its rising indices.
#[inline]
pub(super) fn hint_masks(indices: &[u8]) -> [u16; 16] {
    let mut masks = [0; 16];
    for &n in indices {
        masks[usize::from(n / 16)] |= 1 << (n % 16);
    }
    masks
}

static IN_ORDER: Aligned<[u8; 64]> = {
    let mut table = [0; 64];
    let mut n = 0;
    while n < 64 {
        table[n] = (n % 16 * 4 + n / 16) as u8;
        n += 1;
    }
    Aligned(table)
};

static THREE_OF_FOUR: Aligned<[u8; 64]> = {
    let mut table = [0; 64];
    let mut n = 0;
    while n < 48 {
        table[n] = (n / 3 * 4 + n % 3) as u8;
        n += 1;
    }
    Aligned(table)
};
