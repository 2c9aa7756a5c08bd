//! Running sums of products: 64 bits each, one reduction per coefficient. Constant time.
//!
//! Bounds: a sum `s` with `|s| < 2^31 q = 256 q^2` gives `|out| < q`.

use super::registers::*;

use super::vector::Eight;
use crate::params::Q;
use crate::ring::field::Q_INV;

/// A factor of several products.
#[derive(Clone, Copy)]
pub(super) struct Term(Eight);

impl Term {
    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn of(b: Eight) -> Self {
        Self(b)
    }

    #[inline(always)]
    pub(super) fn get(self) -> Eight {
        self.0
    }
}

/// Eight running sums, in order.
#[derive(Clone, Copy)]
pub(super) struct Sums([int64x2_t; 4]);

impl Sums {
    /// `a b`.
    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn of(a: Eight, Term(b): Term) -> Self {
        Self([
            vmull_s32(vget_low_s32(a.0), vget_low_s32(b.0)),
            vmull_high_s32(a.0, b.0),
            vmull_s32(vget_low_s32(a.1), vget_low_s32(b.1)),
            vmull_high_s32(a.1, b.1),
        ])
    }

    /// Adds `a b`.
    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn add(self, a: Eight, Term(b): Term) -> Self {
        let [s0, s1, s2, s3] = self.0;
        Self([
            vmlal_s32(s0, vget_low_s32(a.0), vget_low_s32(b.0)),
            vmlal_high_s32(s1, a.0, b.0),
            vmlal_s32(s2, vget_low_s32(a.1), vget_low_s32(b.1)),
            vmlal_high_s32(s3, a.1, b.1),
        ])
    }

    /// Adds `a`.
    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn add_one(self, a: Eight) -> Self {
        let [s0, s1, s2, s3] = self.0;
        Self([
            vaddw_s32(s0, vget_low_s32(a.0)),
            vaddw_high_s32(s1, a.0),
            vaddw_s32(s2, vget_low_s32(a.1)),
            vaddw_high_s32(s3, a.1),
        ])
    }

    /// The sums times `2^-32`: algorithm 49.
    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn reduce(self) -> Eight {
        let [s0, s1, s2, s3] = self.0;
        Eight(reduced(s0, s1), reduced(s2, s3))
    }
}

/// Algorithm 49 on four sums.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn reduced(low: int64x2_t, high: int64x2_t) -> int32x4_t {
    let q = vdupq_n_s32(Q);
    let words = vuzp1q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high));
    let t = vmulq_s32(words, vdupq_n_s32(Q_INV));
    let low = vmlsl_s32(low, vget_low_s32(t), vget_low_s32(q));
    let high = vmlsl_high_s32(high, t, q);
    vuzp2q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high))
}
