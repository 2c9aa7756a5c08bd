//! Eight coefficients in two registers, for the transforms, and safe loads and stores of
//! registers.

use super::registers::*;

use crate::backend::transform::{Aligned, Tables, Vector};
use crate::memory::ct::is_negative;
use crate::params::{N, Q};

/// Eight coefficients.
#[derive(Clone, Copy)]
pub(super) struct Eight(pub(super) int32x4_t, pub(super) int32x4_t);

static TABLES: Tables = Tables::new(QUOTIENT_BITS);

macro_rules! on_registers {
    ($($name:ident ($a:ident $(, $b:ident: $b_type:ty)*), $body:expr;)*) => { $(
        #[inline(always)]
        fn $name(self $(, $b: $b_type)*) -> Self {
            let $a = self;
            // SAFETY: `self` is a register, which proves the features.
            unsafe { $body }
        }
    )* };
}

// Operations on halves of 128 bits of AVX2's registers are operations on one register here.
impl Vector for Eight {
    const TABLES: &'static Tables = &TABLES;

    on_registers! {
        splat(_register, value: i32), { let v = vdupq_n_s32(value); Self(v, v) };
        load(_register, values: &Aligned<[i32; 8]>), get_at(&values.0);
        add(a, b: Self), Self(vaddq_s32(a.0, b.0), vaddq_s32(a.1, b.1));
        sub(a, b: Self), Self(vsubq_s32(a.0, b.0), vsubq_s32(a.1, b.1));
        shoup(a, w: Self, quotient: Self, _odd: Self),
            Self(shoup(a.0, w.0, quotient.0), shoup(a.1, w.1, quotient.1));
        canonical(a), Self(canonical(a.0), canonical(a.1));
        centred(a), Self(centred(a.0), centred(a.1));
        low_qwords(a, b: Self), Self(low_qwords(a.0, b.0), low_qwords(a.1, b.1));
        high_qwords(a, b: Self), Self(high_qwords(a.0, b.0), high_qwords(a.1, b.1));
        low_dwords(a, b: Self), Self(vzip1q_s32(a.0, b.0), vzip1q_s32(a.1, b.1));
        high_dwords(a, b: Self), Self(vzip2q_s32(a.0, b.0), vzip2q_s32(a.1, b.1));
        even_dwords(a, b: Self), Self(vuzp1q_s32(a.0, b.0), vuzp1q_s32(a.1, b.1));
        odd_dwords(a, b: Self), Self(vuzp2q_s32(a.0, b.0), vuzp2q_s32(a.1, b.1));
    }

    #[inline(always)]
    fn low_halves(self, b: Self) -> Self {
        Self(self.0, b.0)
    }

    #[inline(always)]
    fn high_halves(self, b: Self) -> Self {
        Self(self.1, b.1)
    }
}

impl Eight {
    /// Both halves through a step.
    #[inline(always)]
    pub(super) fn map(self, step: impl Fn(int32x4_t) -> int32x4_t) -> Self {
        Self(step(self.0), step(self.1))
    }
}

#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn low_qwords(a: int32x4_t, b: int32x4_t) -> int32x4_t {
    vreinterpretq_s32_s64(vzip1q_s64(
        vreinterpretq_s64_s32(a),
        vreinterpretq_s64_s32(b),
    ))
}

#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn high_qwords(a: int32x4_t, b: int32x4_t) -> int32x4_t {
    vreinterpretq_s32_s64(vzip2q_s64(
        vreinterpretq_s64_s32(a),
        vreinterpretq_s64_s32(b),
    ))
}

/// Multiplies `b` by the constants `w`, one a lane, with `w' = round(w 2^bits / q)`:
/// `b w - t q` with `t = round(b w' / 2^bits)`. Constant time.
///
/// Bounds: `|b| < 2^31`, result in `(-q, q)`.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn shoup(b: int32x4_t, w: int32x4_t, quotient: int32x4_t) -> int32x4_t {
    let t = shoup_quotient(b, quotient);
    vmlsq_s32(vmulq_s32(b, w), t, vdupq_n_s32(Q))
}

/// `(-q, q)` to `[0, q)`, or `(-q, 3 q / 2)` to `[0, 3 q / 2)`: of `x` and `x + q` the
/// wanted one is the smaller as an unsigned number.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn positive_four(v: int32x4_t) -> int32x4_t {
    smaller(v, vaddq_s32(v, vdupq_n_s32(Q)))
}

/// `(-q, 2 q)` to `[0, q)`.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn canonical(v: int32x4_t) -> int32x4_t {
    let v = positive_four(v);
    smaller(v, vsubq_s32(v, vdupq_n_s32(Q)))
}

/// `(-q, 3 q / 2)` to `(-q / 2, q / 2]`.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn centred(v: int32x4_t) -> int32x4_t {
    let v = positive_four(v);
    let above = vcgtq_s32(v, vdupq_n_s32((Q - 1) / 2));
    vmlaq_s32(v, vreinterpretq_s32_u32(above), vdupq_n_s32(Q))
}

/// The smaller one as an unsigned number.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn smaller(a: int32x4_t, b: int32x4_t) -> int32x4_t {
    vreinterpretq_s32_u32(vminq_u32(
        vreinterpretq_u32_s32(a),
        vreinterpretq_u32_s32(b),
    ))
}

/// Coefficients `8 n..8 n + 8` of a polynomial.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn get(poly: &[i32; N], n: usize) -> Eight {
    get_at(&poly.as_chunks().0[n])
}

/// Writes coefficients `8 n..8 n + 8` of a polynomial.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn put(poly: &mut [i32; N], n: usize, v: Eight) {
    let [low, high] = &mut poly.as_chunks_mut::<4>().0.as_chunks_mut::<2>().0[n];
    put_four(low, v.0);
    put_four(high, v.1);
}

#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn get_at(values: &[i32; 8]) -> Eight {
    // SAFETY: 32 bytes.
    unsafe {
        Eight(
            vld1q_s32(values.as_ptr()),
            vld1q_s32(values.as_ptr().add(4)),
        )
    }
}

/// Eight numbers of one byte, signed.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn widened(values: &[i8; 8]) -> Eight {
    // SAFETY: eight bytes.
    let words = vmovl_s8(unsafe { vld1_s8(values.as_ptr()) });
    Eight(vmovl_s16(vget_low_s16(words)), vmovl_high_s16(words))
}

#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn put_four(out: &mut [i32; 4], v: int32x4_t) {
    // SAFETY: 16 bytes.
    unsafe { vst1q_s32(out.as_mut_ptr(), v) };
}

#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn bytes(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: 16 bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// The 16 bytes from `at` on. Panics if they are not there.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn bytes_at(slice: &[u8], at: usize) -> uint8x16_t {
    let slice = &slice[at..at + 16];
    // SAFETY: 16 bytes, which the slice checks.
    unsafe { vld1q_u8(slice.as_ptr()) }
}

/// Writes 16 bytes from `at` on. Panics if they have no room.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn put_bytes_at(slice: &mut [u8], at: usize, v: uint8x16_t) {
    let slice = &mut slice[at..at + 16];
    // SAFETY: 16 bytes, which the slice checks.
    unsafe { vst1q_u8(slice.as_mut_ptr(), v) };
}

#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn dwords(values: &[i32; 4]) -> int32x4_t {
    // SAFETY: 16 bytes.
    unsafe { vld1q_s32(values.as_ptr()) }
}

#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn qwords(values: &[i64; 2]) -> int64x2_t {
    // SAFETY: 16 bytes.
    unsafe { vld1q_s64(values.as_ptr()) }
}

/// Returns the lowest bytes of sixteen coefficients.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn low_bytes(a: Eight, b: Eight) -> uint8x16_t {
    let words = |v: Eight| vuzp1q_s16(vreinterpretq_s16_s32(v.0), vreinterpretq_s16_s32(v.1));
    vuzp1q_u8(
        vreinterpretq_u8_s16(words(a)),
        vreinterpretq_u8_s16(words(b)),
    )
}

/// Eight numbers of three bytes, each in the lower bytes of a lane.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn spread(three: &[u8; 24]) -> Eight {
    const LOW: [u8; 16] = [0, 1, 2, 255, 3, 4, 5, 255, 6, 7, 8, 255, 9, 10, 11, 255];
    const HIGH: [u8; 16] = [4, 5, 6, 255, 7, 8, 9, 255, 10, 11, 12, 255, 13, 14, 15, 255];
    let low = vqtbl1q_u8(bytes_at(three, 0), bytes(&LOW));
    let high = vqtbl1q_u8(bytes_at(three, 8), bytes(&HIGH));
    Eight(vreinterpretq_s32_u8(low), vreinterpretq_s32_u8(high))
}

/// `a 2^-BITS`, rounded down.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn shift_right<const BITS: i32>(a: Eight) -> Eight {
    Eight(vshrq_n_s32::<BITS>(a.0), vshrq_n_s32::<BITS>(a.1))
}

/// `a 2^BITS`.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn shift_left<const BITS: i32>(a: Eight) -> Eight {
    Eight(vshlq_n_s32::<BITS>(a.0), vshlq_n_s32::<BITS>(a.1))
}

/// |a|.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn magnitude(a: Eight) -> Eight {
    Eight(vabsq_s32(a.0), vabsq_s32(a.1))
}

/// Canonical form of a coefficient of an inverse transform.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn positive(a: Eight) -> Eight {
    Eight(positive_four(a.0), positive_four(a.1))
}

/// The largest of many coefficients, which are not negative.
pub(super) struct Largest(int32x4_t);

impl Largest {
    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn none() -> Self {
        Self(vdupq_n_s32(0))
    }

    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn of(&mut self, a: Eight) {
        self.0 = vmaxq_s32(self.0, vmaxq_s32(a.0, a.1));
    }

    /// The verdict, passed through the value barrier: the caller declassifies it.
    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn within(self, limit: i32) -> bool {
        !is_negative(limit - vmaxvq_s32(self.0))
    }
}
