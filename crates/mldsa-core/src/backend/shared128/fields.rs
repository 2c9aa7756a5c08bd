//! Eight bit fields in the lanes of two registers. Constant time.

use super::registers::*;

use super::vector::{Eight, bytes, bytes_at, dwords};

/// Fields `8 n..8 n + 8` of 256 with `BITS` bits, 18 or 20.
///
/// Panics if `fields` is too short.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn field<const BITS: usize>(fields: &[u8], n: usize) -> Eight {
    let chunk = &fields[BITS * n..BITS * (n + 1)];
    let [low, high] = const { &field_bytes(BITS, BITS - 16) };
    // The first and the last 16 bytes of 18 or 20.
    let low = vqtbl1q_u8(bytes_at(chunk, 0), bytes(low));
    let high = vqtbl1q_u8(bytes_at(chunk, BITS - 16), bytes(high));
    cut::<BITS>(low, high)
}

/// Fields `8 n..8 n + 8` of 256 with `BITS` bits, 10 or 13.
///
/// Panics if `fields` is too short.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn short_field<const BITS: usize>(fields: &[u8], n: usize) -> Eight {
    // The last ones are read with what is before them.
    let first = (BITS * n).min(32 * BITS - 16);
    let raw = bytes_at(fields, first);
    let up = vdupq_n_u8((BITS * n - first) as u8);
    let [low, high] = const { &field_bytes(BITS, 0) };
    let low = vqtbl1q_u8(raw, vaddq_u8(bytes(low), up));
    let high = vqtbl1q_u8(raw, vaddq_u8(bytes(high), up));
    cut::<BITS>(low, high)
}

/// Eight code words of a packed row of s1 or s2, of 3 or 4 bits.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn eta_field(eta: i32, fields: &[u8], n: usize) -> Eight {
    let bits = if eta == 2 { 3 } else { 4 };
    // The last ones are read with what is before them.
    let first = (bits * n).min(32 * bits - 4);
    let word = fields[first..]
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let word = vdupq_n_u32(word >> (8 * (bits * n - first)));
    let shift = -(bits as i32);
    let mask = vdupq_n_u32((1 << bits) - 1);
    let four = |first: i32| {
        let shifts = vmulq_n_s32(vaddq_s32(dwords(&[0, 1, 2, 3]), vdupq_n_s32(first)), shift);
        vreinterpretq_s32_u32(vandq_u32(vshlq_u32(word, shifts), mask))
    };
    Eight(four(0), four(4))
}

/// The fields from the double words that contain them.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn cut<const BITS: usize>(low: uint8x16_t, high: uint8x16_t) -> Eight {
    let mask = vdupq_n_u32((1 << BITS) - 1);
    let [down_low, down_high] = const { &field_shifts(BITS) };
    let low = vshlq_u32(vreinterpretq_u32_u8(low), dwords(down_low));
    let high = vshlq_u32(vreinterpretq_u32_u8(high), dwords(down_high));
    Eight(
        vreinterpretq_s32_u32(vandq_u32(low, mask)),
        vreinterpretq_s32_u32(vandq_u32(high, mask)),
    )
}

/// The numbers of the four bytes from which field `n` is cut, those of the upper four
/// fields counted from `skipped` on. A fourth byte beyond sixteen is not needed.
const fn field_bytes(bits: usize, skipped: usize) -> [[u8; 16]; 2] {
    let mut table = [[0; 16]; 2];
    let mut n = 0;
    while n < 32 {
        table[n / 16][n % 16] = (n / 4 * bits / 8 + n % 4 - n / 16 * skipped) as u8;
        n += 1;
    }
    table
}

/// Their shifts (negative: to the right).
const fn field_shifts(bits: usize) -> [[i32; 4]; 2] {
    let mut table = [[0; 4]; 2];
    let mut n = 0;
    while n < 8 {
        table[n / 4][n % 4] = -((n * bits % 8) as i32);
        n += 1;
    }
    table
}
