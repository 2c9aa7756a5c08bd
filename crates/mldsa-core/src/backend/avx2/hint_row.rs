//! MakeHint of a row. Constant time; verdicts are secret.

use core::arch::x86_64::*;

use super::pack::in_order;
use super::secret_rows::product_inv_ntt;
use super::vector::{Largest, get, magnitude};
use super::w1::{hundred_twenty_eighths, rounded, wrapped};
use crate::backend::transform::Vector;
use crate::coding::hint::HINT_ROW_LEN;
use crate::memory::secret::Secret;
use crate::params::GAMMA2_88;
use crate::ring::poly::{NttPoly, Poly};

/// MakeHint of one row as a bitmap, and the norm check of c t0.
#[target_feature(enable = "avx2")]
pub(super) fn hint_row(
    gamma2: i32,
    c_hat: &NttPoly,
    t0_hat: &NttPoly,
    w: &Poly,
    bitmap: &mut [u8; HINT_ROW_LEN],
) -> bool {
    let mut ct0 = Secret::<Poly>::zeroed();
    let ct0 = ct0.expose_mut();
    product_inv_ntt(c_hat, t0_hat, ct0);
    let mut largest = Largest::none();
    for (n, bits) in bitmap.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let mut sums = |n: usize| {
            let (w, ct0) = (get(&w.0, n), get(&ct0.0, n));
            largest.of(magnitude(ct0));
            (w, w.add(ct0).canonical())
        };
        let mut same = |n: usize| {
            let ((a, a_sum), (b, b_sum)) = (sums(n), sums(n + 1));
            let (before, after) = (
                hundred_twenty_eighths(a, b),
                hundred_twenty_eighths(a_sum, b_sum),
            );
            match gamma2 {
                GAMMA2_88 => same_high_bits::<true>(before, after),
                _ => same_high_bits::<false>(before, after),
            }
        };
        let same = _mm256_packs_epi16(same(4 * n), same(4 * n + 2));
        let same = _mm256_movemask_epi8(in_order(same));
        *bits = (!same).to_le_bytes();
    }
    largest.within(gamma2 - 1)
}

/// All ones where the high bits agree.
#[inline]
#[target_feature(enable = "avx2")]
fn same_high_bits<const SIX_BITS: bool>(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi16(
        wrapped::<SIX_BITS>(rounded::<SIX_BITS>(a)),
        wrapped::<SIX_BITS>(rounded::<SIX_BITS>(b)),
    )
}
