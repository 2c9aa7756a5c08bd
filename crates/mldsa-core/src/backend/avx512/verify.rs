//! Verification put together from the kernels beside this file.

use super::ntt::from_standard_order;
use super::product::{RowSums, matrix_product};
use super::reject::Group;
use super::sponge::{Sponge4, Sponge8};
use super::unpack::{load, ntt_biased, store, unpack_t1_ntt, unpack_z_ntt};
use super::w1::{hint_masks, inv_ntt_use_hint};
use super::word::permute_x1;
use crate::array::Element;
use crate::encode::{PublicKeyParts, SignatureParts};
use crate::error::VerifyError;
use crate::job::{Job, VerifyRows};
use crate::multi::{self, Engine, Rider};
use crate::params::{N, Params, SEED_LEN, T1_POLY_LEN};
use crate::poly::{NttPoly, Poly};
use crate::sample::Challenge;

/// Marks code that only this backend's table leads to.
struct Avx512;

impl Engine for Avx512 {
    type Wide = Sponge8;
    type Narrow = Sponge4;

    #[inline]
    fn commitment(
        p: &Params,
        rows: &VerifyRows<'_>,
        parts: &SignatureParts<'_>,
        c: &Challenge,
        rider: &mut Rider<'_>,
        w1: &mut [u8],
    ) -> bool {
        // SAFETY: reached only through `verify`, which needs the features.
        unsafe {
            match p.k {
                4 => commitment::<4, 4, 5, 18, true>(p, rows, parts, c, rider, w1),
                6 => commitment::<6, 5, 6, 20, false>(p, rows, parts, c, rider, w1),
                _ => commitment::<8, 7, 8, 20, false>(p, rows, parts, c, rider, w1),
            }
        }
    }

    #[inline]
    fn permute(state: &mut [u64; 25]) {
        // SAFETY: as in `commitment`.
        unsafe { permute_x1(state) }
    }
}

/// [`multi::verify`] on this backend.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2")]
pub(super) fn verify<'a>(
    p: &Params,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    multi::verify::<Avx512>(p, job, results);
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2")]
fn commitment<
    const K: usize,
    const L: usize,
    const TERMS: usize,
    const Z_BITS: usize,
    const SIX_BITS: bool,
>(
    p: &Params,
    rows: &VerifyRows<'_>,
    parts: &SignatureParts<'_>,
    c: &Challenge,
    rider: &mut Rider<'_>,
    w1: &mut [u8],
) -> bool {
    match rows {
        VerifyRows::Prepared(rows) => {
            prepared::<K, L, TERMS, Z_BITS, SIX_BITS>(p, rows, parts, c, w1)
        }
        VerifyRows::Cold(pk) => cold::<K, L, TERMS, Z_BITS, SIX_BITS>(p, pk, parts, c, rider, w1),
    }
}

/// z and c in NTT form, or `None` if z is too large.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn transform<const TERMS: usize, const Z_BITS: usize, const STANDARD: bool>(
    p: &Params,
    parts: &SignatureParts<'_>,
    c: &Challenge,
    out: &mut [NttPoly; TERMS],
) -> bool {
    let [z_hat @ .., c_hat] = out.as_mut_slice() else {
        return false;
    };
    for (bytes, z_hat) in parts.z.chunks_exact(32 * Z_BITS).zip(z_hat) {
        if !unpack_z_ntt::<Z_BITS, STANDARD>(bytes, p.beta(), z_hat) {
            return false;
        }
    }
    let mut c_poly = Poly::ZERO;
    c.to_poly(&mut c_poly);
    ntt_biased::<STANDARD>(&c_poly, c_hat);
    true
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512ifma")]
fn prepared<
    const K: usize,
    const L: usize,
    const TERMS: usize,
    const Z_BITS: usize,
    const SIX_BITS: bool,
>(
    p: &Params,
    rows: &[NttPoly],
    parts: &SignatureParts<'_>,
    c: &Challenge,
    w1: &mut [u8],
) -> bool {
    let mut vector = [const { NttPoly::ZERO }; TERMS];
    if !transform::<TERMS, Z_BITS, false>(p, parts, c, &mut vector) {
        return false;
    }
    let mut w_hat = [const { NttPoly::ZERO }; K];
    matrix_product::<K, TERMS>(rows, &vector, &mut w_hat);
    for (i, (w_hat, w1)) in w_hat
        .iter()
        .zip(w1.chunks_exact_mut(p.w1_poly_len()))
        .enumerate()
    {
        inv_ntt_use_hint::<SIX_BITS, false>(w_hat, &hint_masks(parts.hint.row(i)), w1);
    }
    true
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2")]
fn cold<
    const K: usize,
    const L: usize,
    const TERMS: usize,
    const Z_BITS: usize,
    const SIX_BITS: bool,
>(
    p: &Params,
    pk: &PublicKeyParts<'_>,
    parts: &SignatureParts<'_>,
    c: &Challenge,
    rider: &mut Rider<'_>,
    w1: &mut [u8],
) -> bool {
    let mut vector = [const { NttPoly::ZERO }; TERMS];
    if !transform::<TERMS, Z_BITS, true>(p, parts, c, &mut vector) {
        return false;
    }
    let mut group = Group::ZERO;
    let mut sums = RowSums::ZERO;
    let mut row = NttPoly::ZERO;
    for first in (0..K * L).step_by(8) {
        let end = (first + 8).min(K * L);
        group.expand(pk.rho, L, first..end, rider);
        let mut from = first;
        while from < end {
            // As much of row i as this group holds.
            let (i, j) = (from / L, from % L);
            let to = end.min(from + L - j);
            sums.add(group.polys(from - first, to - first), &vector[j..]);
            if j + to - from == L {
                unpack_t1_ntt::<true>(&pk.t1[T1_POLY_LEN * i..][..T1_POLY_LEN], &mut row);
                sums.add(&row.0, &vector[L..]);
                sums.reduce(&mut row);
                sums = RowSums::ZERO;
                let len = p.w1_poly_len();
                inv_ntt_use_hint::<SIX_BITS, true>(
                    &row,
                    &hint_masks(parts.hint.row(i)),
                    &mut w1[len * i..][..len],
                );
            }
            from = to;
        }
    }
    true
}

/// Algorithm 32, as [`super::super::Kernels::expand_a`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2")]
pub(super) fn expand_a(rho: &[u8; SEED_LEN], l: usize, first: usize, out: &mut [NttPoly]) {
    let mut group = Group::ZERO;
    for (n, out) in out.chunks_mut(8).enumerate() {
        let start = first + 8 * n;
        group.expand(rho, l, start..start + out.len(), &mut Rider::idle());
        for (out, poly) in out.iter_mut().zip(group.polys(0, 8).as_chunks().0) {
            out.0 = *poly;
        }
    }
}

/// A and `NTT(-t1 2^13)` in the order [`matrix_product`] reads: k (l + 1)
/// polynomials' worth of memory. Bounds: `0 <= out < q`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2")]
pub(super) fn prepare(p: &Params, pk: &PublicKeyParts<'_>, rows: &mut [NttPoly]) {
    let (k, l) = (p.k, p.l);
    let mut group = Group::ZERO;
    for first in (0..k * l).step_by(8) {
        let end = (first + 8).min(k * l);
        group.expand(pk.rho, l, first..end, &mut Rider::idle());
        for (n, poly) in (first..end).zip(group.polys(0, 8).as_chunks().0) {
            let mut v = load(poly);
            for pair in v.as_chunks_mut::<2>().0 {
                (pair[0], pair[1]) = from_standard_order(pair[0], pair[1]);
            }
            let mut private = NttPoly::ZERO;
            store(&v, &mut private.0);
            place(&private, k, l, n / l, n % l, rows);
        }
    }
    for i in 0..k {
        let mut t1 = NttPoly::ZERO;
        unpack_t1_ntt::<false>(&pk.t1[T1_POLY_LEN * i..][..T1_POLY_LEN], &mut t1);
        place(&t1, k, l, i, l, rows);
    }
}

/// Puts the blocks of entry (i, j) where they belong.
fn place(poly: &NttPoly, k: usize, l: usize, i: usize, j: usize, rows: &mut [NttPoly]) {
    for (n, block) in poly.0.as_chunks::<16>().0.iter().enumerate() {
        let at = 16 * ((n * k + i) * (l + 1) + j);
        rows[at / N].0[at % N..][..16].copy_from_slice(block);
    }
}
