//! Branch-free selection on secret integers.
//!
//! Masks are all ones (-1) or zero. From `a >> 31` a compiler concludes just that,
//! and may turn what uses a mask into a branch, so masks pass a value barrier.

use crate::memory::barrier::value_barrier;

/// Whether masks pass the barrier one by one.
///
/// Not on x86-64 with SSE2, where they are made for four or eight coefficients at
/// once and a barrier in each lane is a detour through general registers: a tenth
/// of the instructions of signing. The gate `branches` reads what compilers make
/// there without it, at every level of optimisation.
const MASKS_PASS_BARRIER: bool = !cfg!(all(target_arch = "x86_64", target_feature = "sse2"));

/// `mask`, or a word from which a mask is made, behind the value barrier where
/// masks need one.
#[inline(always)]
pub fn opaque(mask: i32) -> i32 {
    if MASKS_PASS_BARRIER {
        value_barrier(mask)
    } else {
        mask
    }
}

/// -1 if `a < 0`, else 0. Constant time, any `a`.
#[inline(always)]
pub fn mask_negative(a: i32) -> i32 {
    opaque(a >> 31)
}

/// `if mask == -1 { a } else { 0 }`. Constant time; `mask` is -1 or 0.
#[inline(always)]
pub fn keep_if(mask: i32, a: i32) -> i32 {
    a & mask
}

/// |a|. Constant time. Bounds: `a > i32::MIN`.
#[inline(always)]
pub fn abs(a: i32) -> i32 {
    let mask = mask_negative(a);
    (a ^ mask) - mask
}

/// Whether an accumulated sign word is negative, behind the value barrier on every
/// target: the bool is still secret until it is declassified.
#[inline(always)]
pub fn is_negative(a: i32) -> bool {
    value_barrier(a) < 0
}
