//! Branch-free selection on secret integers.
//!
//! Masks are all ones (-1) or zero and pass a value barrier, so that the
//! compiler cannot turn a selection back into a branch.

use core::hint::black_box;

/// -1 if `a < 0`, else 0. Constant time, any `a`.
#[inline(always)]
pub fn mask_negative(a: i32) -> i32 {
    a >> 31
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

/// Whether an accumulated sign word is negative, behind the value barrier: the
/// bool is still secret until it is declassified.
#[inline(always)]
pub fn is_negative(a: i32) -> bool {
    black_box(a) < 0
}
