//! The rows of verification, spelled out from fine kernels: A, t1 and the
//! commitment that a signature claims. Public data.

use super::kernels::Kernels;
use crate::coding::encode::PublicKeyParts;
use crate::coding::pack;
use crate::lanes::job::CommitmentInputs;
use crate::memory::array::Zeroed;
use crate::params::{Params, T1_POLY_LEN};
use crate::ring::field::canonical;
use crate::ring::poly::{NttPoly, Poly};

/// Lines 9 and 10 of algorithm 8: the packed rows of the commitment that `claim`
/// makes, one after the other to `w1`. False if a coefficient of z is too large.
///
/// `product(i, vector, w_hat)` is called for one row after the other: the row (A[i],
/// -t1[i] 2^13) of the key times the vector (z, c), for which `z_c_hat` has room.
pub(crate) fn commitment(
    kernels: &Kernels,
    inputs: &CommitmentInputs<'_>,
    z_c_hat: &mut [NttPoly],
    product: &mut dyn FnMut(usize, &[NttPoly], &mut NttPoly),
    w1: &mut dyn FnMut(&[u8]),
) -> bool {
    let CommitmentInputs { p, parts, c } = *inputs;
    let (z_hat, c_hat) = z_c_hat.split_at_mut(p.l);
    for (z_hat, bytes) in z_hat.iter_mut().zip(parts.z.chunks_exact(p.z_poly_len())) {
        if !(kernels.unpack_z_ntt)(p.gamma1_bits, p.gamma1() - p.beta(), bytes, z_hat) {
            return false;
        }
    }
    let mut c_poly = Poly::zeroed();
    c.to_poly(&mut c_poly);
    (kernels.ntt)(&c_poly, &mut c_hat[0]);
    let mut w_hat = NttPoly::zeroed();
    let mut packed = [0; 192];
    let packed = &mut packed[..p.w1_poly_len()];
    for i in 0..p.k {
        product(i, z_c_hat, &mut w_hat);
        (kernels.inv_ntt_use_hint)(p.gamma2, &w_hat, parts.hint.row(i), packed);
        w1(packed);
    }
    true
}

/// Row `i` of A, followed by NTT(-t1[i] 2^13), so that one product of l + 1
/// terms gives `A z - c t1 2^13`. `out` has l + 1 entries; 0 <= out < q.
pub(crate) fn expand_row(
    kernels: &Kernels,
    p: &Params,
    pk: &PublicKeyParts<'_>,
    i: usize,
    out: &mut [NttPoly],
) {
    let Some((t1_hat, a_row)) = out.split_last_mut() else {
        return;
    };
    (kernels.expand_a)(pk.rho, p.l, i * p.l, a_row);
    t1_column(kernels, &pk.t1[i * T1_POLY_LEN..][..T1_POLY_LEN], t1_hat);
}

/// NTT(-t1[i] 2^13) from the 320 packed bytes of t1[i]; 0 <= out < q.
pub(crate) fn t1_column(kernels: &Kernels, bytes: &[u8], out: &mut NttPoly) {
    let mut t1 = Poly::zeroed();
    pack::unpack_t1_2d(bytes, &mut t1);
    (kernels.ntt)(&t1, out);
    for a in &mut out.0 {
        *a = canonical(-*a);
    }
}
