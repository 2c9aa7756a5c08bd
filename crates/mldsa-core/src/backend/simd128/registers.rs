//! simd128 by the names that the files of `four` use: NEON's instructions, each by one or a few of
//! WebAssembly's. A register of 64 bits is the lower half of one of 128. Constant time in the
//! values of lanes.

#![allow(non_camel_case_types, reason = "names of the other instruction set")]

use core::arch::wasm32::*;

/// [`shoup_quotient`] takes the upper half of a product as it is.
pub(super) const QUOTIENT_BITS: u32 = 32;

/// Does nothing: a module cannot overwrite the registers of its host.
pub(super) fn clear_registers() {}

macro_rules! registers {
    ($($name:ident)*) => { $(pub(super) type $name = v128;)* };
}

registers!(
    int32x4_t int64x2_t uint8x16_t uint64x2_t
);

#[derive(Clone, Copy)]
pub(super) struct uint8x16x2_t(pub(super) v128, pub(super) v128);
pub(super) struct uint8x16x3_t(pub(super) v128, pub(super) v128, pub(super) v128);
pub(super) struct uint8x16x4_t(
    pub(super) v128,
    pub(super) v128,
    pub(super) v128,
    pub(super) v128,
);

/// Functions of registers: names, arguments and the result.
macro_rules! steps {
    ($($($name:ident)+: $arguments:tt $body:expr;)*) => { $($(
        #[inline(always)]
        pub(super) fn $name $arguments -> v128 {
            $body
        }
    )+)* };
}

steps! {
    vreinterpretq_s16_s32 vreinterpretq_s32_s64 vreinterpretq_s32_u32 vreinterpretq_s32_u8
    vreinterpretq_s64_s32 vreinterpretq_u32_s32 vreinterpretq_u32_u8 vreinterpretq_u64_u32
    vreinterpretq_u64_u8 vreinterpretq_u8_s16 vreinterpretq_u8_u64 vreinterpret_s8_u8
    vget_low_s8 vget_low_u8 vget_low_s16 vget_low_s32 vget_low_u64: (a: v128) a;
    vget_high_s8 vget_high_u8: (a: v128) i64x2_shuffle::<1, 1>(a, a);
    vcombine_u8 vcombine_u64 vzip1q_s64 vzip1q_u64: (a: v128, b: v128) i64x2_shuffle::<0, 2>(a, b);
    vzip2q_s64 vzip2q_u64: (a: v128, b: v128) i64x2_shuffle::<1, 3>(a, b);
    vcreate_u64 vdupq_n_u64: (a: u64) u64x2_splat(a);
    vdupq_n_s64: (a: i64) i64x2_splat(a);
    vdupq_n_s32: (a: i32) i32x4_splat(a);
    vdupq_n_u32: (a: u32) u32x4_splat(a);
    vdupq_n_u8 vdup_n_u8: (a: u8) u8x16_splat(a);

    vaddq_s32: (a: v128, b: v128) i32x4_add(a, b);
    vsubq_s32: (a: v128, b: v128) i32x4_sub(a, b);
    vmulq_s32: (a: v128, b: v128) i32x4_mul(a, b);
    vmulq_n_s32: (a: v128, b: i32) i32x4_mul(a, i32x4_splat(b));
    vmlaq_s32: (a: v128, b: v128, c: v128) i32x4_add(a, i32x4_mul(b, c));
    vmlsq_s32: (a: v128, b: v128, c: v128) i32x4_sub(a, i32x4_mul(b, c));
    vabsq_s32: (a: v128) i32x4_abs(a);
    vmaxq_s32: (a: v128, b: v128) i32x4_max(a, b);
    vmaxq_u32: (a: v128, b: v128) u32x4_max(a, b);
    vminq_u32: (a: v128, b: v128) u32x4_min(a, b);
    vcgtq_s32: (a: v128, b: v128) i32x4_gt(a, b);

    vmull_s32: (a: v128, b: v128) i64x2_extmul_low_i32x4(a, b);
    vmull_high_s32: (a: v128, b: v128) i64x2_extmul_high_i32x4(a, b);
    vmlal_s32: (s: v128, a: v128, b: v128) i64x2_add(s, i64x2_extmul_low_i32x4(a, b));
    vmlal_high_s32: (s: v128, a: v128, b: v128) i64x2_add(s, i64x2_extmul_high_i32x4(a, b));
    vmlsl_s32: (s: v128, a: v128, b: v128) i64x2_sub(s, i64x2_extmul_low_i32x4(a, b));
    vmlsl_high_s32: (s: v128, a: v128, b: v128) i64x2_sub(s, i64x2_extmul_high_i32x4(a, b));
    vaddw_s32: (s: v128, a: v128) i64x2_add(s, i64x2_extend_low_i32x4(a));
    vaddw_high_s32: (s: v128, a: v128) i64x2_add(s, i64x2_extend_high_i32x4(a));
    shoup_quotient: (a: v128, b: v128) upper_halves(a, b, 1 << 31, 0);
    vqdmulhq_n_s32: (a: v128, b: i32) upper_halves(a, i32x4_splat(b), 0, 1);

    vzip1q_s32: (a: v128, b: v128) i32x4_shuffle::<0, 4, 1, 5>(a, b);
    vzip2q_s32: (a: v128, b: v128) i32x4_shuffle::<2, 6, 3, 7>(a, b);
    vuzp1q_s32: (a: v128, b: v128) i32x4_shuffle::<0, 2, 4, 6>(a, b);
    vuzp2q_s32: (a: v128, b: v128) i32x4_shuffle::<1, 3, 5, 7>(a, b);
    vuzp1q_s16: (a: v128, b: v128) i16x8_shuffle::<0, 2, 4, 6, 8, 10, 12, 14>(a, b);
    vuzp1q_u8: (a: v128, b: v128) even_bytes(a, b);
    vzip1_u8: (a: v128, b: v128)
        i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b);
    vzip2_u8: (a: v128, b: v128)
        i8x16_shuffle::<4, 20, 5, 21, 6, 22, 7, 23, 4, 20, 5, 21, 6, 22, 7, 23>(a, b);
    vmovl_s8: (a: v128) i16x8_extend_low_i8x16(a);
    vmovl_s16: (a: v128) i32x4_extend_low_i16x8(a);
    vmovl_high_s16: (a: v128) i32x4_extend_high_i16x8(a);

    veorq_u64: (a: v128, b: v128) v128_xor(a, b);
    vandq_u8 vand_u8 vandq_u32: (a: v128, b: v128) v128_and(a, b);
    vorrq_u8: (a: v128, b: v128) v128_or(a, b);
    vbicq_u8: (a: v128, b: v128) v128_andnot(a, b);
    vbslq_u8: (mask: v128, a: v128, b: v128) v128_bitselect(a, b, mask);
    vaddq_u8: (a: v128, b: v128) u8x16_add(a, b);
    vsubq_u8: (a: v128, b: v128) u8x16_sub(a, b);
    vpaddq_u8: (a: v128, b: v128) u8x16_add(even_bytes(a, b), odd_bytes(a, b));
    vcgtq_u8: (a: v128, b: v128) u8x16_gt(a, b);
    vcltq_u8: (a: v128, b: v128) u8x16_lt(a, b);
    vceqq_u8: (a: v128, b: v128) u8x16_eq(a, b);
    // A number of sixteen or more gives zero, as there.
    vqtbl1q_u8 vqtbl1q_s8 vtbl1_s8: (a: v128, order: v128) u8x16_swizzle(a, order);
    vqtbl2q_u8: (a: uint8x16x2_t, order: v128)
        v128_or(u8x16_swizzle(a.0, order), u8x16_swizzle(a.1, u8x16_sub(order, u8x16_splat(16))));
    vshlq_u32: (a: v128, by: v128) i32x4(
        moved(i32x4_extract_lane::<0>(a), i32x4_extract_lane::<0>(by)),
        moved(i32x4_extract_lane::<1>(a), i32x4_extract_lane::<1>(by)),
        moved(i32x4_extract_lane::<2>(a), i32x4_extract_lane::<2>(by)),
        moved(i32x4_extract_lane::<3>(a), i32x4_extract_lane::<3>(by)),
    );
    vshlq_u64: (a: v128, by: v128) u64x2(
        moved_long(u64x2_extract_lane::<0>(a), i64x2_extract_lane::<0>(by)),
        moved_long(u64x2_extract_lane::<1>(a), i64x2_extract_lane::<1>(by)),
    );
}

/// Steps with a shift that is a constant.
macro_rules! shifts {
    ($($($name:ident)+: <$n:ident> $arguments:tt $body:expr;)*) => { $($(
        #[inline(always)]
        pub(super) fn $name<const $n: i32> $arguments -> v128 {
            $body
        }
    )+)* };
}

shifts! {
    vshlq_n_s32: <N>(a: v128) i32x4_shl(a, N as u32);
    vshrq_n_s32: <N>(a: v128) i32x4_shr(a, N as u32);
    vrshrq_n_s32: <N>(a: v128) i32x4_shr(i32x4_add(a, i32x4_splat(1 << (N - 1))), N as u32);
    vshrq_n_u8 vshr_n_u8: <N>(a: v128) u8x16_shr(a, N as u32);
    vsliq_n_u8: <N>(a: v128, b: v128) v128_or(v128_and(a, u8x16_splat((1 << N) - 1)), u8x16_shl(b, N as u32));
}

/// Of the products of four lanes, each more by `round` and moved up by `up`, the upper halves.
#[inline(always)]
fn upper_halves(a: v128, b: v128, round: i64, up: u32) -> v128 {
    let upper = |product: v128| i64x2_shl(i64x2_add(product, i64x2_splat(round)), up);
    let low = upper(i64x2_extmul_low_i32x4(a, b));
    vuzp2q_s32(low, upper(i64x2_extmul_high_i32x4(a, b)))
}

#[inline(always)]
fn even_bytes(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>(a, b)
}

#[inline(always)]
fn odd_bytes(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31>(a, b)
}

/// `a` moved up by a public number of bits, down by a negative one; the number is below 32.
#[inline(always)]
fn moved(a: i32, by: i32) -> i32 {
    let a = a.cast_unsigned();
    (if by < 0 {
        a >> (-by & 31)
    } else {
        a << (by & 31)
    })
    .cast_signed()
}

/// The same of 64 bits.
#[inline(always)]
fn moved_long(a: u64, by: i64) -> u64 {
    if by < 0 {
        a >> (-by & 63)
    } else {
        a << (by & 63)
    }
}

/// The largest of four.
#[inline(always)]
pub(super) fn vmaxvq_s32(a: v128) -> i32 {
    let a = i32x4_max(a, i64x2_shuffle::<1, 1>(a, a));
    i32x4_extract_lane::<0>(i32x4_max(a, i32x4_shuffle::<1, 1, 1, 1>(a, a)))
}

/// The largest of four.
#[inline(always)]
pub(super) fn vmaxvq_u32(a: v128) -> u32 {
    let a = u32x4_max(a, i64x2_shuffle::<1, 1>(a, a));
    u32x4_extract_lane::<0>(u32x4_max(a, i32x4_shuffle::<1, 1, 1, 1>(a, a)))
}

/// The sum of the lower eight bytes, which is below 2^8.
#[inline(always)]
pub(super) fn vaddv_u8(a: v128) -> u8 {
    (u64x2_extract_lane::<0>(a).wrapping_mul(0x0101_0101_0101_0101) >> 56) as u8
}

#[inline(always)]
pub(super) fn vgetq_lane_u32<const LANE: usize>(a: v128) -> u32 {
    u32x4_extract_lane::<LANE>(a)
}

/// Loads of 16 bytes.
macro_rules! loads {
    ($($name:ident: $t:ty;)*) => { $(
        /// # Safety
        /// 16 bytes at `from` can be read.
        #[inline(always)]
        pub(super) unsafe fn $name(from: *const $t) -> v128 {
            // SAFETY: the caller's.
            unsafe { v128_load(from.cast()) }
        }
    )* };
}

loads! {
    vld1q_s8: i8;
    vld1q_u8: u8;
    vld1q_s32: i32;
    vld1q_s64: i64;
}

/// Loads of 8 bytes.
macro_rules! short_loads {
    ($($name:ident: $t:ty;)*) => { $(
        /// # Safety
        /// 8 bytes at `from` can be read.
        #[inline(always)]
        pub(super) unsafe fn $name(from: *const $t) -> v128 {
            // SAFETY: the caller's.
            unsafe { v128_load64_zero(from.cast()) }
        }
    )* };
}

short_loads! {
    vld1_s8: i8;
    vld1_u8: u8;
}

/// Stores of 16 bytes.
macro_rules! stores {
    ($($name:ident: $t:ty;)*) => { $(
        /// # Safety
        /// 16 bytes at `to` can be written.
        #[inline(always)]
        pub(super) unsafe fn $name(to: *mut $t, a: v128) {
            // SAFETY: the caller's.
            unsafe { v128_store(to.cast(), a) }
        }
    )* };
}

stores! {
    vst1q_u8: u8;
    vst1q_s32: i32;
}

/// # Safety
/// 8 bytes at `to` can be written.
#[inline(always)]
pub(super) unsafe fn vst1_u64(to: *mut u64, a: v128) {
    // SAFETY: the caller's.
    unsafe { v128_store64_lane::<0>(a, to) }
}

/// # Safety
/// 32 bytes at `from` can be read.
#[inline(always)]
pub(super) unsafe fn vld2q_u8(from: *const u8) -> uint8x16x2_t {
    // SAFETY: the caller's.
    let (a, b) = unsafe { (vld1q_u8(from), vld1q_u8(from.add(16))) };
    uint8x16x2_t(even_bytes(a, b), odd_bytes(a, b))
}

/// # Safety
/// 64 bytes at `from` can be read.
#[inline(always)]
pub(super) unsafe fn vld4q_u8(from: *const u8) -> uint8x16x4_t {
    // SAFETY: the caller's.
    let [low, high] = unsafe { [vld2q_u8(from), vld2q_u8(from.add(32))] };
    let (even, odd) = ((low.0, high.0), (low.1, high.1));
    uint8x16x4_t(
        even_bytes(even.0, even.1),
        even_bytes(odd.0, odd.1),
        odd_bytes(even.0, even.1),
        odd_bytes(odd.0, odd.1),
    )
}

/// # Safety
/// 48 bytes at `to` can be written.
#[inline(always)]
pub(super) unsafe fn vst3q_u8(to: *mut u8, v: uint8x16x3_t) {
    let uint8x16x3_t(a, b, c) = v;
    // Every third byte stays free, and then c gets it.
    let first = i8x16_shuffle::<0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5>(a, b);
    let first = i8x16_shuffle::<0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15>(first, c);
    let second = i8x16_shuffle::<21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26>(a, b);
    let second =
        i8x16_shuffle::<0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15>(second, c);
    let third = i8x16_shuffle::<0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0>(a, b);
    let third = i8x16_shuffle::<26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31>(third, c);
    // SAFETY: the caller's.
    unsafe {
        vst1q_u8(to, first);
        vst1q_u8(to.add(16), second);
        vst1q_u8(to.add(32), third);
    }
}
