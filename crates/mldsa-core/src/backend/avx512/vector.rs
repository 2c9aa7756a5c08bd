//! The register that the transforms work on.

use core::arch::x86_64::*;

use super::registers::{self, Aligned, EvenLanes};

/// Declares [`Vector`] and implements it for `__m512i`.
macro_rules! vector {
    ($(
        $(#[$doc:meta])*
        $name:ident $(<$constant:ident: $type:ty>)? ($a:ident $(, $b:ident: $b_type:ty)*) -> $out:ty,
            $body:expr;
    )*) => {
        /// Sixteen coefficients in an `__m512i`, with the operations of the transforms as
        /// methods.
        ///
        /// There is no safe way to a register but through code for a CPU that has them, and
        /// in this crate all code for AVX-512 runs after detection of all of it. So a
        /// register proves the features, and every method takes one.
        pub(super) trait Vector: Copy {
            $(
                $(#[$doc])*
                fn $name $(<const $constant: $type>)? (self $(, $b: $b_type)*) -> $out;
            )*
        }

        impl Vector for __m512i {
            $(
                #[inline(always)]
                fn $name $(<const $constant: $type>)? (self $(, $b: $b_type)*) -> $out {
                    let $a = self;
                    // SAFETY: `self` is a register, which proves the features.
                    unsafe { $body }
                }
            )*
        }
    };
}

vector! {
    /// The same value in every lane, whatever is in this register.
    splat(_register, value: i32) -> Self, _mm512_set1_epi32(value);
    /// A table, whatever is in this register.
    load(_register, values: &Aligned<[i32; 16]>) -> Self, values.load();
    add(a, b: Self) -> Self, _mm512_add_epi32(a, b);
    sub(a, b: Self) -> Self, _mm512_sub_epi32(a, b);
    mul(a, factor: i32) -> Self, _mm512_mullo_epi32(a, _mm512_set1_epi32(factor));
    /// The product by one constant a lane, `w_even` and `w_odd` its quotients.
    shoup(a, w: Self, w_even: Self, w_odd: Self, lanes: EvenLanes) -> Self,
        registers::shoup(a, w, w_even, w_odd, lanes);
    /// A constant over q for every lane.
    splat_ratio(_register, value: f32) -> __m512, _mm512_set1_ps(value);
    load_ratio(_register, values: &Aligned<[f32; 16]>) -> __m512, values.load();
    /// The product by one constant a lane, `ratio` is that over q.
    nearest(a, w: Self, ratio: __m512) -> Self, registers::nearest(a, w, ratio);
    /// The last level of the inverse transform, [`registers::scaled_ends`].
    scaled_ends(a, b: Self, factors: [(i32, u32); 2], lanes: EvenLanes) -> (Self, Self),
        registers::scaled_ends(a, b, factors, lanes);
    /// `(-q, 2 q)` to `[0, q)`.
    canonical(a) -> Self, registers::canonical(a);

    /// `self b`, 64 bits a lane, even and odd lanes apart.
    product(a, b: Self) -> (Self, Self), registers::products(a, b);
    /// `sum + self b`.
    accumulate(a, b: Self, sum: (Self, Self)) -> (Self, Self), {
        let (even, odd) = registers::products(a, b);
        (_mm512_add_epi64(sum.0, even), _mm512_add_epi64(sum.1, odd))
    };
    /// `sum 2^-32 mod q`, whatever is in this register. Bounds: [`registers::montgomery`].
    montgomery(_register, sum: (Self, Self), lanes: EvenLanes) -> Self,
        registers::montgomery(sum, lanes);

    // Rearrangements of two registers; blocks have 128 bits.

    /// The lower halves of all blocks, 32 bits of each register in turn.
    low_dwords(a, b: Self) -> Self, _mm512_unpacklo_epi32(a, b);
    /// The upper halves.
    high_dwords(a, b: Self) -> Self, _mm512_unpackhi_epi32(a, b);
    /// The lower halves of all blocks, 64 bits of each register in turn.
    low_qwords(a, b: Self) -> Self, _mm512_unpacklo_epi64(a, b);
    /// The upper halves.
    high_qwords(a, b: Self) -> Self, _mm512_unpackhi_epi64(a, b);
    /// In every block two lanes of this register and two of `b`.
    dwords<MASK: i32>(a, b: Self) -> Self, _mm512_castps_si512(_mm512_shuffle_ps::<MASK>(
        _mm512_castsi512_ps(a),
        _mm512_castsi512_ps(b),
    ));
    /// Two blocks of this register and two of `b`.
    blocks<MASK: i32>(a, b: Self) -> Self, _mm512_shuffle_i64x2::<MASK>(a, b);
    /// Any 32-bit lanes of the pair.
    permute_dwords(a, order: &Aligned<[i32; 16]>, b: Self) -> Self,
        _mm512_permutex2var_epi32(a, order.load(), b);
    /// Any 64-bit lanes of the pair.
    permute_qwords(a, order: &Aligned<[i64; 8]>, b: Self) -> Self,
        _mm512_permutex2var_epi64(a, order.load(), b);
}
