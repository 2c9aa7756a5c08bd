//! Polynomials of Z_q[X]/(X^256 + 1), in coefficient and in NTT form.

use core::fmt;

use crate::memory::array::{Element, Wipe, Zeroed};
use crate::memory::ct::{abs, is_negative};
use crate::params::N;

/// A polynomial in coefficient form: 256 signed coefficients, 1024 bytes.
/// Each function states the bounds it expects and leaves.
#[repr(C, align(64))]
pub struct Poly(pub [i32; N]);

/// A polynomial in NTT form, in the standard order of algorithm 41: 1024 bytes.
#[repr(C, align(64))]
pub struct NttPoly(pub [i32; N]);

macro_rules! polynomial {
    ($t:ident) => {
        impl Element for $t {
            const ZERO: Self = Self([0; N]);
        }

        impl Wipe for $t {
            fn wipe(&mut self) {
                self.0.wipe();
            }
        }

        impl Zeroed for $t {
            const ZEROED: Self = Self::ZERO;

            #[inline]
            fn zeroed() -> Self {
                Self::ZERO
            }
        }

        // Coefficients may be secret: nothing of the value is printed.
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($t), "(..)"))
            }
        }
    };
}
polynomial!(Poly);
polynomial!(NttPoly);

impl Poly {
    /// Returns whether some coefficient is at least `bound` in absolute value.
    ///
    /// Constant time: all coefficients are read, and only the verdict leaves.
    /// Bounds: |coefficient| < 2^30, 0 < bound < 2^30.
    pub fn norm_reaches(&self, bound: i32) -> bool {
        let mut sign = 0;
        for &a in &self.0 {
            sign |= bound - 1 - abs(a);
        }
        is_negative(sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norm_bound_is_exact_at_every_place() {
        for n in [0, 1, 100, 255] {
            for bound in [1, 78, 95_232, 524_168] {
                let mut p = Poly::ZERO;
                for (value, verdict) in [
                    (bound - 1, false),
                    (bound, true),
                    (1 - bound, false),
                    (-bound, true),
                ] {
                    p.0[n] = value;
                    assert_eq!(p.norm_reaches(bound), verdict);
                }
            }
        }
    }
}
