//! Coefficients to bit fields (algorithms 16 and 17). Constant time.

use super::registers::*;

use super::vector::{Eight, bytes, bytes_at, get, low_bytes, put_bytes_at, qwords};
use crate::backend::transform::response;
use crate::memory::secret::Secret;
use crate::params::N;
use crate::ring::poly::Poly;

/// Of every byte the lower four bits. Bounds: each below 2^4.
///
/// Panics if `out` is shorter than 128.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn pack_fours(values: &[u8; N], out: &mut [u8]) {
    for (n, values) in values.as_chunks::<32>().0.iter().enumerate() {
        // SAFETY: 32 bytes.
        let uint8x16x2_t(even, odd) = unsafe { vld2q_u8(values.as_ptr()) };
        put_bytes_at(out, 16 * n, vsliq_n_u8::<4>(even, odd));
    }
}

/// Of every byte the lower six bits. Bounds: each below 2^6.
///
/// Panics if `out` is shorter than three quarters of `values`.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn pack_sixes(values: &[u8], out: &mut [u8]) {
    let out = &mut out[..values.len() / 4 * 3];
    for (values, out) in values
        .as_chunks::<64>()
        .0
        .iter()
        .zip(out.as_chunks_mut::<48>().0)
    {
        // SAFETY: 64 bytes.
        let uint8x16x4_t(a, b, c, d) = unsafe { vld4q_u8(values.as_ptr()) };
        let packed = uint8x16x3_t(
            vsliq_n_u8::<6>(a, b),
            vsliq_n_u8::<4>(vshrq_n_u8::<2>(b), c),
            vsliq_n_u8::<2>(vshrq_n_u8::<4>(c), d),
        );
        // SAFETY: 48 bytes.
        unsafe { vst3q_u8(out.as_mut_ptr(), packed) };
    }
}

/// Of every byte the lower three bits. Bounds: each below 2^3. `values` is overwritten
/// with what is in between.
///
/// Panics if `out` is shorter than 96.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn pack_threes(values: &mut [u8; N], out: &mut [u8]) {
    for n in 0..N / 32 {
        // SAFETY: 32 bytes.
        let uint8x16x2_t(even, odd) = unsafe { vld2q_u8(values[32 * n..32 * n + 32].as_ptr()) };
        put_bytes_at(values, 16 * n, vsliq_n_u8::<3>(even, odd));
    }
    pack_sixes(&values[..N / 2], out);
}

/// Fields `8 n..8 n + 8` of 256 with `BITS` bits, 10, 13, 18 or 20. To be called for
/// rising n: the next call overwrites what a call writes after its own bytes.
///
/// Bounds: `0 <= v < 2^BITS`. Panics if `out` is shorter than `32 * BITS`.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn pack<const BITS: i32>(v: Eight, n: usize, out: &mut [u8]) {
    let bits = BITS as usize;
    let out = &mut out[..32 * bits];
    let [down_low, down_high] = const { &shifts(BITS) };
    let low = pairs::<BITS>(v.0, qwords(down_low));
    let high = pairs::<BITS>(v.1, qwords(down_high));
    let [even, odd] = const { &places(BITS) };
    if BITS > 16 {
        for (half, pairs) in [low, high].into_iter().enumerate() {
            let fields = vorrq_u8(
                vqtbl1q_u8(pairs, bytes(even)),
                vqtbl1q_u8(pairs, bytes(odd)),
            );
            put(fields, bits / 2, (2 * n + half) * bits / 2, out);
        }
    } else {
        let pairs = uint8x16x2_t(low, high);
        let fields = vorrq_u8(
            vqtbl2q_u8(pairs, bytes(even)),
            vqtbl2q_u8(pairs, bytes(odd)),
        );
        put(fields, bits, n * bits, out);
    }
}

/// The lower `BITS` bits of every two lanes, joined, from the bit on at which they start in
/// their first byte.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn pairs<const BITS: i32>(v: int32x4_t, down: int64x2_t) -> uint8x16_t {
    // The even lane up to the odd one, both down.
    let up = vreinterpretq_s32_s64(vdupq_n_s64(32 - i64::from(BITS)));
    let joined = vshlq_u32(vreinterpretq_u32_s32(v), up);
    vreinterpretq_u8_u64(vshlq_u64(vreinterpretq_u64_u32(joined), down))
}

/// Writes the lower `len` bytes where they belong, and what follows if it has room.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn put(fields: uint8x16_t, len: usize, at: usize, out: &mut [u8]) {
    if at + 16 <= out.len() {
        put_bytes_at(out, at, fields);
    } else {
        // The last ones, after the end of those before.
        let first = at + len - 16;
        let places = vsubq_u8(bytes(&COUNT), vdupq_n_u8((16 - len) as u8));
        // A place before the fields wraps, and is none of sixteen.
        let moved = vqtbl1q_u8(fields, places);
        let is_before = vcgtq_u8(places, vdupq_n_u8(15));
        put_bytes_at(out, first, vbslq_u8(is_before, bytes_at(out, first), moved));
    }
}

const COUNT: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The shift of number n of four (negative: to the right) to the bit at which it starts.
const fn shifts(bits: i32) -> [[i64; 2]; 2] {
    let mut table = [[0; 2]; 2];
    let mut n = 0;
    while n < 4 {
        table[n / 2][n % 2] = bits as i64 - 32 + n as i64 * 2 * bits as i64 % 8;
        n += 1;
    }
    table
}

/// Positions of the bytes of the even and of the odd ones of four numbers; of two numbers if
/// they have more than 16 bits.
const fn places(bits: i32) -> [[u8; 16]; 2] {
    let bits = bits as usize;
    let count = if bits > 16 { 2 } else { 4 };
    let mut tables = [[255; 16]; 2];
    let mut n = 0;
    while n < count {
        let (first, last) = (2 * bits * n / 8, (2 * bits * (n + 1) - 1) / 8);
        let mut byte = first;
        while byte <= last {
            tables[n % 2][byte] = (8 * n + byte - first) as u8;
            byte += 1;
        }
        n += 1;
    }
    tables
}

/// BitPack of one row of s1 or s2.
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn pack_eta(eta: i32, s: &Poly, out: &mut [u8]) {
    let mut codes = Secret::<[u8; N]>::zeroed();
    let codes = codes.expose_mut();
    for n in 0..N / 16 {
        let a = response(get(&s.0, 2 * n), eta);
        let b = response(get(&s.0, 2 * n + 1), eta);
        put_bytes_at(codes, 16 * n, low_bytes(a, b));
    }
    if eta == 2 {
        pack_threes(codes, out);
    } else {
        pack_fours(codes, out);
    }
}
