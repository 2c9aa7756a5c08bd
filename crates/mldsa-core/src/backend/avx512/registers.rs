//! Arithmetic modulo q on sixteen coefficients in a register, and tables that
//! registers are loaded from.

use core::arch::x86_64::*;

/// 256 coefficients in registers; register `i` holds coefficients `16 i..16 i + 16`.
pub(super) type Registers = [__m512i; 16];

pub(super) use crate::params::Q;

/// `q^-1 mod 2^32`.
const Q_INV: i32 = 58_728_449;

/// The body for every register of a polynomial, `$n` a constant: what stays a loop
/// keeps registers in memory.
macro_rules! for_each_register {
    ($n:ident, $body:block) => {
        for_each_register!(@ $n, $body; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($n:ident in 0..8, $body:block) => {
        for_each_register!(@ $n, $body; 0 1 2 3 4 5 6 7)
    };
    ($n:ident in 0..4, $body:block) => {
        for_each_register!(@ $n, $body; 0 1 2 3)
    };
    (@ $n:ident, $body:block; $($index:literal)*) => { $({
        #[allow(non_upper_case_globals, reason = "read as the variable of a loop")]
        const $n: usize = $index;
        $body
    })* };
}
pub(super) use for_each_register;

/// The mask 0x5555. Known to the compiler it would turn the merge of [`upper_halves`]
/// into a two-source permutation, which is slower and takes a register.
#[derive(Clone, Copy)]
pub(super) struct EvenLanes(__mmask16);

impl EvenLanes {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let mut mask = 0x5555_u32;
        // SAFETY: the text is a comment; no instruction, no memory, no flags.
        unsafe {
            core::arch::asm!("/* {0:e} */", inout(reg) mask, options(pure, nomem, nostack, preserves_flags));
        }
        Self(mask as __mmask16)
    }
}

/// Multiplies `b` by the constants `w`, one per lane.
///
/// Bounds: `|b| < 2^31`, result in `(-q/4, 5q/4)`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn shoup(
    b: __m512i,
    w: __m512i,
    w_even: __m512i,
    w_odd: __m512i,
    lanes: EvenLanes,
) -> __m512i {
    let even = _mm512_mul_epi32(b, w_even);
    let odd = _mm512_mul_epi32(high_dwords(b), w_odd);
    remainder(b, w, upper_halves(even, odd, lanes))
}

/// The products of signed lanes, 64 bits each: of the even ones and of the odd ones.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn products(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let odd = _mm512_mul_epi32(high_dwords(a), high_dwords(b));
    (_mm512_mul_epi32(a, b), odd)
}

/// Algorithm 49 on the even and on the odd lanes: signed sums times `2^-32`.
///
/// Bounds: `|sum| < 2^31 q` gives `(-q, q)`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn montgomery((even, odd): (__m512i, __m512i), lanes: EvenLanes) -> __m512i {
    let (q, q_inv) = (_mm512_set1_epi32(Q), _mm512_set1_epi32(Q_INV));
    let reduced = |sum| {
        // Only the lower half of the first product enters the second.
        let t = _mm512_mul_epi32(_mm512_mul_epu32(sum, q_inv), q);
        _mm512_sub_epi64(sum, t)
    };
    upper_halves(reduced(even), reduced(odd), lanes)
}

/// `b w - t q`, modulo 2^32.
#[inline]
#[target_feature(enable = "avx512f")]
fn remainder(b: __m512i, w: __m512i, t: __m512i) -> __m512i {
    let q = _mm512_set1_epi32(Q);
    _mm512_sub_epi32(_mm512_mullo_epi32(b, w), _mm512_mullo_epi32(t, q))
}

/// The upper halves of 64-bit products, in the even and in the odd lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn upper_halves(even: __m512i, odd: __m512i, lanes: EvenLanes) -> __m512i {
    _mm512_mask_shuffle_epi32::<_MM_PERM_DDBB>(odd, lanes.0, even)
}

/// The upper half of every 64-bit lane, in the lower half.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn high_dwords(v: __m512i) -> __m512i {
    _mm512_shuffle_epi32::<_MM_PERM_DDBB>(v)
}

/// `b w` less the multiple of q that single precision finds nearest.
///
/// Bounds: for `|b w| <= 2^30 q`, `|out| <= q / 2 + |b w| 3.001 / 2^24`: a half from
/// the last rounding, `2^-24` of the quotient from each of three before it.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn nearest(b: __m512i, w: __m512i, ratio: __m512) -> __m512i {
    // Rounding is part of the instructions: no mode of the caller's changes it.
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    let quotient = _mm512_mul_round_ps::<NEAREST>(_mm512_cvt_roundepi32_ps::<NEAREST>(b), ratio);
    remainder(b, w, _mm512_cvt_roundps_epi32::<NEAREST>(quotient))
}

/// The last level of the inverse transform: `a + b` and `a - b` times a factor each
/// (with its unsigned quotient), in `[0, q)`.
///
/// Bounds: `|a|, |b| <= 128 q`. With 256 q more nothing is negative, and the remainder of an
/// unsigned quotient of numbers below `512 q < 2^32` is in `[0, 2 q)`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn scaled_ends(
    a: __m512i,
    b: __m512i,
    [scale, scale_zeta]: [(i32, u32); 2],
    lanes: EvenLanes,
) -> (__m512i, __m512i) {
    let q = _mm512_set1_epi32(Q);
    let a = _mm512_add_epi32(a, _mm512_set1_epi32(256 * Q));
    let scaled = |v, (w, quotient): (i32, u32)| {
        let quotient = _mm512_set1_epi32(quotient.cast_signed());
        let even = _mm512_mul_epu32(v, quotient);
        let odd = _mm512_mul_epu32(high_dwords(v), quotient);
        let r = remainder(v, _mm512_set1_epi32(w), upper_halves(even, odd, lanes));
        _mm512_min_epu32(r, _mm512_sub_epi32(r, q))
    };
    (
        scaled(_mm512_add_epi32(a, b), scale),
        scaled(_mm512_sub_epi32(a, b), scale_zeta),
    )
}

/// `(-q, 2q)` to `[0, q)`: of `x` and `x +- q` the wanted one is the smaller as an
/// unsigned number.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn canonical(v: __m512i) -> __m512i {
    let q = _mm512_set1_epi32(Q);
    let v = _mm512_min_epu32(v, _mm512_add_epi32(v, q));
    _mm512_min_epu32(v, _mm512_sub_epi32(v, q))
}

/// A table on its own cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Aligned<T>(pub(super) T);

macro_rules! aligned_load {
    ($($element:ty, $n:literal);*) => { $(
        impl Aligned<[$element; $n]> {
            #[inline]
            #[target_feature(enable = "avx512f")]
            pub(super) fn load(&self) -> __m512i {
                // SAFETY: 64 bytes, aligned to 64 by the type.
                unsafe { _mm512_load_si512((&raw const self.0).cast()) }
            }
        }
    )* };
}
aligned_load!(i32, 16; i64, 8; u16, 32; u8, 64);

impl Aligned<[f32; 16]> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn load(&self) -> __m512 {
        // SAFETY: 64 bytes, aligned to 64 by the type.
        unsafe { _mm512_load_ps(self.0.as_ptr()) }
    }
}

/// Zeros to all 32 registers: what a kernel leaves in them, a later call may spill.
#[target_feature(enable = "avx512f")]
pub(super) fn clear_registers() {
    _mm256_zeroall();
    macro_rules! clear {
        ($($name:tt)*) => {
            // SAFETY: each instruction zeroes the register that is named as overwritten.
            unsafe {
                core::arch::asm!(
                    $(concat!("vpxord ", $name, ", ", $name, ", ", $name),)*
                    $(out($name) _,)*
                    options(nomem, nostack, preserves_flags),
                );
            }
        };
    }
    clear!(
        "zmm16" "zmm17" "zmm18" "zmm19" "zmm20" "zmm21" "zmm22" "zmm23" "zmm24" "zmm25" "zmm26"
        "zmm27" "zmm28" "zmm29" "zmm30" "zmm31"
    );
}
