//! Rounding of Z_q elements (FIPS 204 section 7.4). Constant time; every
//! function takes the canonical representative 0 <= r < q.

use crate::memory::ct::{keep_if, mask_negative, opaque};
use crate::params::{D, GAMMA2_32, GAMMA2_88, Q};

/// Computes algorithm 35 Power2Round: `r = r1 2^13 + r0` with -2^12 < r0 <= 2^12.
/// Returns (r1, r0); 0 <= r1 < 2^10.
#[inline(always)]
pub const fn power2round(r: i32) -> (i32, i32) {
    let r1 = (r + (1 << (D - 1)) - 1) >> D;
    (r1, r - (r1 << D))
}

/// Computes algorithm 36 Decompose: `r = r1 2 gamma2 + r0` with -gamma2 < r0 <= gamma2,
/// except that the topmost residues have r1 = 0 and r0 - 1.
/// Returns (r1, r0); -gamma2 <= r0 <= gamma2.
///
/// Bounds: `gamma2` is one of the two of FIPS 204.
#[inline(always)]
pub fn decompose(gamma2: i32, r: i32) -> (i32, i32) {
    let r1 = high_bits(gamma2, r);
    let r0 = r - r1 * 2 * gamma2;
    // The topmost residues have r1 = 0 and r0 = r > q / 2: take q off, which
    // is also the r0 - 1 of the special case.
    (r1, r0 - keep_if(mask_negative(Q / 2 - r0), Q))
}

/// Computes algorithm 37 HighBits: 0 <= r1 < (q - 1) / (2 gamma2), that is 44 or 16.
///
/// Division by the constant 2 gamma2 is a multiplication by a reciprocal, exact
/// for all q inputs (tested over all of them).
#[inline(always)]
pub fn high_bits(gamma2: i32, r: i32) -> i32 {
    let a = (r + 127) >> 7;
    if gamma2 == GAMMA2_32 {
        // 2 gamma2 / 2^7 = 4092 = 2^22 / 1025.001, 16 values
        ((a * 1_025 + (1 << 21)) >> 22) & 15
    } else {
        debug_assert!(gamma2 == GAMMA2_88);
        // 2 gamma2 / 2^7 = 1488 = 2^24 / 11275.01. 44 wraps to 0 by a mask that is
        // no comparison: where masks pass no barrier, compilers made a branch of
        // `43 - r1 < 0`. 20 <= r1 + 20 <= 64, and 44 alone sets bit 6.
        let r1 = (a * 11_275 + (1 << 23)) >> 24;
        r1 & (opaque((r1 + 20) >> 6) - 1)
    }
}

/// Computes algorithm 38 LowBits.
#[inline(always)]
pub fn low_bits(gamma2: i32, r: i32) -> i32 {
    decompose(gamma2, r).1
}

/// Computes algorithm 39 MakeHint: 1 if adding z changes the high bits of r, given both
/// sums in canonical form.
#[inline(always)]
pub fn make_hint(gamma2: i32, r: i32, r_plus_z: i32) -> i32 {
    let difference = high_bits(gamma2, r) ^ high_bits(gamma2, r_plus_z);
    // 0 <= difference < 64
    mask_negative(-difference) & 1
}

/// Computes algorithm 40 UseHint, for public data.
#[inline(always)]
pub fn use_hint_vartime(gamma2: i32, hint: i32, r: i32) -> i32 {
    let (r1, r0) = decompose(gamma2, r);
    let top = if gamma2 == GAMMA2_32 { 15 } else { 43 };
    if hint == 0 {
        r1
    } else if r0 > 0 {
        if r1 == top { 0 } else { r1 + 1 }
    } else if r1 == 0 {
        top
    } else {
        r1 - 1
    }
}

/// Computes the parts of a coefficient of w that the second half of signing needs: its low part w0
/// and whether its high part is not zero, as `2 w0 + (w1 != 0)`.
///
/// Bounds: |w0| <= gamma2.
#[cfg(any(feature = "unstable-internals", test))]
#[inline(always)]
pub fn low_and_flag(gamma2: i32, r: i32) -> i32 {
    let (r1, r0) = decompose(gamma2, r);
    2 * r0 + (mask_negative(-r1) & 1)
}

/// Computes MakeHint (algorithm 39) without w1: whether adding `ct0` to a low part moves
/// it out of the range of its high part. `low` is `2 (w0 - c s2) + flag` with
/// [`low_and_flag`]'s flag. The lower edge -gamma2 belongs to w1 = 0 only.
///
/// Bounds: |w0 - c s2| < gamma2 - beta, as the r0 check establishes;
/// |ct0| < 2^29. Returns 0 or 1.
#[cfg(any(feature = "unstable-internals", test))]
#[inline(always)]
pub fn make_hint_low(gamma2: i32, low: i32, ct0: i32) -> i32 {
    let sum = (low >> 1) + ct0;
    // negative exactly if sum > gamma2, or sum < -gamma2 (+ 1 if flagged)
    mask_negative((gamma2 - sum) | (sum + gamma2 - (low & 1))) & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// r mod± m as FIPS 204 section 2.3 defines it.
    fn mod_pm(r: i32, m: i32) -> i32 {
        let r = r.rem_euclid(m);
        if r > m / 2 { r - m } else { r }
    }

    #[test]
    fn power2round_over_all_of_z_q() {
        for r in 0..Q {
            let r0 = mod_pm(r, 1 << D);
            assert_eq!(power2round(r), ((r - r0) >> D, r0));
        }
    }

    #[test]
    fn decompose_and_hints_over_all_of_z_q() {
        for gamma2 in [GAMMA2_88, GAMMA2_32] {
            let m = (Q - 1) / (2 * gamma2);
            for r in 0..Q {
                let mut r0 = mod_pm(r, 2 * gamma2);
                let r1 = if r - r0 == Q - 1 {
                    r0 -= 1;
                    0
                } else {
                    (r - r0) / (2 * gamma2)
                };
                assert_eq!(decompose(gamma2, r), (r1, r0));
                assert_eq!(high_bits(gamma2, r), r1);
                assert_eq!(low_bits(gamma2, r), r0);
                assert_eq!(use_hint_vartime(gamma2, 0, r), r1);
                let step = if r0 > 0 { 1 } else { -1 };
                assert_eq!(use_hint_vartime(gamma2, 1, r), (r1 + step).rem_euclid(m));
            }
        }
    }

    #[test]
    fn hints_from_low_parts_are_hints() {
        for gamma2 in [GAMMA2_88, GAMMA2_32] {
            for r in 0..Q {
                let low = low_and_flag(gamma2, r);
                assert_eq!(low >> 1, low_bits(gamma2, r));
                assert_eq!(low & 1, i32::from(high_bits(gamma2, r) != 0));
                // MakeHint compares r with r + ct0; only |w0| < gamma2 - beta occurs.
                if (low >> 1).abs() >= gamma2 - 78 {
                    continue;
                }
                for edge in [gamma2 - (low >> 1), -gamma2 - (low >> 1), r % 200_000] {
                    for ct0 in [edge - 1, edge, edge + 1] {
                        let sum = (r + ct0).rem_euclid(Q);
                        if ct0.abs() <= 2 * gamma2 {
                            assert_eq!(make_hint_low(gamma2, low, ct0), make_hint(gamma2, sum, r));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn make_hint_is_a_comparison_of_high_bits() {
        for gamma2 in [GAMMA2_88, GAMMA2_32] {
            for r in (0..Q).step_by(9_973) {
                for z in [0, 1, -1, gamma2, -gamma2, 77_777, -77_777] {
                    let sum = (r + z).rem_euclid(Q);
                    let expected = i32::from(high_bits(gamma2, r) != high_bits(gamma2, sum));
                    assert_eq!(make_hint(gamma2, r, sum), expected);
                }
            }
        }
    }
}
