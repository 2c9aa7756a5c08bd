//! The rows of signing and key generation. Constant time; verdicts are secret.

use super::fields::{eta_field, field, short_field};
use super::ntt::{inv_ntt, ntt};
use super::pack::pack;
use super::product::row_sums;
use super::sums::{Sums, Term};
use super::vector::{Largest, get, magnitude, positive, put, shift_left, shift_right};
use super::w1::{high_bits, low_bits};
use crate::backend::transform::{Order, Standard, Vector, response};
use crate::memory::secret::Secret;
use crate::params::{D, GAMMA2_88, N, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring::poly::{NttPoly, Poly};

/// Fused BitUnpack and NTT of one y. Bounds: `|out| < 9 q`.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn unpack_mask_ntt(gamma1_bits: u32, bytes: &[u8], out: &mut NttPoly) {
    match gamma1_bits {
        17 => ntt::<Standard>(
            #[inline(always)]
            |n| response(field::<18>(bytes, n), 1 << 17),
            &mut out.0,
        ),
        _ => ntt::<Standard>(
            #[inline(always)]
            |n| response(field::<20>(bytes, n), 1 << 19),
            &mut out.0,
        ),
    }
}

/// Fused BitUnpack, range check and NTT of one row of s1 or s2. Bounds: `|out| < 9 q`.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn unpack_eta_ntt(eta: i32, bytes: &[u8], out: &mut NttPoly) -> bool {
    let mut largest = Largest::none();
    ntt::<Standard>(
        #[inline(always)]
        |n| {
            let code = eta_field(eta, bytes, n);
            largest.of(code);
            response(code, eta)
        },
        &mut out.0,
    );
    largest.within(2 * eta)
}

/// Fused BitUnpack and NTT of one row of t0. Bounds: `|out| < 9 q`.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn unpack_t0_ntt(bytes: &[u8], out: &mut NttPoly) {
    ntt::<Standard>(
        #[inline(always)]
        |n| response(short_field::<{ D as usize }>(bytes, n), 1 << (D - 1)),
        &mut out.0,
    );
}

/// One row of `Power2Round(A s1 + s2)`, packed.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn public_row(
    eta: i32,
    a_row: &[NttPoly],
    s1_hat: &[NttPoly],
    s2: &[u8],
    t1_out: &mut [u8; T1_POLY_LEN],
    t0_out: &mut [u8; T0_POLY_LEN],
) {
    let mut t = Secret::<Poly>::zeroed();
    let t = t.expose_mut();
    row_of_product(a_row, s1_hat, t);
    for n in 0..N / 8 {
        let s2 = response(eta_field(eta, s2, n), eta);
        // -eta <= t + s2 < q + eta
        let t = get(&t.0, n).add(s2).canonical();
        let up = t.splat((1 << (D - 1)) - 1);
        let t1 = shift_right::<{ D as i32 }>(t.add(up));
        let t0 = t.sub(shift_left::<{ D as i32 }>(t1));
        pack::<10>(t1, n, t1_out);
        pack::<{ D as i32 }>(response(t0, 1 << (D - 1)), n, t0_out);
    }
}

/// One row of a commitment: w = A y and its packed high bits.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn commit_row(
    gamma2: i32,
    a_row: &[NttPoly],
    y_hat: &[NttPoly],
    w: &mut Poly,
    w1: &mut [u8],
) {
    row_of_product(a_row, y_hat, w);
    match gamma2 {
        GAMMA2_88 => high_bits::<true>(w, w1),
        _ => high_bits::<false>(w, w1),
    }
}

/// One row of z = y + c s1, packed, and its norm check.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
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
    // |c s1 + y| < 121 q^2 + 11 q; the common factor 2^-32 leaves with the inverse
    // transform.
    centred_inv_ntt(
        #[inline(always)]
        |n| {
            let c = Term::of(get(&c_hat.0, n));
            Sums::of(get(&s1_hat.0, n), c).add_one(get(&y_hat.0, n))
        },
        z,
    );
    let mut largest = Largest::none();
    for n in 0..N / 8 {
        let z = get(&z.0, n);
        largest.of(magnitude(z));
        match gamma1_bits {
            17 => pack::<18>(response(z, 1 << 17), n, out),
            _ => pack::<20>(response(z, 1 << 19), n, out),
        }
    }
    largest.within(bound - 1)
}

/// One row of w - c s2 in the place of w, and the check of its low bits.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
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
    let mut largest = Largest::none();
    for n in 0..N / 8 {
        let r = get(&w.0, n).sub(get(&cs2.0, n)).canonical();
        put(&mut w.0, n, r);
        let r0 = match gamma2 {
            GAMMA2_88 => low_bits::<true>(gamma2, r),
            _ => low_bits::<false>(gamma2, r),
        };
        largest.of(magnitude(r0));
    }
    largest.within(bound - 1)
}

/// The product of two polynomials, back in centred coefficients.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn product_inv_ntt(a: &NttPoly, b: &NttPoly, out: &mut Poly) {
    centred_inv_ntt(
        #[inline(always)]
        |n| Sums::of(get(&a.0, n), Term::of(get(&b.0, n))),
        out,
    );
}

/// The centred coefficients of what the sums are the product of.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn centred_inv_ntt(sums: impl Fn(usize) -> Sums, out: &mut Poly) {
    inv_ntt(
        #[inline(always)]
        |n| Standard::to_private(sums(2 * n).reduce(), sums(2 * n + 1).reduce()).into(),
        #[inline(always)]
        |v| v.centred(),
        &mut out.0,
    );
}

/// A row of A times a vector, back in canonical coefficients.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn row_of_product(a: &[NttPoly], b: &[NttPoly], out: &mut Poly) {
    inv_ntt(
        #[inline(always)]
        |n| {
            let product = |n| row_sums(a, b, n).reduce();
            Standard::to_private(product(2 * n), product(2 * n + 1)).into()
        },
        #[inline(always)]
        |v| positive(v),
        &mut out.0,
    );
}
