//! MakeHint of a row. Constant time; verdicts are secret.

use core::arch::aarch64::*;

use super::secret_rows::product_inv_ntt;
use super::vector::{Eight, Largest, bytes, get, low_bytes, magnitude};
use super::w1::{rounded, wrapped};
use crate::backend::transform::Vector;
use crate::coding::hint::HINT_ROW_LEN;
use crate::memory::secret::Secret;
use crate::params::GAMMA2_88;
use crate::ring::poly::{NttPoly, Poly};

/// MakeHint of one row as a bitmap, and the norm check of c t0.
#[target_feature(enable = "neon")]
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
    for (n, bits) in bitmap.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let mut sums = |n: usize| {
            let (w, ct0) = (get(&w.0, n), get(&ct0.0, n));
            largest.of(magnitude(ct0));
            (w, w.add(ct0).canonical())
        };
        let ((a, a_sum), (b, b_sum)) = (sums(2 * n), sums(2 * n + 1));
        *bits = match gamma2 {
            GAMMA2_88 => changed_high_bits::<true>([a, b], [a_sum, b_sum]),
            _ => changed_high_bits::<false>([a, b], [a_sum, b_sum]),
        };
    }
    largest.within(gamma2 - 1)
}

/// One bit for each of sixteen coefficients: whether their high bits differ.
#[inline]
#[target_feature(enable = "neon")]
fn changed_high_bits<const SIX_BITS: bool>(before: [Eight; 2], after: [Eight; 2]) -> [u8; 2] {
    let high = |[a, b]: [Eight; 2]| {
        let (a, b) = (rounded::<SIX_BITS>(a), rounded::<SIX_BITS>(b));
        wrapped::<SIX_BITS>(low_bytes(a, b))
    };
    let same = vceqq_u8(high(before), high(after));
    let bits = vbicq_u8(
        bytes(&[1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]),
        same,
    );
    let bits = vpaddq_u8(bits, bits);
    let bits = vpaddq_u8(bits, bits);
    let bits = vpaddq_u8(bits, bits);
    vgetq_lane_u16::<0>(vreinterpretq_u16_u8(bits)).to_le_bytes()
}
