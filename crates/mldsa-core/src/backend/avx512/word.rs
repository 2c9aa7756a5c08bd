//! Keccak words: eight states (`zmm`), up to four (`ymm`), and eight with a
//! ninth one in the scalar registers.

use core::arch::x86_64::*;

use crate::backend::kernels::align_frame;
use crate::hash::keccak::{Word, keccak_f1600, permute_interleaved};

/// One word of eight states.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct X8(pub(super) __m512i);

/// One word of up to four states, with AVX-512's logic and rotations.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct X4(__m256i);

impl X8 {
    /// `value` in every lane.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn splat(value: u64) -> Self {
        Self(_mm512_set1_epi64(value as i64))
    }
}

impl X4 {
    /// From a register, which a CPU without AVX-512 may have too.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    pub(super) fn new(register: __m256i) -> Self {
        Self(register)
    }

    #[cfg(test)]
    pub(super) fn register(self) -> __m256i {
        self.0
    }
}

macro_rules! ternary_word {
    ($word:ident, $set1:ident, $xor:ident, $ternary:ident, $rolv:ident) => {
        impl Word for $word {
            type Effect = (Self, Self);

            #[inline(always)]
            fn xor(self, b: Self) -> Self {
                // SAFETY: `self` is a vector, which proves the features.
                unsafe { Self($xor(self.0, b.0)) }
            }

            #[inline(always)]
            fn xor3(self, b: Self, c: Self) -> Self {
                // SAFETY: `self` is a vector, which proves the features.
                unsafe { Self($ternary::<0x96>(self.0, b.0, c.0)) }
            }

            #[inline(always)]
            fn chi(self, b: Self, c: Self) -> Self {
                // SAFETY: `self` is a vector, which proves the features.
                unsafe { Self($ternary::<0xd2>(self.0, b.0, c.0)) }
            }

            #[inline(always)]
            fn rotl<const BITS: u32>(self) -> Self {
                // SAFETY: `self` is a vector, which proves the features.
                unsafe { Self($rolv(self.0, $set1(BITS as i64))) }
            }

            #[inline(always)]
            fn xor_constant(self, value: u64) -> Self {
                // SAFETY: `self` is a vector, which proves the features.
                self.xor(Self(unsafe { $set1(value as i64) }))
            }

            #[inline(always)]
            fn effect(left: Self, right: Self) -> Self::Effect {
                (left, right)
            }

            #[inline(always)]
            fn apply(self, (left, right): Self::Effect) -> Self {
                self.xor3(left, right)
            }
        }
    };
}
ternary_word!(
    X8,
    _mm512_set1_epi64,
    _mm512_xor_si512,
    _mm512_ternarylogic_epi64,
    _mm512_rolv_epi64
);
ternary_word!(
    X4,
    _mm256_set1_epi64x,
    _mm256_xor_si256,
    _mm256_ternarylogic_epi64,
    _mm256_rolv_epi64
);

/// Eight permutations.
#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(super) fn permute_x8(state: &mut [X8; 25]) {
    align_frame!();
    keccak_f1600(state);
}

/// Eight permutations and one more.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,bmi1,bmi2,popcnt")]
pub(super) fn permute_x8_and_one(state: &mut [X8; 25], one: &mut [u64; 25]) {
    align_frame!();
    permute_interleaved!(state, one);
}

/// Up to four permutations.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn permute_x4(state: &mut [X4; 25]) {
    align_frame!();
    keccak_f1600(state);
}
