//! Uniform sampling from a centred interval [-h, h], without rejection: the
//! masks of protocols that sum the responses of many signers.

use crate::memory::ct::{keep_if, mask_negative};
use crate::params::N;
use crate::ring::poly::Poly;

/// Bytes that one polynomial consumes: a 32-bit word for each coefficient.
pub const INTERVAL_POLY_LEN: usize = 4 * N;

/// The interval [-h, h] with the reciprocal of its width. The half-width is
/// public; the words that are reduced are secret and never divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CentredInterval {
    half_width: i32,
    // floor(2^32 / (2 h + 1))
    reciprocal: u64,
}

impl CentredInterval {
    /// Bounds: 0 < `half_width` < 2^20.
    pub const fn new(half_width: u32) -> Self {
        debug_assert!(half_width > 0 && half_width < 1 << 20);
        Self {
            half_width: half_width as i32,
            reciprocal: (1 << 32) / (2 * half_width as u64 + 1),
        }
    }

    /// Computes `(u mod (2 h + 1)) - h` for every little-endian word u of `bytes`. The bias
    /// is below (2 h + 1) / 2^32.
    ///
    /// Constant time. With m = 2 h + 1 and e = 2^32 - m reciprocal < m, the
    /// estimated quotient is more than u / m - u e / (2^32 m) - 1 > u / m - 2, so
    /// it is the true one or one less, and one conditional subtraction of m
    /// finishes.
    pub fn sample(&self, bytes: &[u8; INTERVAL_POLY_LEN], out: &mut Poly) {
        let m = 2 * self.half_width + 1;
        for (word, a) in bytes.as_chunks::<4>().0.iter().zip(&mut out.0) {
            let u = u64::from(u32::from_le_bytes(*word));
            let quotient = (u * self.reciprocal) >> 32;
            // 0 <= remainder < 2 m < 2^22
            let remainder = (u - quotient * m as u64) as i32 - m;
            *a = remainder + keep_if(mask_negative(remainder), m) - self.half_width;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::array::Zeroed;
    use crate::random::Random;

    #[test]
    fn equal_to_division_at_the_edges_and_between() {
        for h in [1, 2, 64, 256, 360, 1440, 2048, 4096, 8192, (1 << 20) - 1] {
            let interval = CentredInterval::new(h);
            let m = 2 * h + 1;
            // Around every kind of edge: 0, multiples of m, 2^31, the largest word.
            let mut words = std::vec![0, 1, u32::MAX, u32::MAX - 1, 1 << 31];
            for k in [1, 2, 3, 1000, u32::MAX / m, u32::MAX / m / 2] {
                let edge = (u64::from(k) * u64::from(m)).min(u64::from(u32::MAX)) as u32;
                words.extend([edge.wrapping_sub(1), edge, edge.wrapping_add(1)]);
            }
            let mut random = Random::new(h.into());
            while words.len() < 4096 {
                words.push((random.next() >> 32) as u32);
            }
            for words in words.chunks_exact(N) {
                let mut bytes = [0; INTERVAL_POLY_LEN];
                for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
                let mut out = Poly::zeroed();
                interval.sample(&bytes, &mut out);
                for (&a, &u) in out.0.iter().zip(words) {
                    assert_eq!(a, (u % m) as i32 - h as i32);
                }
            }
        }
    }
}
