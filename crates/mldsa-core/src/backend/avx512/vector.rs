//! The register that the transforms work on.

use core::arch::x86_64::*;

use super::registers::{self, Aligned, EvenLanes};

/// Sixteen coefficients. The library has `__m512i`; the tests have intervals,
/// with which the same schedules prove their bounds.
///
/// There is no safe way to a register but through code for a CPU that has them, and
/// in this crate all code for AVX-512 runs after detection of all of it. So a
/// register proves the features, and every method takes one.
pub(super) trait Vector: Copy {
    /// The same value in every lane, whatever is in this register.
    fn splat(self, value: i32) -> Self;
    /// A table, whatever is in this register.
    fn load(self, values: &Aligned<[i32; 16]>) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, factor: i32) -> Self;
    /// The product by one constant a lane, `w_even` and `w_odd` its quotients.
    fn shoup(self, w: Self, w_even: Self, w_odd: Self, lanes: EvenLanes) -> Self;
    /// A constant over q for every lane.
    type Ratio: Copy;
    fn splat_ratio(self, value: f32) -> Self::Ratio;
    fn load_ratio(self, values: &Aligned<[f32; 16]>) -> Self::Ratio;
    /// The product by one constant a lane, `ratio` is that over q.
    fn nearest(self, w: Self, ratio: Self::Ratio) -> Self;
    /// The last level of the inverse transform, [`registers::scaled_ends`].
    fn scaled_ends(self, b: Self, factors: [(i32, u32); 2], lanes: EvenLanes) -> (Self, Self);
    /// `(-q, 2 q)` to `[0, q)`.
    fn canonical(self) -> Self;

    /// Sums of signed products, 64 bits a lane.
    type Sum: Copy;
    /// `self b`.
    fn product(self, b: Self) -> Self::Sum;
    /// `sum + self b`.
    fn accumulate(self, b: Self, sum: Self::Sum) -> Self::Sum;
    /// `sum 2^-32 mod q`, whatever is in this register. Bounds: [`registers::montgomery`].
    fn montgomery(self, sum: Self::Sum, lanes: EvenLanes) -> Self;

    // Rearrangements of two registers; blocks have 128 bits.

    /// The lower halves of all blocks, 32 bits of each register in turn.
    fn low_dwords(self, b: Self) -> Self;
    /// The upper halves.
    fn high_dwords(self, b: Self) -> Self;
    /// The lower halves of all blocks, 64 bits of each register in turn.
    fn low_qwords(self, b: Self) -> Self;
    /// The upper halves.
    fn high_qwords(self, b: Self) -> Self;
    /// In every block two lanes of this register and two of `b`.
    fn dwords<const MASK: i32>(self, b: Self) -> Self;
    /// Two blocks of this register and two of `b`.
    fn blocks<const MASK: i32>(self, b: Self) -> Self;
    /// Any 32-bit lanes of the pair.
    fn permute_dwords(self, order: &Aligned<[i32; 16]>, b: Self) -> Self;
    /// Any 64-bit lanes of the pair.
    fn permute_qwords(self, order: &Aligned<[i64; 8]>, b: Self) -> Self;
}

/// Eight numbers of 64 bits, not negative: the even or the odd lanes of a vector.
/// They prove the features as [`Vector`] does.
pub(super) trait Wide: Copy {
    type Narrow: Vector;
    /// The same value in every lane, whatever is in this register.
    fn broadcast(self, value: u32) -> Self;
    /// The even lanes of `v`. Bounds: `v >= 0`.
    fn even(v: Self::Narrow) -> Self;
    /// The odd lanes of `v`. Bounds: `v >= 0`.
    fn odd(v: Self::Narrow) -> Self;
    fn plus(self, b: Self) -> Self;
    /// The product of the lower halves.
    fn low_product(self, b: Self) -> Self;
    /// `self + a b`. Bounds: `a, b, a b < 2^52`.
    fn accumulate(self, a: Self, b: Self) -> Self;
    /// The upper halves as the even and the odd lanes of a vector.
    fn upper_halves(even: Self, odd: Self) -> Self::Narrow;
}

macro_rules! on_registers {
    ($($name:ident $(<$constant:ident: $type:ty>)? ($a:ident $(, $b:ident: $b_type:ty)*) -> $out:ty, $body:expr;)*) => { $(
        #[inline(always)]
        fn $name $(<const $constant: $type>)? (self $(, $b: $b_type)*) -> $out {
            let $a = self;
            // SAFETY: `self` is a register, which proves the features.
            unsafe { $body }
        }
    )* };
}

impl Vector for __m512i {
    type Ratio = __m512;
    type Sum = (Self, Self);

    on_registers! {
        splat(_register, value: i32) -> Self, _mm512_set1_epi32(value);
        load(_register, values: &Aligned<[i32; 16]>) -> Self, values.load();
        splat_ratio(_register, value: f32) -> __m512, _mm512_set1_ps(value);
        load_ratio(_register, values: &Aligned<[f32; 16]>) -> __m512, values.load();
        scaled_ends(a, b: Self, factors: [(i32, u32); 2], lanes: EvenLanes) -> (Self, Self),
            registers::scaled_ends(a, b, factors, lanes);
        add(a, b: Self) -> Self, _mm512_add_epi32(a, b);
        sub(a, b: Self) -> Self, _mm512_sub_epi32(a, b);
        mul(a, factor: i32) -> Self, _mm512_mullo_epi32(a, _mm512_set1_epi32(factor));
        shoup(a, w: Self, w_even: Self, w_odd: Self, lanes: EvenLanes) -> Self,
            registers::shoup(a, w, w_even, w_odd, lanes);
        nearest(a, w: Self, ratio: __m512) -> Self, registers::nearest(a, w, ratio);
        canonical(a) -> Self, registers::canonical(a);
        product(a, b: Self) -> (Self, Self), registers::products(a, b);
        accumulate(a, b: Self, sum: (Self, Self)) -> (Self, Self), {
            let (even, odd) = registers::products(a, b);
            (_mm512_add_epi64(sum.0, even), _mm512_add_epi64(sum.1, odd))
        };
        montgomery(_register, sum: (Self, Self), lanes: EvenLanes) -> Self,
            registers::montgomery(sum, lanes);
        low_dwords(a, b: Self) -> Self, _mm512_unpacklo_epi32(a, b);
        high_dwords(a, b: Self) -> Self, _mm512_unpackhi_epi32(a, b);
        low_qwords(a, b: Self) -> Self, _mm512_unpacklo_epi64(a, b);
        high_qwords(a, b: Self) -> Self, _mm512_unpackhi_epi64(a, b);
        dwords<MASK: i32>(a, b: Self) -> Self, _mm512_castps_si512(_mm512_shuffle_ps::<MASK>(
            _mm512_castsi512_ps(a),
            _mm512_castsi512_ps(b),
        ));
        blocks<MASK: i32>(a, b: Self) -> Self, _mm512_shuffle_i64x2::<MASK>(a, b);
        permute_dwords(a, order: &Aligned<[i32; 16]>, b: Self) -> Self,
            _mm512_permutex2var_epi32(a, order.load(), b);
        permute_qwords(a, order: &Aligned<[i64; 8]>, b: Self) -> Self,
            _mm512_permutex2var_epi64(a, order.load(), b);
    }
}

impl Wide for __m512i {
    type Narrow = Self;

    on_registers! {
        broadcast(_register, value: u32) -> Self, _mm512_set1_epi64(value.into());
        plus(a, b: Self) -> Self, _mm512_add_epi64(a, b);
        low_product(a, b: Self) -> Self, _mm512_mul_epu32(a, b);
        accumulate(sum, a: Self, b: Self) -> Self, _mm512_madd52lo_epu64(sum, a, b);
    }

    #[inline(always)]
    fn even(v: Self) -> Self {
        // SAFETY: `v` is a register, which proves the features.
        unsafe { _mm512_and_si512(v, _mm512_set1_epi64(0xffff_ffff)) }
    }

    #[inline(always)]
    fn odd(v: Self) -> Self {
        // SAFETY: `v` is a register, which proves the features.
        unsafe { _mm512_srli_epi64::<32>(v) }
    }

    #[inline(always)]
    fn upper_halves(even: Self, odd: Self) -> Self {
        // SAFETY: `even` is a register, which proves the features.
        unsafe { _mm512_mask_blend_epi32(0xaaaa, registers::high_dwords(even), odd) }
    }
}
