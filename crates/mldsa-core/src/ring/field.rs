//! Arithmetic in Z_q on signed 32-bit representatives. Constant time: shifts,
//! multiplications and masks only.

use crate::memory::ct::{keep_if, mask_negative};
use crate::params::Q;

/// q^-1 mod 2^32.
pub(crate) const Q_INV: i32 = 58_728_449;

/// Computes algorithm 49 MontgomeryReduce: `a * 2^-32 mod q`.
///
/// Bounds: |a| < 2^31 q gives |r| < q, because `(a - t q) / 2^32` is within
/// (2^31 q + 2^31 q) / 2^32.
#[inline(always)]
pub fn montgomery_reduce(a: i64) -> i32 {
    #[cfg(mldsa_thumb2)]
    return crate::backend::thumb2::montgomery_reduce(a);
    #[cfg(not(mldsa_thumb2))]
    montgomery_reduce_portable(a)
}

/// The same in plain Rust, and in constants.
#[inline(always)]
pub const fn montgomery_reduce_portable(a: i64) -> i32 {
    let t = (a as i32).wrapping_mul(Q_INV);
    ((a - t as i64 * Q as i64) >> 32) as i32
}

/// Computes `a b 2^-32 mod q`.
///
/// Bounds: |a b| < 2^31 q gives |r| < q.
#[inline(always)]
pub fn montgomery_mul(a: i32, b: i32) -> i32 {
    montgomery_reduce(a as i64 * b as i64)
}

/// Puts `(f0 a + f1 b0 + f2 b1) 2^-32 mod q` into `b0`, place by place.
///
/// Bounds: a sum below 2^31 q in absolute value gives |out| < q.
#[cfg(feature = "unstable-internals")]
#[inline(always)]
pub fn sums_of_three(factors: &[i32; 3], a: &[i32; 8], b: &mut [[i32; 8]; 2]) {
    #[cfg(mldsa_armv7m)]
    crate::backend::armv7m::sums_of_three(factors, a, b);
    #[cfg(not(mldsa_armv7m))]
    sums_of_three_portable(factors, a, b);
}

/// The same in plain Rust.
#[cfg(feature = "unstable-internals")]
#[inline(always)]
pub fn sums_of_three_portable(factors: &[i32; 3], a: &[i32; 8], b: &mut [[i32; 8]; 2]) {
    let [first, second] = b;
    for (n, out) in first.iter_mut().enumerate() {
        let products = [a[n], *out, second[n]];
        let products = products.iter().zip(factors);
        let sum = products.map(|(&a, &factor)| i64::from(a) * i64::from(factor));
        *out = montgomery_reduce(sum.sum());
    }
}

/// Returns the representative of `a` in [0, q).
///
/// Bounds: any |a| <= 2^31 - 2^22 - 1. `a - round(a / 2^23) q` is in
/// [-6283009, 6283008], so one conditional addition finishes.
#[inline(always)]
pub fn canonical(a: i32) -> i32 {
    let rounded = (a + (1 << 22)) >> 23;
    add_q_if_negative(a - rounded * Q)
}

/// Computes `a` or `a + q`, whichever is not negative.
///
/// Bounds: -q <= a < q gives [0, q).
#[inline(always)]
pub fn add_q_if_negative(a: i32) -> i32 {
    a + keep_if(mask_negative(a), Q)
}

/// Returns the representative of `a` in [-(q - 1) / 2, (q - 1) / 2].
///
/// Bounds: 0 <= a < q.
#[inline(always)]
pub fn centred(a: i32) -> i32 {
    a - keep_if(mask_negative((Q - 1) / 2 - a), Q)
}

#[cfg(test)]
mod tests {
    use super::*;

    const Q64: i64 = Q as i64;
    /// 2^32 mod q, centred.
    const MONT: i32 = -4_186_625;

    #[test]
    fn constants() {
        assert_eq!(Q.wrapping_mul(Q_INV), 1);
        assert_eq!(
            (1i64 << 32).rem_euclid(Q64),
            i64::from(MONT).rem_euclid(Q64)
        );
    }

    #[test]
    fn centred_and_conditional_addition_over_all_of_z_q() {
        for a in 0..Q {
            let plain = if a > Q / 2 { a - Q } else { a };
            assert_eq!(centred(a), plain);
            assert_eq!(add_q_if_negative(a), a);
            assert_eq!(add_q_if_negative(a - Q), a);
        }
    }

    #[test]
    fn canonical_over_every_multiple_of_q_and_at_its_bounds() {
        // Every residue near 0, q/2 and 2^22, shifted by every multiple of q in range.
        let limit = i32::MAX - (1 << 22);
        for multiple in -255..=255 {
            for offset in [
                -2,
                -1,
                0,
                1,
                2,
                Q / 2,
                Q / 2 + 1,
                Q - 1,
                (1 << 22) - 1,
                1 << 22,
            ] {
                let a = i64::from(multiple) * Q64 + i64::from(offset);
                if a.abs() <= i64::from(limit) {
                    assert_eq!(i64::from(canonical(a as i32)), a.rem_euclid(Q64));
                }
            }
        }
        for a in [limit, -limit] {
            assert_eq!(i64::from(canonical(a)), i64::from(a).rem_euclid(Q64));
        }
        for a in -Q..2 * Q {
            assert_eq!(canonical(a), a.rem_euclid(Q));
        }
    }

    #[test]
    fn montgomery_reduce_is_a_division_by_2_to_the_32() {
        let check = |a: i64| {
            let r = montgomery_reduce(a);
            assert!(r.abs() < Q, "{a}");
            assert_eq!(
                (i128::from(r) << 32).rem_euclid(Q64.into()),
                i128::from(a).rem_euclid(Q64.into())
            );
        };
        let top = (Q64 << 31) - 1;
        for a in [
            0,
            1,
            -1,
            Q64,
            -Q64,
            top,
            -top,
            top - Q64,
            (1 << 32) - 1,
            1 << 32,
            -(1 << 32),
        ] {
            check(a);
        }
        // Every field element times a constant, as the NTT uses it.
        for a in 0..Q {
            check(i64::from(a) * 1_753);
            check(i64::from(a - Q / 2) * i64::from(MONT));
        }
    }
}
