//! Running sums of products: 64 bits each, one reduction per coefficient. Constant time.
//!
//! Bounds: a sum `s` with `|s| < 2^31 q = 256 q^2` gives `|out| < q`.

use core::arch::x86_64::*;

use super::vector::{Eight, odd_lanes, upper_halves};
use crate::params::Q;
use crate::ring::field::Q_INV;

/// A factor of several products: its even and its odd lanes.
#[derive(Clone, Copy)]
pub(super) struct Term(__m256i, __m256i);

impl Term {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn of(b: Eight) -> Self {
        Self(b, odd_lanes(b))
    }

    #[inline(always)]
    pub(super) fn get(self) -> Eight {
        self.0
    }
}

/// Eight running sums, of the even and of the odd lanes.
#[derive(Clone, Copy)]
pub(super) struct Sums(__m256i, __m256i);

impl Sums {
    /// `a b`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn of(a: Eight, b: Term) -> Self {
        Self(
            _mm256_mul_epi32(a, b.0),
            _mm256_mul_epi32(odd_lanes(a), b.1),
        )
    }

    /// Adds `a b`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add(self, a: Eight, b: Term) -> Self {
        let Self(even, odd) = Self::of(a, b);
        Self(
            _mm256_add_epi64(self.0, even),
            _mm256_add_epi64(self.1, odd),
        )
    }

    /// Adds `a`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add_one(self, a: Eight) -> Self {
        self.add(a, Term::of(_mm256_set1_epi32(1)))
    }

    /// The sums times `2^-32`: algorithm 49.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn reduce(self) -> Eight {
        upper_halves(reduced(self.0), reduced(self.1))
    }
}

/// Algorithm 49, the result in the upper halves.
#[inline]
#[target_feature(enable = "avx2")]
fn reduced(sums: __m256i) -> __m256i {
    let t = _mm256_mul_epi32(sums, _mm256_set1_epi32(Q_INV));
    _mm256_sub_epi64(sums, _mm256_mul_epi32(t, _mm256_set1_epi32(Q)))
}
