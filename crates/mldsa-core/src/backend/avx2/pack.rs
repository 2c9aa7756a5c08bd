//! Coefficients to bit fields (algorithms 16 and 17), eight or 32 at a time. Constant
//! time.

use core::arch::x86_64::*;

use super::vector::get;
use crate::backend::transform::{Aligned, response};
use crate::ring::poly::Poly;

/// 32 bytes in order, from what packing four registers to bytes makes of them: of each
/// half of the registers four lanes after four.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn in_order(packed: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

/// Of 32 bytes the lower four bits: 16 bytes. Bounds: each below 2^4.
///
/// Panics if `out` is short.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn pack_fours(bytes: __m256i, out: &mut [u8]) {
    let pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x1001));
    let halves = _mm256_packus_epi16(pairs, pairs);
    let packed = _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0x08>(halves));
    // SAFETY: 16 bytes.
    unsafe { _mm_storeu_si128(out[..16].as_mut_ptr().cast(), packed) };
}

/// Of 32 bytes the lower six bits: 24 bytes. Bounds: each below 2^6.
///
/// Panics if `out` is short.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn pack_sixes(bytes: __m256i, out: &mut [u8]) {
    let pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x4001));
    let quads = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x1000_0001));
    // Three bytes of every four to the front of their half, then of the register.
    let halves = _mm256_shuffle_epi8(
        quads,
        _mm256_setr_epi8(
            0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, //
            0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,
        ),
    );
    let packed = _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
    let out = &mut out[..24];
    // SAFETY: 24 bytes.
    unsafe {
        _mm_storeu_si128(out.as_mut_ptr().cast(), _mm256_castsi256_si128(packed));
        let last = _mm256_extracti128_si256::<1>(packed);
        _mm_storel_epi64(out.as_mut_ptr().add(16).cast(), last);
    }
}

/// Of 32 bytes the lower three bits: 12 bytes. Bounds: each below 2^3.
///
/// Panics if `out` is short.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn pack_threes(bytes: __m256i, out: &mut [u8]) {
    let pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x0801));
    let quads = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0040_0001));
    // Two fields of twelve bits: three bytes of every eight.
    let eights = join::<12>(quads);
    let halves = _mm256_shuffle_epi8(
        eights,
        _mm256_setr_epi8(
            0, 1, 2, 8, 9, 10, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, //
            -1, -1, -1, -1, -1, -1, 0, 1, 2, 8, 9, 10, -1, -1, -1, -1,
        ),
    );
    let packed = _mm_or_si128(
        _mm256_castsi256_si128(halves),
        _mm256_extracti128_si256::<1>(halves),
    );
    let out = &mut out[..12];
    // SAFETY: 8 bytes, and 4 after them.
    unsafe {
        _mm_storel_epi64(out.as_mut_ptr().cast(), packed);
        _mm_storeu_si32(out.as_mut_ptr().add(8).cast(), _mm_bsrli_si128::<8>(packed));
    }
}

/// The lower `BITS` bits of every two lanes, joined.
#[inline]
#[target_feature(enable = "avx2")]
fn join<const BITS: i32>(v: __m256i) -> __m256i {
    // The even lane up to the odd one, both down.
    let up = _mm256_sllv_epi32(v, _mm256_set1_epi64x(32 - i64::from(BITS)));
    _mm256_srl_epi64(up, _mm_cvtsi32_si128(32 - BITS))
}

/// Fields `8 n..8 n + 8` of 256 with `BITS` bits, 10, 13, 18 or 20. To be called for
/// rising n: the next call overwrites what a call writes after its own bytes.
///
/// Bounds: `0 <= v < 2^BITS`. Panics if `out` is shorter than `32 * BITS`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn pack<const BITS: i32>(v: __m256i, n: usize, out: &mut [u8]) {
    let bits = BITS as usize;
    // Four numbers of 2 BITS bits, each up by less than a byte; then the bytes of the
    // even and of the odd ones where they belong.
    let up = const { &shifts(BITS) }.load();
    let pairs = _mm256_sllv_epi64(join::<BITS>(v), up);
    let [even, odd] = const { &places(BITS) };
    let halves = _mm256_or_si256(
        _mm256_shuffle_epi8(pairs, even.load()),
        _mm256_shuffle_epi8(pairs, odd.load()),
    );
    let (low, high) = (
        _mm256_castsi256_si128(halves),
        _mm256_extracti128_si256::<1>(halves),
    );
    let out = &mut out[..32 * bits];
    let at = bits * n;
    if bits > 16 {
        let upper = at + bits / 2;
        put(low, &mut out[at..at + 16]);
        if n < 31 {
            put(high, &mut out[upper..upper + 16]);
        } else {
            let [down, up] = const { &ends(BITS) };
            let end = _mm_or_si128(shuffled(low, down), shuffled(high, up));
            put(end, &mut out[at + bits - 16..]);
        }
    } else {
        let joined = _mm_or_si128(low, high);
        if n < 31 {
            put(joined, &mut out[at..at + 16]);
        } else {
            // After the end of the fields before.
            let [kept, up] = const { &ends(BITS) };
            let out = &mut out[at + bits - 16..];
            // SAFETY: 16 bytes, by the line before.
            let before = unsafe { _mm_loadu_si128(out.as_ptr().cast()) };
            put(
                _mm_or_si128(shuffled(before, kept), shuffled(joined, up)),
                out,
            );
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn put(v: __m128i, out: &mut [u8]) {
    // SAFETY: 16 bytes, which the slice checks.
    unsafe { _mm_storeu_si128(out[..16].as_mut_ptr().cast(), v) };
}

#[inline]
#[target_feature(enable = "avx2")]
fn shuffled(v: __m128i, order: &Aligned<[u8; 16]>) -> __m128i {
    // SAFETY: 16 bytes.
    _mm_shuffle_epi8(v, unsafe { _mm_loadu_si128(order.0.as_ptr().cast()) })
}

/// The shift of number n of four: the bit at which it starts in its byte.
const fn shifts(bits: i32) -> Aligned<[i64; 4]> {
    let mut table = [0; 4];
    let mut n = 0;
    while n < 4 {
        table[n] = n as i64 * 2 * bits as i64 % 8;
        n += 1;
    }
    Aligned(table)
}

/// Positions of the bytes of the even and of the odd ones of four numbers: of up to 16
/// bits in one half, otherwise the upper two from the front of theirs.
const fn places(bits: i32) -> [Aligned<[u8; 32]>; 2] {
    let bits = bits as usize;
    let mut tables = [Aligned([0x80; 32]); 2];
    let mut n = 0;
    while n < 4 {
        let (first, last) = (2 * bits * n / 8, (2 * bits * (n + 1) - 1) / 8);
        let skipped = if bits > 16 { n / 2 * bits / 2 } else { 0 };
        let mut byte = first;
        while byte <= last {
            let from = n % 2 * 8 + byte - first;
            tables[n % 2].0[n / 2 * 16 + byte - skipped] = from as u8;
            byte += 1;
        }
        n += 1;
    }
    tables
}

/// Byte order of the last 16 bytes of a row: fields of more than 16 bits come from the lower
/// and the upper half, others from the bytes before and the last fields.
const fn ends(bits: i32) -> [Aligned<[u8; 16]>; 2] {
    let bits = bits as usize;
    let mut tables = [Aligned([0x80; 16]); 2];
    let (down, up) = if bits > 16 {
        (bits - 16, 16 - bits / 2)
    } else {
        (0, 16 - bits)
    };
    let mut n = 0;
    while n < 16 {
        if n < up {
            tables[0].0[n] = (n + down) as u8;
        } else {
            tables[1].0[n] = (n - up) as u8;
        }
        n += 1;
    }
    tables
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
