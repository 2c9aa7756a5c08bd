//! Bit packing of polynomials (FIPS 204 section 7.1, algorithms 9 to 19 and
//! 28), one polynomial per call, and one body for every width.
//!
//! Algorithms 9 IntegerToBits, 10 BitsToInteger, 11 IntegerToBytes,
//! 12 BitsToBytes and 13 BytesToBits are the little-endian order of these bodies.
//! Constant time: widths and lengths are public, values never steer anything.

use crate::memory::ct::is_negative;
#[cfg(any(feature = "unstable-internals", test))]
use crate::params::GAMMA2_32;
use crate::params::{D, GAMMA2_88, N, Q, SMALL, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring::poly::Poly;

/// Algorithm 16 SimpleBitPack for `BITS`-bit values: `map` turns a coefficient
/// into the value to be written.
// Inlined unoptimised, its temporaries would all be in one frame.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn bit_pack<const BITS: usize>(w: &[i32], out: &mut [u8], map: impl Fn(i32) -> i32) {
    if SMALL {
        return pack_any(BITS, w, out, &map);
    }
    for (coefficients, bytes) in w.chunks_exact(8).zip(out.chunks_exact_mut(BITS)) {
        let mut buffer = 0u64;
        let mut filled = 0;
        let mut written = 0;
        for &a in coefficients {
            buffer |= u64::from(map(a) as u32) << filled;
            filled += BITS;
            while filled >= 8 {
                bytes[written] = buffer as u8;
                written += 1;
                buffer >>= 8;
                filled -= 8;
            }
        }
    }
}

/// Packs as [`bit_pack`] does, for every width up to 24.
#[inline(never)]
fn pack_any(bits: usize, w: &[i32], out: &mut [u8], map: &dyn Fn(i32) -> i32) {
    let mut out = out.iter_mut();
    let (mut buffer, mut filled) = (0, 0);
    for &a in w {
        buffer |= (map(a) as u32) << filled;
        filled += bits;
        while filled >= 8 {
            if let Some(byte) = out.next() {
                *byte = buffer as u8;
            }
            buffer >>= 8;
            filled -= 8;
        }
    }
}

/// Unpacks as [`bit_unpack`] does, for every width up to 24, coefficients that are packed as `offset - a`. The
/// result is negative if one is below `-offset`.
#[inline(never)]
fn unpack_any(bits: usize, offset: i32, bytes: &[u8], w: &mut [i32]) -> i32 {
    let mut bytes = bytes.iter();
    let (mut buffer, mut filled, mut sign) = (0, 0, 0);
    for a in w {
        while filled < bits {
            let Some(&byte) = bytes.next() else {
                return sign;
            };
            buffer |= u32::from(byte) << filled;
            filled += 8;
        }
        *a = offset - (buffer & ((1 << bits) - 1)) as i32;
        sign |= *a + offset;
        buffer >>= bits;
        filled -= bits;
    }
    sign
}

/// Algorithm 18 SimpleBitUnpack, the inverse of [`bit_pack`]: `map` turns a
/// `BITS`-bit value into the coefficient.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn bit_unpack<const BITS: usize>(
    bytes: &[u8],
    w: &mut [i32],
    mut map: impl FnMut(i32) -> i32,
) {
    let (groups, _) = bytes.as_chunks::<BITS>();
    for (n, coefficients) in w.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let Some(bytes) = groups.get(n) else { break };
        // Read in place: a copy of packed secrets would stay on the stack.
        let byte = |at: usize| if at < BITS { bytes[at] } else { 0 };
        for (n, a) in coefficients.iter_mut().enumerate() {
            // The four bytes that hold value n, the last four at the end.
            let at = (n * BITS / 8).min(BITS.saturating_sub(4));
            let word = u32::from_le_bytes([byte(at), byte(at + 1), byte(at + 2), byte(at + 3)]);
            *a = map(((word >> (n * BITS - 8 * at)) & ((1 << BITS) - 1)) as i32);
        }
    }
}

/// Unpacks as [`bit_unpack`] does, for every width, coefficients that are packed as they are.
#[cfg(any(feature = "unstable-internals", test))]
#[inline(never)]
fn unpack_plain(bits: usize, bytes: &[u8], w: &mut [i32]) {
    unpack_any(bits, 0, bytes, w);
    for a in w {
        *a = -*a;
    }
}

/// Computes algorithm 16 for a row of t1: 10 bits a coefficient, 320 bytes.
///
/// Bounds: 0 <= t1 < 2^10.
pub fn pack_t1(t1: &Poly, out: &mut [u8; T1_POLY_LEN]) {
    pack_t1_part(&t1.0, out);
}

/// Computes algorithm 18 for a row of t1, times 2^13: what verification
/// needs. `bytes` has 320 bytes.
///
/// Bounds: 0 <= out <= (2^10 - 1) 2^13 = q - 1.
pub fn unpack_t1_2d(bytes: &[u8], out: &mut Poly) {
    bit_unpack::<10>(bytes, &mut out.0, |a| a << D);
}

/// Computes algorithm 17 BitPack, of a row of t0: 13 bits of 2^12 - t0, 416 bytes.
///
/// Bounds: -2^12 < t0 <= 2^12.
pub fn pack_t0(t0: &Poly, out: &mut [u8; T0_POLY_LEN]) {
    pack_t0_part(&t0.0, out);
}

/// Computes algorithm 19 BitUnpack, of a row of t0. Every code word is valid.
///
/// Bounds: -2^12 < out <= 2^12.
pub fn unpack_t0(bytes: &[u8], out: &mut Poly) {
    unpack_t0_part(bytes, &mut out.0);
}

/// Computes algorithm 17 for a row of s1 or s2: 3 or 4 bits of eta - s, 96 or
/// 128 bytes.
///
/// Bounds: |s| <= eta, eta is 2 or 4.
pub fn pack_eta(eta: i32, s: &Poly, out: &mut [u8]) {
    pack_eta_part(eta, &s.0, out);
}

/// Computes algorithm 19 for a row of s1 or s2. Returns whether every code word
/// was valid; FIPS 204 leaves that check to the caller of skDecode.
///
/// Constant time: all code words are read before the verdict leaves.
pub fn unpack_eta(eta: i32, bytes: &[u8], out: &mut Poly) -> bool {
    !is_negative(unpack_eta_part(eta, bytes, &mut out.0))
}

/// Computes algorithm 17 for a row of z: 18 or 20 bits of gamma1 - z, 576 or 640
/// bytes.
///
/// Bounds: -gamma1 < z <= gamma1.
pub fn pack_z(gamma1_bits: u32, z: &Poly, out: &mut [u8]) {
    pack_z_part(gamma1_bits, &z.0, out);
}

/// Computes algorithm 19 for a row of y or z.
///
/// Bounds: -gamma1 < out <= gamma1.
pub fn unpack_z(gamma1_bits: u32, bytes: &[u8], out: &mut Poly) {
    unpack_z_part(gamma1_bits, bytes, &mut out.0);
}

/// Computes algorithm 28 w1Encode of one row: 6 bits (gamma2 = (q-1)/88, 192 bytes) or
/// 4 bits (128 bytes) a coefficient. `high` maps a coefficient to its w1.
#[inline(always)]
pub fn w1_encode(gamma2: i32, w: &Poly, out: &mut [u8], high: impl Fn(i32) -> i32) {
    w1_encode_part(gamma2, &w.0, out, high);
}

// Parts of a row, for callers that hold no polynomial: any multiple of eight
// coefficients and the bytes they fill.

/// Coefficients whose packed form ends on a byte in every width.
#[cfg(any(feature = "unstable-internals", test))]
pub const GROUP: usize = 8;

/// Returns the bytes of the coefficients `n..n + count` of a row packed at `bits` bits;
/// `n` and `count` are multiples of eight.
#[cfg(any(feature = "unstable-internals", test))]
#[inline(always)]
pub fn part(row: &[u8], bits: usize, n: usize, count: usize) -> &[u8] {
    row.get(n / GROUP * bits..(n + count) / GROUP * bits)
        .unwrap_or(&[])
}

/// Returns [`part`] for writing.
#[cfg(any(feature = "unstable-internals", test))]
#[inline(always)]
pub fn part_mut(row: &mut [u8], bits: usize, n: usize, count: usize) -> &mut [u8] {
    row.get_mut(n / GROUP * bits..(n + count) / GROUP * bits)
        .unwrap_or(&mut [])
}

/// Packs a part of a row, as [`pack_t1`] does.
#[inline(always)]
pub fn pack_t1_part(t1: &[i32], out: &mut [u8]) {
    bit_pack::<10>(t1, out, |a| a);
}

/// Unpacks a part of a row of t1 (algorithm 18) as it is.
///
/// Bounds: 0 <= out < 2^10.
#[cfg(any(feature = "unstable-internals", test))]
#[inline(always)]
pub fn unpack_t1_part(bytes: &[u8], out: &mut [i32]) {
    if SMALL {
        return unpack_plain(10, bytes, out);
    }
    bit_unpack::<10>(bytes, out, |a| a);
}

/// Packs a part of a row, as [`pack_t0`] does.
#[inline(always)]
pub fn pack_t0_part(t0: &[i32], out: &mut [u8]) {
    bit_pack::<13>(t0, out, |a| (1 << 12) - a);
}

/// Unpacks a part of a row, as [`unpack_t0`] does.
#[inline(always)]
pub fn unpack_t0_part(bytes: &[u8], out: &mut [i32]) {
    if SMALL {
        unpack_any(13, 1 << 12, bytes, out);
        return;
    }
    bit_unpack::<13>(bytes, out, |a| (1 << 12) - a);
}

/// Packs a part of a row, as [`pack_eta`] does.
#[inline(always)]
pub fn pack_eta_part(eta: i32, s: &[i32], out: &mut [u8]) {
    if eta == 2 {
        bit_pack::<3>(s, out, |a| 2 - a);
    } else {
        bit_pack::<4>(s, out, |a| 4 - a);
    }
}

/// Unpacks a part of a row, as [`unpack_eta`] does. The result is negative if a code word was
/// invalid.
#[inline(always)]
pub fn unpack_eta_part(eta: i32, bytes: &[u8], out: &mut [i32]) -> i32 {
    if SMALL {
        return unpack_any(if eta == 2 { 3 } else { 4 }, eta, bytes, out);
    }
    let mut sign = 0;
    if eta == 2 {
        bit_unpack::<3>(bytes, out, |a| {
            sign |= 4 - a;
            2 - a
        });
    } else {
        bit_unpack::<4>(bytes, out, |a| {
            sign |= 8 - a;
            4 - a
        });
    }
    sign
}

/// Unpacks a part of a row of s1, s2, y or z: the number of bits tells which.
#[cfg(feature = "unstable-internals")]
#[inline(always)]
pub fn unpack_signed_part(bits: usize, bytes: &[u8], out: &mut [i32]) {
    if SMALL {
        // 2, 4, 2^17 or 2^19.
        let offset = 1 << if bits < 8 { bits - 2 } else { bits - 1 };
        unpack_any(bits, offset, bytes, out);
    } else if bits < 8 {
        unpack_eta_part(if bits == 3 { 2 } else { 4 }, bytes, out);
    } else {
        unpack_z_part(bits as u32 - 1, bytes, out);
    }
}

/// Packs a part of a row, as [`pack_z`] does.
#[inline(always)]
pub fn pack_z_part(gamma1_bits: u32, z: &[i32], out: &mut [u8]) {
    if gamma1_bits == 17 {
        bit_pack::<18>(z, out, |a| (1 << 17) - a);
    } else {
        bit_pack::<20>(z, out, |a| (1 << 19) - a);
    }
}

/// Unpacks a part of a row, as [`unpack_z`] does.
#[inline(always)]
pub fn unpack_z_part(gamma1_bits: u32, bytes: &[u8], out: &mut [i32]) {
    if SMALL {
        unpack_any(1 + gamma1_bits as usize, 1 << gamma1_bits, bytes, out);
        return;
    }
    if gamma1_bits == 17 {
        bit_unpack::<18>(bytes, out, |a| (1 << 17) - a);
    } else {
        bit_unpack::<20>(bytes, out, |a| (1 << 19) - a);
    }
}

/// Packs a part of a row, as [`w1_encode`] does.
#[inline(always)]
pub fn w1_encode_part(gamma2: i32, w: &[i32], out: &mut [u8], high: impl Fn(i32) -> i32) {
    if gamma2 == GAMMA2_88 {
        bit_pack::<6>(w, out, high);
    } else {
        bit_pack::<4>(w, out, high);
    }
}

/// Packs canonical coefficients at 23 bits each: 736 bytes a row.
///
/// Bounds: 0 <= a < 2^23.
#[cfg(any(feature = "unstable-internals", test))]
#[inline(always)]
pub fn pack_compact(a: &[i32], out: &mut [u8]) {
    bit_pack::<23>(a, out, |a| a);
}

/// Computes the inverse of [`pack_compact`].
#[cfg(any(feature = "unstable-internals", test))]
#[inline(always)]
pub fn unpack_compact(bytes: &[u8], a: &mut [i32]) {
    if SMALL {
        return unpack_plain(23, bytes, a);
    }
    bit_unpack::<23>(bytes, a, |a| a);
}

/// Returns the number of bits of one coefficient in [`pack_low`].
#[cfg(any(feature = "unstable-internals", test))]
pub const fn low_part_bits(gamma2: i32) -> usize {
    if gamma2 == GAMMA2_88 { 19 } else { 20 }
}

/// Packs the parts of w that the second half of signing needs (see
/// [`rounding::low_and_flag`](crate::ring::rounding::low_and_flag)): 608 bytes a row
/// for gamma2 = (q-1)/88, else 640.
///
/// Bounds: the results of `low_and_flag`, so that gamma2 - w0 has 18 or 19 bits.
#[cfg(any(feature = "unstable-internals", test))]
pub fn pack_low(gamma2: i32, w: &[i32], out: &mut [u8]) {
    // 2 gamma2 - (2 w0 + flag) + 1 >= 0
    if gamma2 == GAMMA2_88 {
        bit_pack::<19>(w, out, |a| 2 * GAMMA2_88 + 1 - a);
    } else {
        bit_pack::<20>(w, out, |a| 2 * GAMMA2_32 + 1 - a);
    }
}

/// Computes the inverse of [`pack_low`].
#[cfg(any(feature = "unstable-internals", test))]
pub fn unpack_low(gamma2: i32, bytes: &[u8], w: &mut [i32]) {
    if SMALL {
        unpack_any(low_part_bits(gamma2), 2 * gamma2 + 1, bytes, w);
        return;
    }
    if gamma2 == GAMMA2_88 {
        bit_unpack::<19>(bytes, w, |a| 2 * GAMMA2_88 + 1 - a);
    } else {
        bit_unpack::<20>(bytes, w, |a| 2 * GAMMA2_32 + 1 - a);
    }
}

/// Bytes of a polynomial at 24 bits a coefficient.
pub const FULL_POLY_LEN: usize = 3 * N;

/// Packs a polynomial at 24 bits a coefficient, 768 bytes: values of Z_q that are not
/// rounded.
///
/// Bounds: 0 <= w < 2^24.
pub fn pack_full(w: &[i32; N], out: &mut [u8; FULL_POLY_LEN]) {
    for (bytes, &a) in out.as_chunks_mut::<3>().0.iter_mut().zip(w) {
        let [low, middle, high, _] = a.to_le_bytes();
        *bytes = [low, middle, high];
    }
}

/// Computes the inverse of [`pack_full`]. Returns whether every coefficient is below q.
pub fn unpack_full(bytes: &[u8; FULL_POLY_LEN], out: &mut [i32; N]) -> bool {
    let mut sign = -1;
    for (&[low, middle, high], a) in bytes.as_chunks::<3>().0.iter().zip(out) {
        *a = i32::from_le_bytes([low, middle, high, 0]);
        sign &= *a - Q;
    }
    is_negative(sign)
}

#[cfg(test)]
pub(crate) mod tests;
