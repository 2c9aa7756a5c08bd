//! The portable table: the plain bodies of other modules, and the fused
//! kernels spelled out from them.

use super::kernels::{Kernels, MaskSeed, counter};
use crate::coding::hint::HINT_ROW_LEN;
use crate::coding::pack;
use crate::memory::array::Zeroed;
use crate::memory::ct::{abs, is_negative};
use crate::memory::secret::{Secret, zeroize_stack};
use crate::params::{N, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring::ntt;
use crate::ring::poly::{NttPoly, Poly};
use crate::ring::rounding;
use crate::sample;
use crate::{
    hash::keccak::{self, Permutation},
    ring::field,
};

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
    expand_masks,
    mask_lanes: 1,
    unpack_mask_ntt,
    pack_eta: |eta, s, out| pack::pack_eta(eta, s, out),
    unpack_eta_ntt,
    unpack_t0_ntt,
    public_row,
    commit_row,
    respond_row,
    low_bits_row,
    hint_row,
    unpack_z_ntt,
    inv_ntt_use_hint,
    prepare: None,
    #[cfg(mldsa_simd)]
    expand_a_interleaved: None,
    clear_registers: || {},
    shake256: None,
    verify: None,
};

#[inline(always)]
pub(super) fn product_inv_ntt(a: &NttPoly, b: &NttPoly, out: &mut Poly) {
    centred_inv_ntt(|n| field::montgomery_mul(a.0[n], b.0[n]), out);
}

/// The centred coefficients of a product that is given one by one.
#[inline(always)]
fn centred_inv_ntt(product: impl Fn(usize) -> i32, out: &mut Poly) {
    let mut row = Secret::<NttPoly>::zeroed();
    for (n, a) in row.expose_mut().0.iter_mut().enumerate() {
        *a = product(n);
    }
    ntt::inv_ntt(row.expose(), out);
    for a in &mut out.0 {
        *a = field::centred(field::add_q_if_negative(*a));
    }
}

fn expand_masks(seeds: &[MaskSeed<'_>], len: usize, out: &mut [u8]) {
    // The squeezed blocks are the mask itself, and an unoptimised permutation
    // leaves its state in its frame, which is large; an optimised one is not.
    const FRAMES: usize = if cfg!(mldsa_opt_level = "0") {
        16_384
    } else {
        2_048
    };
    zeroize_stack::<FRAMES, _>(|| {
        let mut rest = out;
        for &(rho_pp, kappa) in seeds {
            let (row, later) = rest.split_at_mut(len);
            sample::expand_mask_packed(Permutation::PORTABLE, rho_pp, kappa, row);
            rest = later;
        }
    });
}

#[inline(always)]
pub(super) fn unpack_mask_ntt(gamma1_bits: u32, bytes: &[u8], out: &mut NttPoly) {
    let mut y = Secret::<Poly>::zeroed();
    pack::unpack_z(gamma1_bits, bytes, y.expose_mut());
    ntt::ntt(y.expose(), out);
}

fn unpack_z_ntt(gamma1_bits: u32, bound: i32, bytes: &[u8], out: &mut NttPoly) -> bool {
    let mut z = Poly::zeroed();
    pack::unpack_z(gamma1_bits, bytes, &mut z);
    ntt::ntt(&z, out);
    !z.norm_reaches(bound)
}

#[inline(always)]
pub(super) fn unpack_eta_ntt(eta: i32, bytes: &[u8], out: &mut NttPoly) -> bool {
    let mut s = Secret::<Poly>::zeroed();
    let in_range = pack::unpack_eta(eta, bytes, s.expose_mut());
    ntt::ntt(s.expose(), out);
    in_range
}

#[inline(always)]
pub(super) fn unpack_t0_ntt(bytes: &[u8], out: &mut NttPoly) {
    let mut t0 = Secret::<Poly>::zeroed();
    pack::unpack_t0(bytes, t0.expose_mut());
    ntt::ntt(t0.expose(), out);
}

/// A row of A times a vector, back in coefficient form: |out| < q.
#[inline(always)]
fn row_of_product(a: &[NttPoly], b: &[NttPoly], out: &mut Poly) {
    let mut row = Secret::<NttPoly>::zeroed();
    ntt::row_product(a, b, row.expose_mut());
    ntt::inv_ntt(row.expose(), out);
}

#[inline(always)]
pub(super) fn public_row(
    eta: i32,
    a_row: &[NttPoly],
    s1_hat: &[NttPoly],
    s2: &[u8],
    t1_out: &mut [u8; T1_POLY_LEN],
    t0_out: &mut [u8; T0_POLY_LEN],
) {
    let mut t = Secret::<Poly>::zeroed();
    let mut s = Secret::<Poly>::zeroed();
    let (t, s) = (t.expose_mut(), s.expose_mut());
    row_of_product(a_row, s1_hat, t);
    pack::unpack_eta(eta, s2, s);
    for n in 0..N {
        // |t| < q + eta
        let (t1, t0) = rounding::power2round(field::canonical(t.0[n] + s.0[n]));
        t.0[n] = t1;
        s.0[n] = t0;
    }
    pack::pack_t1(t, t1_out);
    pack::pack_t0(s, t0_out);
}

#[inline(always)]
pub(super) fn commit_row(
    gamma2: i32,
    a_row: &[NttPoly],
    y_hat: &[NttPoly],
    w: &mut Poly,
    w1: &mut [u8],
) {
    row_of_product(a_row, y_hat, w);
    for a in &mut w.0 {
        *a = field::add_q_if_negative(*a);
    }
    pack::w1_encode(gamma2, w, w1, |a| rounding::high_bits(gamma2, a));
}

#[inline(always)]
pub(super) fn respond_row(
    gamma1_bits: u32,
    bound: i32,
    c_hat: &NttPoly,
    s1_hat: &NttPoly,
    y_hat: &NttPoly,
    out: &mut [u8],
) -> bool {
    let mut z = Secret::<Poly>::zeroed();
    let z = z.expose_mut();
    // |c s1 + y| < 121 q^2 + 11q < 2^31 q; the common factor 2^-32 leaves with the
    // inverse transform.
    let product = |n| ntt::multiply_add(c_hat.0[n], s1_hat.0[n], y_hat.0[n]);
    centred_inv_ntt(product, z);
    pack::pack_z(gamma1_bits, z, out);
    !z.norm_reaches(bound)
}

#[inline(always)]
pub(super) fn low_bits_row(
    gamma2: i32,
    bound: i32,
    c_hat: &NttPoly,
    s2_hat: &NttPoly,
    w: &mut Poly,
) -> bool {
    let mut cs2 = Secret::<Poly>::zeroed();
    let cs2 = cs2.expose_mut();
    product_inv_ntt(c_hat, s2_hat, cs2);
    let mut sign = 0;
    for (w, &cs2) in w.0.iter_mut().zip(&cs2.0) {
        *w = field::canonical(*w - cs2);
        sign |= bound - 1 - abs(rounding::low_bits(gamma2, *w));
    }
    !is_negative(sign)
}

#[inline(always)]
pub(super) fn hint_row(
    gamma2: i32,
    c_hat: &NttPoly,
    t0_hat: &NttPoly,
    w_minus_cs2: &Poly,
    bitmap: &mut [u8; HINT_ROW_LEN],
) -> bool {
    let mut ct0 = Secret::<Poly>::zeroed();
    let ct0 = ct0.expose_mut();
    product_inv_ntt(c_hat, t0_hat, ct0);
    bitmap.fill(0);
    for n in 0..N {
        let w = w_minus_cs2.0[n];
        let hint = rounding::make_hint(gamma2, field::canonical(w + ct0.0[n]), w);
        bitmap[n / 8] |= (hint as u8) << (n % 8);
    }
    !ct0.norm_reaches(gamma2)
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
