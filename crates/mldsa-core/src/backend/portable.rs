//! The portable table: the plain bodies of other modules, and the fused
//! kernels spelled out from them.

use super::kernels::{Kernels, counter};
use crate::coding::pack;
use crate::memory::array::Zeroed;
use crate::memory::secret::{Secret, scrub_stack};
use crate::params::N;
use crate::ring::ntt;
use crate::ring::poly::{NttPoly, Poly};
use crate::ring::rounding;
use crate::sample;
use crate::{hash::keccak, ring::field};

pub(super) static KERNELS: Kernels = Kernels {
    name: "portable",
    dispatched: counter!(),
    keccak_f1600: keccak::portable,
    ntt: |src, dst| ntt::ntt(src, dst),
    inv_ntt: |src, dst| ntt::inv_ntt(src, dst),
    row_product: |a, b, out| ntt::row_product(a, b, out),
    product_inv_ntt,
    expand_a: sample::expand_a,
    expand_s: sample::expand_s,
    expand_mask_ntt,
    unpack_z_ntt,
    inv_ntt_high_bits,
    inv_ntt_use_hint,
    prepare: None,
    shake256: None,
    verify: None,
};

#[inline(always)]
pub(super) fn product_inv_ntt(a: &NttPoly, b: &NttPoly, add: Option<&NttPoly>, out: &mut Poly) {
    let mut product = Secret::<NttPoly>::zeroed();
    let product = product.expose_mut();
    if let Some(add) = add {
        // |a b + add| < 81 q^2 + 9q < 2^31 q; the common factor 2^-32 leaves
        // with the inverse transform.
        for n in 0..N {
            product.0[n] = ntt::multiply_add(a.0[n], b.0[n], add.0[n]);
        }
    } else {
        for n in 0..N {
            product.0[n] = field::montgomery_mul(a.0[n], b.0[n]);
        }
    }
    ntt::inv_ntt(product, out);
    for a in &mut out.0 {
        *a = field::centred(field::add_q_if_negative(*a));
    }
}

fn expand_mask_ntt(rho_pp: &[u8; 64], kappa: u16, gamma1_bits: u32, out: &mut [NttPoly]) {
    // The squeezed blocks are the mask itself, and an unoptimised permutation
    // leaves its state in its frame, which is large; an optimised one is not.
    const FRAMES: usize = if cfg!(debug_assertions) {
        16_384
    } else {
        2_048
    };
    scrub_stack::<FRAMES, _>(|| {
        let mut y = Secret::<Poly>::zeroed();
        for (n, y_hat) in out.iter_mut().enumerate() {
            sample::expand_mask(
                rho_pp,
                kappa.wrapping_add(n as u16),
                gamma1_bits,
                y.expose_mut(),
            );
            ntt::ntt(y.expose(), y_hat);
        }
    });
}

fn unpack_z_ntt(gamma1_bits: u32, bound: i32, bytes: &[u8], out: &mut NttPoly) -> bool {
    let mut z = Poly::zeroed();
    pack::unpack_z(gamma1_bits, bytes, &mut z);
    ntt::ntt(&z, out);
    !z.norm_reaches(bound)
}

#[inline(always)]
pub(super) fn inv_ntt_high_bits(gamma2: i32, w_hat: &NttPoly, w: &mut Poly, w1: &mut [u8]) {
    ntt::inv_ntt(w_hat, w);
    for a in &mut w.0 {
        *a = field::add_q_if_negative(*a);
    }
    pack::w1_encode(gamma2, w, w1, |a| rounding::high_bits(gamma2, a));
}

#[inline(always)]
pub(super) fn inv_ntt_use_hint(gamma2: i32, w_hat: &NttPoly, hint: &[u8], w1: &mut [u8]) {
    let mut w = Poly::zeroed();
    ntt::inv_ntt(w_hat, &mut w);
    for a in &mut w.0 {
        *a = field::add_q_if_negative(*a);
    }
    // High bits for all, then the few hinted coefficients again.
    let mut w1_row = Poly::zeroed();
    for (high, &a) in w1_row.0.iter_mut().zip(&w.0) {
        *high = rounding::use_hint_vartime(gamma2, 0, a);
    }
    for &n in hint {
        let n = usize::from(n);
        w1_row.0[n] = rounding::use_hint_vartime(gamma2, 1, w.0[n]);
    }
    pack::w1_encode(gamma2, &w1_row, w1, |a| a);
}
