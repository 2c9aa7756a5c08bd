//! The entries of the table that work on one polynomial or one row. Constant time but
//! for the one that takes a hint.

use super::ntt::{get_pair, inv_ntt, ntt};
use super::unpack;
use super::vector::get;
use super::w1;
use crate::backend::transform::{Standard, Vector};
use crate::params::GAMMA2_88;
use crate::ring::poly::{NttPoly, Poly};

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn transform(src: &Poly, dst: &mut NttPoly) {
    ntt::<Standard>(
        #[inline(always)]
        |n| get(&src.0, n),
        &mut dst.0,
    );
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn inverse_transform(src: &NttPoly, dst: &mut Poly) {
    inv_ntt(
        #[inline(always)]
        |n| get_pair::<Standard>(&src.0, n),
        #[inline(always)]
        |v| v.centred(),
        &mut dst.0,
    );
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn unpack_z_ntt(gamma1_bits: u32, bound: i32, bytes: &[u8], out: &mut NttPoly) -> bool {
    match gamma1_bits {
        17 => unpack::unpack_z_ntt::<18, Standard>(bytes, bound, out),
        _ => unpack::unpack_z_ntt::<20, Standard>(bytes, bound, out),
    }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn inv_ntt_use_hint(gamma2: i32, w_hat: &NttPoly, hint: &[u8], w1: &mut [u8]) {
    match gamma2 {
        GAMMA2_88 => w1::inv_ntt_use_hint::<true, Standard>(w_hat, hint, w1),
        _ => w1::inv_ntt_use_hint::<false, Standard>(w_hat, hint, w1),
    }
}
