//! Bit packing of polynomials (FIPS 204 section 7.1, algorithms 9 to 19 and
//! 28), one polynomial per call, and one body for every width.
//!
//! Algorithms 9 IntegerToBits, 10 BitsToInteger, 11 IntegerToBytes,
//! 12 BitsToBytes and 13 BytesToBits are the little-endian order of these bodies.
//! Constant time: widths and lengths are public, values never steer anything.

use crate::memory::ct::is_negative;
#[cfg(any(feature = "unstable-internals", test))]
use crate::params::GAMMA2_32;
use crate::params::{D, GAMMA2_88, N, Q, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring::poly::Poly;

/// Algorithm 16 SimpleBitPack for `BITS`-bit values: `map` turns a coefficient
/// into the value to be written.
// Inlined unoptimised, its temporaries would all be in one frame.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn bit_pack<const BITS: usize>(w: &[i32], out: &mut [u8], map: impl Fn(i32) -> i32) {
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
pub(crate) mod tests {
    use super::*;
    use crate::memory::array::Element;
    use crate::params::N;

    /// Algorithm 17 to the letter: bit n*width+i of the output is bit i of value n.
    fn plain_pack(values: impl Iterator<Item = i32>, width: usize) -> [u8; 736] {
        let mut out = [0u8; 736];
        for (n, value) in values.enumerate() {
            for i in 0..width {
                let bit = n * width + i;
                out[bit / 8] |= (((value >> i) & 1) as u8) << (bit % 8);
            }
        }
        out
    }

    pub(crate) fn check(
        width: usize,
        low: i32,
        high: i32,
        offset: impl Fn(i32) -> i32,
        pack: impl Fn(&Poly, &mut [u8]),
        unpack: impl Fn(&[u8], &mut Poly),
    ) {
        // Every value of the range passes through every position.
        let span = (high - low + 1) as usize;
        for round in 0..span.div_ceil(N) + 1 {
            let w = Poly(core::array::from_fn(|n| {
                low + ((n + round * N) % span) as i32
            }));
            let mut bytes = [0u8; 736];
            pack(&w, &mut bytes[..32 * width]);
            assert_eq!(bytes, plain_pack(w.0.iter().map(|&a| offset(a)), width));
            let mut back = Poly::ZERO;
            unpack(&bytes[..32 * width], &mut back);
            assert_eq!(back.0, w.0);
        }
    }

    #[test]
    fn every_width_packs_bit_by_bit_and_unpacks() {
        check(
            10,
            0,
            1023,
            |a| a,
            |w, out| pack_t1(w, out.try_into().unwrap()),
            |bytes, w| {
                unpack_t1_2d(bytes, w);
                w.0 = w.0.map(|a| a >> D);
            },
        );
        check(
            10,
            0,
            1023,
            |a| a,
            |w, out| pack_t1_part(&w.0, out),
            |bytes, w| unpack_t1_part(bytes, &mut w.0),
        );
        check(
            23,
            Q - 5000,
            Q - 1,
            |a| a,
            |w, out| pack_compact(&w.0, out),
            |bytes, w| unpack_compact(bytes, &mut w.0),
        );
        check(
            13,
            -4095,
            4096,
            |a| 4096 - a,
            |w, out| pack_t0(w, out.try_into().unwrap()),
            unpack_t0,
        );
        check(
            3,
            -2,
            2,
            |a| 2 - a,
            |w, out| pack_eta(2, w, out),
            |b, w| assert!(unpack_eta(2, b, w)),
        );
        check(
            4,
            -4,
            4,
            |a| 4 - a,
            |w, out| pack_eta(4, w, out),
            |b, w| assert!(unpack_eta(4, b, w)),
        );
        for bits in [17, 19] {
            let gamma1 = 1 << bits;
            check(
                bits as usize + 1,
                1 - gamma1,
                gamma1,
                |a| gamma1 - a,
                |w, out| pack_z(bits, w, out),
                |b, w| unpack_z(bits, b, w),
            );
        }
    }

    #[test]
    fn low_parts_with_flags_pack_and_unpack_over_their_range() {
        for gamma2 in [GAMMA2_88, GAMMA2_32] {
            let bits = low_part_bits(gamma2);
            for first in (-2 * gamma2..=2 * gamma2 + 1 - N as i32).step_by(N - 1) {
                let w: [i32; N] = core::array::from_fn(|n| first + n as i32);
                let mut bytes = [0u8; 640];
                pack_low(gamma2, &w, &mut bytes[..32 * bits]);
                let mut back = [0; N];
                unpack_low(gamma2, &bytes[..32 * bits], &mut back);
                assert_eq!(back, w);
            }
        }
    }

    #[test]
    fn a_part_is_the_same_bytes_as_in_the_whole_row() {
        let z = Poly(core::array::from_fn(|n| n as i32 * 503 - 64_000));
        for bits in [17u32, 19] {
            let width = bits as usize + 1;
            let mut row = [0u8; 640];
            let row = &mut row[..32 * width];
            pack_z(bits, &z, row);
            let mut other = [0u8; 640];
            let other = &mut other[..32 * width];
            for n in (0..N).step_by(GROUP) {
                let mut group = [0; GROUP];
                unpack_z_part(bits, part(row, width, n, GROUP), &mut group);
                assert_eq!(group, z.0[n..n + GROUP]);
                pack_z_part(bits, &group, part_mut(other, width, n, GROUP));
            }
            assert_eq!(row, other);
            assert_eq!(part(row, width, N, GROUP), [0u8; 0]);
            assert_eq!(part_mut(other, width, N, GROUP), [0u8; 0]);
        }
    }

    #[test]
    fn secret_code_words_out_of_range_are_reported_at_every_place() {
        for (eta, width) in [(2, 3), (4, 4)] {
            for n in 0..N {
                for code in 0..1 << width {
                    let values = (0..N).map(|m| if m == n { code } else { eta });
                    let bytes = plain_pack(values, width);
                    let mut s = Poly::ZERO;
                    assert_eq!(
                        unpack_eta(eta, &bytes[..32 * width], &mut s),
                        code <= 2 * eta
                    );
                }
            }
        }
    }

    #[test]
    fn full_form_rejects_what_is_not_reduced() {
        let mut w = Poly(core::array::from_fn(|n| (n as i32 * 32_767) % Q));
        for (n, value, verdict) in [
            (0, Q - 1, true),
            (255, Q, false),
            (7, (1 << 24) - 1, false),
            (9, 0, true),
        ] {
            let kept = core::mem::replace(&mut w.0[n], value);
            let mut bytes = [0; FULL_POLY_LEN];
            pack_full(&w.0, &mut bytes);
            assert_eq!(bytes[3 * n..3 * n + 3], value.to_le_bytes()[..3]);
            let mut back = Poly::ZERO;
            assert_eq!(unpack_full(&bytes, &mut back.0), verdict);
            assert_eq!(back.0, w.0);
            w.0[n] = kept;
        }
    }
}
