//! From `w` in NTT form to the packed high bits, in one pass over registers.

use core::arch::x86_64::*;

use super::ntt::{Nearest, Order, inv_ntt_registers};
use super::registers::{Aligned, Registers, for_each_register};
use super::unpack::load;
use crate::ring::poly::NttPoly;

/// Fused inverse NTT, UseHint (algorithm 40) and w1Encode (algorithm 28) of one
/// row, whose hint [`hint_masks`] made. `SIX_BITS` selects gamma2 = (q - 1) / 88
/// and 192 bytes out, otherwise it is (q - 1) / 32 and 128 bytes.
///
/// Bounds: `|w_hat| <= q`, carrying the factor `2^-32`. Panics if `out` is short.
// Inlined it would share its registers with the caller.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn inv_ntt_use_hint<const SIX_BITS: bool, O: Order>(
    w_hat: &NttPoly,
    hint: &[u32; 8],
    out: &mut [u8],
) {
    let out = &mut out[..if SIX_BITS { 192 } else { 128 }];
    let mut v = load(&w_hat.0);
    for_each_register!(n in 0..8, {
        (v[2 * n], v[2 * n + 1]) = O::to_private(v[2 * n], v[2 * n + 1]);
    });
    inv_ntt_registers::<Nearest>(&mut v);
    encode::<SIX_BITS>(&v, hint, out);
}

/// UseHint and w1Encode of canonical coefficients. Constant time in them.
///
/// Panics if `out` is short.
// Always inlined: a call would pass the registers through memory.
#[inline(always)]
pub(super) fn encode<const SIX_BITS: bool>(v: &Registers, hint: &[u32; 8], out: &mut [u8]) {
    let len = if SIX_BITS { 48 } else { 32 };
    let out = &mut out[..4 * len];
    for_each_register!(n in 0..4, {
        let out = &mut out[len * n..len * n + len];
        // SAFETY: `v` is registers, which prove the features; the chunk has 48 or 32 bytes.
        unsafe {
            let low = use_hint::<SIX_BITS>([v[4 * n], v[4 * n + 1]], hint[2 * n]);
            let high = use_hint::<SIX_BITS>([v[4 * n + 2], v[4 * n + 3]], hint[2 * n + 1]);
            let w1 = in_order::<SIX_BITS>(low, high);
            if SIX_BITS {
                let pairs = _mm512_maddubs_epi16(w1, _mm512_set1_epi16(0x4001));
                let quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x1000_0001));
                let packed = _mm512_permutexvar_epi8(THREE_OF_FOUR.load(), quads);
                // Two plain stores: one that masks bytes is slow.
                let last = _mm512_extracti32x4_epi32::<2>(packed);
                _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm512_castsi512_si256(packed));
                _mm_storeu_si128(out.as_mut_ptr().add(32).cast(), last);
            } else {
                let pairs = _mm512_maddubs_epi16(w1, _mm512_set1_epi16(0x1001));
                _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm512_cvtepi16_epi8(pairs));
            }
        }
    });
}

/// Algorithm 40 on 32 canonical coefficients: r1 in 16-bit lanes, of `r[0]` in the
/// even and of `r[1]` in the odd ones, from -1 to 44 or 16, not wrapped yet; bit n
/// of `hint` is for lane n.
///
/// 2 gamma2 is a multiple of 128, so 16 bits are enough: with
/// `s = ceil(r / 128)`, r1 is s over gamma2 / 64, rounded, and r0 is positive
/// where s exceeds that multiple. At the topmost residues r1 stays as it is before
/// its wrap: r0 is at most zero there, as the special case of algorithm 36 requires.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn use_hint<const SIX_BITS: bool>(r: [__m512i; 2], hint: u32) -> __m512i {
    let [even, odd] = r.map(
        #[inline(always)]
        |r| _mm512_add_epi32(r, _mm512_set1_epi32(127)),
    );
    // even | odd & upper halves
    let s = _mm512_ternarylogic_epi32::<0xf8>(
        _mm512_srli_epi32::<7>(even),
        _mm512_slli_epi32::<9>(odd),
        _mm512_set1_epi32(-0x1_0000),
    );
    // floor(s factor / 2^16), then that over 2^8 or 2^6, rounded.
    let (factor, round, step) = if SIX_BITS {
        (11_275, 1 << 7, 1_488)
    } else {
        (1_025, 1 << 9, 4_092)
    };
    let r1 = _mm512_mulhi_epu16(s, _mm512_set1_epi16(factor));
    let r1 = _mm512_mulhrs_epi16(r1, _mm512_set1_epi16(round));
    // The difference fits, so that its sign is right though s wraps.
    let minus_r0 = _mm512_sub_epi16(_mm512_mullo_epi16(r1, _mm512_set1_epi16(step)), s);
    // -1 where r0 > 0, else 1.
    let down = _mm512_or_si512(_mm512_srai_epi16::<15>(minus_r0), _mm512_set1_epi16(1));
    _mm512_mask_sub_epi16(r1, hint, r1, down)
}

/// The results of two calls of [`use_hint`] for neighbouring coefficients as 64
/// bytes in order, wrapped to 0..44 or 0..16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn in_order<const SIX_BITS: bool>(low: __m512i, high: __m512i) -> __m512i {
    // One more in every byte: there is no -1 any more that would borrow.
    let ones = _mm512_set1_epi16(0x0101);
    let bytes = _mm512_add_epi16(_mm512_slli_epi16::<8>(high), _mm512_add_epi16(low, ones));
    let wrapped = if SIX_BITS { &WRAP_44 } else { &WRAP_16 };
    _mm512_permutexvar_epi8(
        IN_ORDER.load(),
        _mm512_permutexvar_epi8(bytes, wrapped.load()),
    )
}

/// The hint bits of one row from its rising indices: of 32 coefficients in each
/// word, the first sixteen in the even bits, the others in the odd ones.
#[inline]
pub(super) fn hint_masks(indices: &[u8]) -> [u32; 8] {
    let mut masks = [0; 8];
    for &n in indices {
        masks[usize::from(n / 32)] |= 1 << (2 * (n % 16) + n / 16 % 2);
    }
    masks
}

static WRAP_44: Aligned<[u8; 64]> = wrap(44);
static WRAP_16: Aligned<[u8; 64]> = wrap(16);

/// `n - 1 mod m` for every n.
const fn wrap(m: u8) -> Aligned<[u8; 64]> {
    let mut table = [0; 64];
    let mut n = 0;
    while n < 64 {
        table[n as usize] = (n + m - 1) % m;
        n += 1;
    }
    Aligned(table)
}

/// Position of byte `n` of 64; every 32-bit lane has four: of coefficient `n`,
/// `n + 32`, `n + 16` and `n + 48`, `n < 16`.
pub(super) static IN_ORDER: Aligned<[u8; 64]> = {
    let mut table = [0; 64];
    let mut n = 0;
    while n < 64 {
        table[n] = (n % 16 * 4 + n / 16 % 2 * 2 + n / 32) as u8;
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
