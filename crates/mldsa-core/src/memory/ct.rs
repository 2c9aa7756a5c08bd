//! Branch-free selection on secret integers.
//!
//! Masks are all ones (-1) or zero. From `a >> 31` a compiler concludes just that,
//! and may turn what uses a mask into a branch, so masks pass a value barrier.

use crate::memory::barrier::value_barrier;

/// Whether masks pass the barrier one by one.
///
/// Not on x86-64 with SSE2, where they are made for four or eight coefficients at
/// once and a barrier in each lane is a detour through general registers: a tenth
/// of the instructions of signing. The gate `ct` shows that no branch on a secret
/// results.
const MASKS_PASS_BARRIER: bool = !cfg!(all(target_arch = "x86_64", target_feature = "sse2"));

/// Returns `mask`, or a word from which a mask is made, passed through the value barrier where
/// masks need one.
#[inline(always)]
pub fn opaque(mask: i32) -> i32 {
    if MASKS_PASS_BARRIER {
        value_barrier(mask)
    } else {
        mask
    }
}

/// Returns -1 if `a < 0`, else 0. Constant time, any `a`.
#[inline(always)]
pub fn mask_negative(a: i32) -> i32 {
    opaque(a >> 31)
}

/// Computes `if mask == -1 { a } else { 0 }`. Constant time; `mask` is -1 or 0.
#[inline(always)]
pub fn keep_if(mask: i32, a: i32) -> i32 {
    a & mask
}

/// Computes |a|. Constant time. Bounds: `a > i32::MIN`.
#[inline(always)]
pub fn abs(a: i32) -> i32 {
    let mask = mask_negative(a);
    (a ^ mask) - mask
}

/// Returns the bits in which two byte strings differ, joined by or: 0 if they are equal.
/// Constant time in the bytes. To be joined with others by `|`, and tested once, by
/// [`is_zero`]. Bounds: `a` and `b` have the same length; more bytes of one are ignored.
#[inline(always)]
pub fn difference(a: &[u8], b: &[u8]) -> u8 {
    let pairs = a.iter().zip(b);
    pairs.fold(0, |difference, (a, b)| difference | (a ^ b))
}

/// Returns whether an accumulated [`difference`] is zero, passed through the value barrier on
/// every target: the bool is still secret until it is declassified. A call, so that the value is
/// tested in a register wherever it was accumulated.
#[inline(never)]
pub fn is_zero(difference: u8) -> bool {
    value_barrier(i32::from(difference)) == 0
}

/// Returns whether an accumulated sign word is negative, passed through the value barrier on
/// every target: the bool is still secret until it is declassified.
#[inline(always)]
pub fn is_negative(a: i32) -> bool {
    value_barrier(a) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_bit_is_a_difference() {
        let a: [u8; 40] = core::array::from_fn(|n| (n * 7) as u8);
        assert!(is_zero(difference(&a, &a)));
        assert!(is_zero(difference(&[], &[])));
        for bit in 0..8 * a.len() {
            let mut b = a;
            b[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(difference(&a, &b), 1 << (bit % 8));
            assert!(!is_zero(difference(&a, &b)));
            assert!(!is_zero(difference(&b, &a) | difference(&a, &a)));
        }
    }
}
