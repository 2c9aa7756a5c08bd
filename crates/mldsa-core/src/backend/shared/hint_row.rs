//! MakeHint of a row. Constant time; verdicts are secret.

use super::secret_rows::product_inv_ntt;
use super::vector::{Largest, get, magnitude};
use super::w1::changed_high_bits;
use crate::backend::transform::Vector;
use crate::coding::hint::HINT_ROW_LEN;
use crate::memory::secret::Secret;
use crate::params::GAMMA2_88;
use crate::ring::poly::{NttPoly, Poly};

/// MakeHint of one row as a bitmap, and the norm check of c t0.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
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
        let n = 4 * n;
        let sums = [sums(n), sums(n + 1), sums(n + 2), sums(n + 3)];
        *bits = match gamma2 {
            GAMMA2_88 => changed_high_bits::<true>(sums),
            _ => changed_high_bits::<false>(sums),
        };
    }
    largest.within(gamma2 - 1)
}
