//! Pseudorandom values for tests.

use crate::params::N;

/// A reproducible source of words (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Coefficients in `-bound..=bound`.
    pub(crate) fn poly(&mut self, bound: i32) -> [i32; N] {
        let bound = i64::from(bound);
        core::array::from_fn(|_| ((self.next() >> 1) as i64 % (2 * bound + 1) - bound) as i32)
    }
}
