//! Coefficients to bit fields. Constant time.

use core::arch::x86_64::*;

use super::registers::{Aligned, Registers, for_each_register};
use super::w1::IN_ORDER;
use crate::params::{T0_POLY_LEN, T1_POLY_LEN};

/// 256 fields of 18 or 20 bits to `32 * BITS` bytes, of which `WIDTH` is a sixteenth.
///
/// Panics if `out` is short. Bounds: `0 <= v < 2^BITS`, or the bytes mean nothing.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi")]
pub(super) fn pack_z<const BITS: usize, const WIDTH: usize>(v: &Registers, out: &mut [u8]) {
    let out = &mut out[..16 * WIDTH];
    for_each_register!(n, {
        let packed = pack_lanes::<WIDTH>(join::<BITS>(v[n]));
        store::<WIDTH>(packed, &mut out[WIDTH * n..]);
    });
}

/// 256 fields of 13 bits, which `field` makes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn pack_t0(
    v: &Registers,
    field: impl Fn(__m512i) -> __m512i,
    out: &mut [u8; T0_POLY_LEN],
) {
    for_each_register!(n in 0..8, {
        let fields = join::<26>(join_words::<13>(field(v[2 * n]), field(v[2 * n + 1])));
        store::<52>(pack_lanes::<52>(fields), &mut out[52 * n..]);
    });
}

/// 256 fields of 10 bits, which `field` makes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn pack_t1(
    v: &Registers,
    field: impl Fn(__m512i) -> __m512i,
    out: &mut [u8; T1_POLY_LEN],
) {
    for_each_register!(n in 0..8, {
        let fields = join::<20>(join_words::<10>(field(v[2 * n]), field(v[2 * n + 1])));
        store::<40>(pack_lanes::<40>(fields), &mut out[40 * n..]);
    });
}

/// 256 fields of three or four bits to `32 * BITS` bytes. Panics if `out` is short.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn pack_eta<const BITS: usize>(v: &Registers, out: &mut [u8]) {
    let out = &mut out[..32 * BITS];
    for (quad, out) in v
        .as_chunks::<4>()
        .0
        .iter()
        .zip(out.chunks_exact_mut(8 * BITS))
    {
        let low = _mm512_or_si512(quad[0], _mm512_slli_epi32::<16>(quad[1]));
        let high = _mm512_or_si512(
            _mm512_slli_epi32::<8>(quad[2]),
            _mm512_slli_epi32::<24>(quad[3]),
        );
        let bytes = _mm512_permutexvar_epi8(IN_ORDER.load(), _mm512_or_si512(low, high));
        if BITS == 3 {
            let pairs = _mm512_maddubs_epi16(bytes, _mm512_set1_epi16(0x0801));
            let quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0040_0001));
            store::<24>(pack_lanes::<24>(join::<12>(quads)), out);
        } else {
            let pairs = _mm512_maddubs_epi16(bytes, _mm512_set1_epi16(0x1001));
            let pairs = _mm512_castsi256_si512(_mm512_cvtepi16_epi8(pairs));
            store::<32>(pairs, out);
        }
    }
}

/// The fields of `BITS` bits of two 32-bit lanes, side by side in one of 64.
#[inline]
#[target_feature(enable = "avx512f")]
fn join<const BITS: usize>(v: __m512i) -> __m512i {
    let moved = _mm512_srlv_epi64(v, _mm512_set1_epi64(32 - BITS as i64));
    let low = _mm512_set1_epi64((1 << BITS) - 1);
    // Of v where `low` is set, else of `moved`.
    _mm512_ternarylogic_epi64::<0xca>(low, v, moved)
}

/// The fields of two neighbouring registers, in order, two in each 32-bit lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn join_words<const BITS: usize>(a: __m512i, b: __m512i) -> __m512i {
    let words = _mm512_permutex2var_epi16(a, EVEN_WORDS.load(), b);
    _mm512_madd_epi16(words, _mm512_set1_epi32(1 | 1 << (16 + BITS)))
}

/// The lower `WIDTH` bits of every 64-bit lane as `WIDTH` bytes. WIDTH is a multiple
/// of four, and the bits above are zero.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi")]
fn pack_lanes<const WIDTH: usize>(v: __m512i) -> __m512i {
    let bytes = const { &lane_bytes(WIDTH) };
    if WIDTH.is_multiple_of(8) {
        return _mm512_permutexvar_epi8(bytes.load(), v);
    }
    // Odd lanes begin in the middle of the byte in which the lane before ends.
    let v = _mm512_sllv_epi64(v, HALF_BYTES.load());
    let shared = const { shared_bytes(WIDTH) };
    let begins = const { &lane_beginnings(WIDTH) };
    _mm512_or_si512(
        _mm512_permutexvar_epi8(bytes.load(), v),
        _mm512_maskz_permutexvar_epi8(shared, begins.load(), v),
    )
}

/// The first `WIDTH` bytes, a multiple of four, to the front of `out`; where there is
/// room, others follow, which the next call overwrites.
#[inline]
#[target_feature(enable = "avx512f")]
fn store<const WIDTH: usize>(v: __m512i, out: &mut [u8]) {
    if let Some(out) = out.first_chunk_mut::<64>()
        && WIDTH > 32
    {
        // SAFETY: 64 bytes.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), v) };
        return;
    }
    let out = &mut out[..WIDTH];
    let mask = const { ((1u32 << (WIDTH / 4)) - 1) as u16 };
    // SAFETY: the mask lets only the words of `out` be written.
    unsafe { _mm512_mask_storeu_epi32(out.as_mut_ptr().cast(), mask, v) };
}

static EVEN_WORDS: Aligned<[u16; 32]> = {
    let mut table = [0; 32];
    let mut n = 0;
    while n < 32 {
        table[n] = 2 * n as u16;
        n += 1;
    }
    Aligned(table)
};

static HALF_BYTES: Aligned<[i64; 8]> = Aligned([0, 4, 0, 4, 0, 4, 0, 4]);

/// Byte numbers for `vpermb` in [`pack_lanes`].
const fn lane_bytes(width: usize) -> Aligned<[u8; 64]> {
    let mut table = [0; 64];
    let mut n = 0;
    while n < width {
        // Two lanes are `width / 4` bytes, of which the first lane begins `first`.
        let (pair, byte) = (n / (width / 4), n % (width / 4));
        let first = width.div_ceil(8);
        table[n] = if byte < first {
            16 * pair + byte
        } else {
            16 * pair + 8 + byte - width / 8
        } as u8;
        n += 1;
    }
    Aligned(table)
}

/// The bytes of which the second half is the beginning of an odd lane.
const fn shared_bytes(width: usize) -> u64 {
    let (mut mask, mut pair) = (0, 0);
    while pair < 4 {
        mask |= 1 << (pair * (width / 4) + width / 8);
        pair += 1;
    }
    mask
}

/// Positions of those beginnings.
const fn lane_beginnings(width: usize) -> Aligned<[u8; 64]> {
    let mut table = [0; 64];
    let mut pair = 0;
    while pair < 4 {
        table[pair * (width / 4) + width / 8] = (16 * pair + 8) as u8;
        pair += 1;
    }
    Aligned(table)
}
