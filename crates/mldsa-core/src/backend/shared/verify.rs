//! Verification, composed of the kernels of this folder. Public data.

use super::keccak::Cpu;
use super::ntt::get_pair;
use super::product::{matrix_product, row_product};
use super::reject::{GROUP, expand_a};
use super::unpack::{challenge_ntt, unpack_t1_ntt, unpack_z_ntt};
use super::vector::put;
use super::w1::inv_ntt_use_hint;
#[cfg(target_arch = "x86_64")]
use crate::backend::fetch::{fetch_ends, fetch_pages};
use crate::backend::matrix::MatrixRows;
use crate::backend::transform::{Order, Private, Standard, Vector, reduce};
use crate::coding::encode::PublicKeyParts;
use crate::coding::expansion::Expansion;
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::job::{CommitmentInputs, JobKey};
use crate::lanes::verify::LaneBackend;
use crate::memory::array::{Element, Zeroed};
use crate::params::{GAMMA2_88, N, Params, T1_POLY_LEN};
use crate::ring::poly::NttPoly;

impl<C: Cpu> LaneBackend for C {
    #[inline]
    fn commitment(
        self,
        key: &JobKey<'_>,
        inputs: &CommitmentInputs<'_>,
        interleaved: &mut InterleavedHash<'_>,
    ) -> bool {
        // SAFETY: `self` proves the features.
        unsafe {
            match inputs.p.l {
                4 => commitment::<C, 5>(self, key, inputs, interleaved),
                5 => commitment::<C, 6>(self, key, inputs, interleaved),
                _ => commitment::<C, 8>(self, key, inputs, interleaved),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn announce(self, signature: &[u8]) {
        fetch_ends(signature);
    }
}

// Neither body is inlined here: their frames would add up.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn commitment<C: Cpu, const TERMS: usize>(
    cpu: C,
    key: &JobKey<'_>,
    inputs: &CommitmentInputs<'_>,
    interleaved: &mut InterleavedHash<'_>,
) -> bool {
    match key {
        JobKey::Prepared(rows, _) => prepared::<TERMS>(*rows, inputs, interleaved),
        JobKey::Encoded(pk, _) => encoded::<C, TERMS>(cpu, pk, inputs, interleaved),
    }
}

/// z and c in NTT form. False if z is too large.
///
/// Bounds: `|out| < 9 q`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn transform<O: Order>(inputs: &CommitmentInputs<'_>, vector: &mut [NttPoly]) -> bool {
    let p = inputs.p;
    let (z_hat, c_hat) = vector.split_at_mut(p.l);
    let bound = p.gamma1() - p.beta();
    let len = p.z_poly_len();
    for (n, z_hat) in z_hat.iter_mut().enumerate() {
        let bytes = &inputs.parts.z[len * n..][..len];
        let within = match p.gamma1_bits {
            17 => unpack_z_ntt::<18, O>(bytes, bound, z_hat),
            _ => unpack_z_ntt::<20, O>(bytes, bound, z_hat),
        };
        if !within {
            return false;
        }
    }
    challenge_ntt::<O>(&inputs.c.0, &mut c_hat[0]);
    true
}

/// Packs w1 of row `i`, whose hint the claim has.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn pack_row<O: Order>(inputs: &CommitmentInputs<'_>, i: usize, w_hat: &NttPoly, w1: &mut [u8]) {
    let hint = inputs.parts.hint.row(i);
    match inputs.p.gamma2 {
        GAMMA2_88 => inv_ntt_use_hint::<true, O>(w_hat, hint, w1),
        _ => inv_ntt_use_hint::<false, O>(w_hat, hint, w1),
    }
}

#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn prepared<const TERMS: usize>(
    rows: Expansion<'_>,
    inputs: &CommitmentInputs<'_>,
    interleaved: &mut InterleavedHash<'_>,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    fetch_pages(rows);
    let mut vector = [const { NttPoly::ZERO }; TERMS];
    if !transform::<Private>(inputs, &mut vector) {
        return false;
    }
    let mut w_hat = [const { NttPoly::ZERO }; 8];
    let w_hat = &mut w_hat[..inputs.p.k];
    matrix_product(rows, &vector, w_hat);
    for (i, w_hat) in w_hat.iter().enumerate() {
        pack_row::<Private>(
            inputs,
            i,
            w_hat,
            interleaved.next_w1(inputs.p.w1_poly_len()),
        );
    }
    true
}

#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn encoded<C: Cpu, const TERMS: usize>(
    cpu: C,
    pk: &PublicKeyParts<'_>,
    inputs: &CommitmentInputs<'_>,
    interleaved: &mut InterleavedHash<'_>,
) -> bool {
    let p = inputs.p;
    let mut vector = [const { NttPoly::ZERO }; TERMS];
    if !transform::<Standard>(inputs, &mut vector) {
        return false;
    }
    let mut row = [const { NttPoly::ZERO }; TERMS];
    let mut w_hat = NttPoly::zeroed();
    let mut a = MatrixRows::<GROUP>::new(cpu.kernels(), p, pk.rho);
    for (i, t1) in pk.t1.chunks_exact(T1_POLY_LEN).enumerate() {
        let (a_row, t1_hat) = row.split_at_mut(p.l);
        a.next_row_of(a_row, &mut |rho, l, first, group| {
            expand_a(cpu, rho, l, first, group, interleaved);
        });
        // Not reduced: with t1, c is no smaller than z is with A.
        unpack_t1_ntt::<Standard>(t1, &mut t1_hat[0]);
        row_product(&row, &vector, &mut w_hat);
        pack_row::<Standard>(inputs, i, &w_hat, interleaved.next_w1(p.w1_poly_len()));
    }
    true
}

/// A and `NTT(-t1 2^13)` in the order [`matrix_product`] reads: k (l + 1)
/// polynomials' worth of memory. Bounds: `0 <= out < q`.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn prepare<C: Cpu>(cpu: C, p: &Params, pk: &PublicKeyParts<'_>, rows: &mut [NttPoly]) {
    let mut a = MatrixRows::<GROUP>::new(cpu.kernels(), p, pk.rho);
    let mut row = [const { NttPoly::ZERO }; 8];
    let (a_row, t1_hat) = row.split_at_mut(p.l);
    for (i, t1) in pk.t1.chunks_exact(T1_POLY_LEN).enumerate() {
        a.next_row(a_row);
        for (j, a) in a_row.iter().enumerate() {
            place::<Standard>(a, p, i, j, rows);
        }
        unpack_t1_ntt::<Private>(t1, &mut t1_hat[0]);
        place::<Private>(&t1_hat[0], p, i, p.l, rows);
    }
}

/// Puts the blocks of entry (i, j) where they belong, reduced.
///
/// Bounds: `|poly| < 2^31`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn place<O: Order>(poly: &NttPoly, p: &Params, i: usize, j: usize, rows: &mut [NttPoly]) {
    for n in 0..N / 16 {
        for (half, v) in get_pair::<O>(&poly.0, n).into_iter().enumerate() {
            let at = ((2 * n + half) * p.k + i) * (p.l + 1) + j;
            put(
                &mut rows[at / (N / 8)].0,
                at % (N / 8),
                reduce(v).canonical(),
            );
        }
    }
}
