//! Eight bit fields in the lanes of a register. Constant time.

use core::arch::x86_64::*;

use crate::backend::transform::Aligned;

/// Fields `8 n..8 n + 8` of 256 with `BITS` bits, 18 or 20.
///
/// Panics if `bytes` is too short.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn field<const BITS: usize>(bytes: &[u8], n: usize) -> __m256i {
    let chunk = &bytes[BITS * n..BITS * (n + 1)];
    // SAFETY: the first and the last 16 bytes of 18 or 20.
    let raw = unsafe {
        let low = _mm_loadu_si128(chunk[..16].as_ptr().cast());
        let high = _mm_loadu_si128(chunk[BITS - 16..].as_ptr().cast());
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
    };
    let index = const { &field_bytes(BITS, BITS - 16) }.load();
    cut::<BITS>(_mm256_shuffle_epi8(raw, index))
}

/// Fields `8 n..8 n + 8` of 256 with `BITS` bits, 10 or 13.
///
/// Panics if `bytes` is too short.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn short_field<const BITS: usize>(bytes: &[u8], n: usize) -> __m256i {
    // The last ones are read with what is before them.
    let first = (BITS * n).min(32 * BITS - 16);
    // SAFETY: 16 bytes.
    let raw = unsafe { _mm_loadu_si128(bytes[first..first + 16].as_ptr().cast()) };
    let index = _mm256_add_epi8(
        const { &field_bytes(BITS, 0) }.load(),
        _mm256_set1_epi8((BITS * n - first) as i8),
    );
    cut::<BITS>(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(raw), index))
}

/// The fields from the double words that contain them.
#[inline]
#[target_feature(enable = "avx2")]
fn cut<const BITS: usize>(dwords: __m256i) -> __m256i {
    let shift = const { &field_shifts(BITS) }.load();
    _mm256_and_si256(
        _mm256_srlv_epi32(dwords, shift),
        _mm256_set1_epi32((1 << BITS) - 1),
    )
}

/// Byte numbers for `vpshufb`: the four bytes from which field `n` is cut, in the upper
/// half counted from `skipped` on. A fourth byte beyond sixteen is not needed.
const fn field_bytes(bits: usize, skipped: usize) -> Aligned<[u8; 32]> {
    let mut table = [0; 32];
    let mut n = 0;
    while n < 32 {
        table[n] = (n / 4 * bits / 8 + n % 4 - n / 16 * skipped) as u8;
        n += 1;
    }
    Aligned(table)
}

const fn field_shifts(bits: usize) -> Aligned<[i32; 8]> {
    let mut table = [0; 8];
    let mut n = 0;
    while n < 8 {
        table[n] = (n * bits % 8) as i32;
        n += 1;
    }
    Aligned(table)
}

/// Eight code words of a packed row of s1 or s2, of 3 or 4 bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn eta_field(eta: i32, bytes: &[u8], n: usize) -> __m256i {
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
