//! Verification put together from the kernels beside this file.

use core::arch::x86_64::_mm512_storeu_si512;
use core::mem::MaybeUninit;
use core::slice::from_ref;

use super::ntt::from_standard_order;
use super::product::{RowSums, matrix_product};
use super::registers::Registers;
use super::reject::Stream;
use super::sponge::Avx512;
use super::unpack::{Range, challenge_ntt, load, unpack_t1_ntt, unpack_z_ntt};
use super::w1::{hint_masks, inv_ntt_use_hint};
use crate::coding::encode::{PublicKeyParts, SignatureParts};
use crate::coding::expansion::Expansion;
use crate::error::VerifyError;
use crate::lanes::job::{Job, JobKey};
use crate::lanes::sponge::MAX_LANES;
use crate::lanes::verify::{self, Engine, SideHash};
use crate::memory::array::Zeroed;
use crate::params::{N, Params, SEED_LEN, T1_POLY_LEN};
use crate::ring::poly::NttPoly;
use crate::sample::Challenge;

impl Engine for Avx512 {
    #[inline]
    fn commitment(
        p: &Params,
        key: &JobKey<'_>,
        parts: &SignatureParts<'_>,
        c: &Challenge,
        side: &mut SideHash<'_>,
        w1: &mut [u8],
    ) -> bool {
        // SAFETY: reached only through `verify`, which needs the features.
        unsafe {
            match p.k {
                4 => commitment::<4, 4, 5, 18, true>(p, key, parts, c, side, w1),
                6 => commitment::<6, 5, 6, 20, false>(p, key, parts, c, side, w1),
                _ => commitment::<8, 7, 8, 20, false>(p, key, parts, c, side, w1),
            }
        }
    }
}

/// [`verify::verify_lanes`] on this backend.
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt"
)]
pub(super) fn verify<'a>(
    p: &Params,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    if results.len() == 1 {
        verify_one(p, job, results);
    } else {
        verify_several(p, job, results);
    }
}

#[inline(never)]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt"
)]
fn verify_one<'a>(
    p: &Params,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    verify::verify_lanes::<Avx512, 1>(p, job, results);
}

#[inline(never)]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt"
)]
fn verify_several<'a>(
    p: &Params,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    verify::verify_lanes::<Avx512, MAX_LANES>(p, job, results);
}

// Neither body is inlined here: their frames would add up.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt"
)]
fn commitment<
    const K: usize,
    const L: usize,
    const TERMS: usize,
    const Z_BITS: usize,
    const SIX_BITS: bool,
>(
    p: &Params,
    key: &JobKey<'_>,
    parts: &SignatureParts<'_>,
    c: &Challenge,
    side: &mut SideHash<'_>,
    w1: &mut [u8],
) -> bool {
    match key {
        JobKey::Prepared(rows, _) => {
            prepared::<K, L, TERMS, Z_BITS, SIX_BITS>(p, *rows, parts, c, w1)
        }
        JobKey::Cold(pk, _) => cold::<K, L, TERMS, Z_BITS, SIX_BITS>(p, pk, parts, c, side, w1),
    }
}

/// z and c in NTT form, or nothing if z is too large.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn transform<'m, const TERMS: usize, const Z_BITS: usize, const STANDARD: bool>(
    p: &Params,
    parts: &SignatureParts<'_>,
    c: &Challenge,
    c_range: Range,
    memory: &'m mut [MaybeUninit<NttPoly>; TERMS],
) -> Option<&'m [NttPoly; TERMS]> {
    let [z_hat @ .., c_hat] = memory.as_mut_slice() else {
        return None;
    };
    debug_assert_eq!(parts.z.len(), 32 * Z_BITS * z_hat.len());
    for (n, z_hat) in z_hat.iter_mut().enumerate() {
        let bytes = &parts.z[32 * Z_BITS * n..][..32 * Z_BITS];
        if !unpack_z_ntt::<Z_BITS, STANDARD>(bytes, p.beta(), z_hat) {
            return None;
        }
    }
    challenge_ntt::<STANDARD>(&c.0, c_range, c_hat);
    // SAFETY: every element was written.
    Some(unsafe { &*memory.as_ptr().cast() })
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512ifma")]
fn prepared<
    const K: usize,
    const L: usize,
    const TERMS: usize,
    const Z_BITS: usize,
    const SIX_BITS: bool,
>(
    p: &Params,
    rows: Expansion<'_>,
    parts: &SignatureParts<'_>,
    c: &Challenge,
    w1: &mut [u8],
) -> bool {
    let mut memory = [const { MaybeUninit::uninit() }; TERMS];
    let Some(vector) = transform::<TERMS, Z_BITS, false>(p, parts, c, Range::Biased, &mut memory)
    else {
        return false;
    };
    let mut w_hat = [const { MaybeUninit::uninit() }; K];
    matrix_product::<K, TERMS>(rows, vector, &mut w_hat);
    // SAFETY: the product wrote every element.
    let w_hat: &[NttPoly; K] = unsafe { &*w_hat.as_ptr().cast() };
    for (i, (w_hat, w1)) in w_hat
        .iter()
        .zip(w1.chunks_exact_mut(p.w1_poly_len()))
        .enumerate()
    {
        inv_ntt_use_hint::<SIX_BITS, false>(w_hat, &hint_masks(parts.hint.row(i)), w1);
    }
    true
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt")]
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
    side: &mut SideHash<'_>,
    w1: &mut [u8],
) -> bool {
    let mut memory = [const { MaybeUninit::uninit() }; TERMS];
    // One of c and t1 must be small: c, of which there is one.
    let Some(vector) = transform::<TERMS, Z_BITS, true>(p, parts, c, Range::Reduced, &mut memory)
    else {
        return false;
    };
    let mut stream = Stream::ZERO;
    let mut polys = [const { NttPoly::ZEROED }; 8];
    let mut sums = RowSums::ZERO;
    for first in (0..K * L).step_by(8) {
        let end = (first + 8).min(K * L);
        stream.expand(pk.rho, L, first, &mut polys[..end - first], side);
        let mut from = first;
        while from < end {
            // As much of row i as this group holds.
            let (i, j) = (from / L, from % L);
            let to = end.min(from + L - j);
            sums.add(&polys[from - first..to - first], &vector[j..]);
            if j + to - from == L {
                let mut t1_hat = MaybeUninit::uninit();
                unpack_t1_ntt::<true>(
                    &pk.t1[T1_POLY_LEN * i..][..T1_POLY_LEN],
                    Range::Biased,
                    &mut t1_hat,
                );
                // SAFETY: written by the line before.
                sums.add(from_ref(unsafe { t1_hat.assume_init_ref() }), &vector[L..]);
                let mut row = MaybeUninit::uninit();
                sums.reduce(&mut row);
                sums = RowSums::ZERO;
                let len = p.w1_poly_len();
                // SAFETY: written by `reduce`.
                let row = unsafe { row.assume_init_ref() };
                inv_ntt_use_hint::<SIX_BITS, true>(
                    row,
                    &hint_masks(parts.hint.row(i)),
                    &mut w1[len * i..][..len],
                );
            }
            from = to;
        }
    }
    true
}

/// Algorithm 32, as [`super::super::kernels::Kernels::expand_a`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2,popcnt")]
pub(super) fn expand_a(rho: &[u8; SEED_LEN], l: usize, first: usize, out: &mut [NttPoly]) {
    let mut stream = Stream::ZERO;
    for (n, out) in out.chunks_mut(8).enumerate() {
        stream.expand(rho, l, first + 8 * n, out, &mut SideHash::idle());
    }
}

/// A and `NTT(-t1 2^13)` in the order [`matrix_product`] reads: k (l + 1)
/// polynomials' worth of memory. Bounds: `0 <= out < q`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2,popcnt")]
pub(super) fn prepare(p: &Params, pk: &PublicKeyParts<'_>, rows: &mut [NttPoly]) {
    let (k, l) = (p.k, p.l);
    let mut stream = Stream::ZERO;
    let mut polys = [const { NttPoly::ZEROED }; 8];
    for first in (0..k * l).step_by(8) {
        let polys = &mut polys[..(k * l - first).min(8)];
        stream.expand(pk.rho, l, first, polys, &mut SideHash::idle());
        for (n, poly) in (first..).zip(&*polys) {
            let mut v = load(&poly.0);
            for pair in v.as_chunks_mut::<2>().0 {
                (pair[0], pair[1]) = from_standard_order(pair[0], pair[1]);
            }
            place(&v, k, l, n / l, n % l, rows);
        }
    }
    for (i, t1) in pk.t1.chunks_exact(T1_POLY_LEN).enumerate() {
        let mut t1_hat = MaybeUninit::<NttPoly>::uninit();
        unpack_t1_ntt::<false>(t1, Range::Canonical, &mut t1_hat);
        // SAFETY: `unpack_t1_ntt` wrote it.
        place(
            &load(&unsafe { t1_hat.assume_init_ref() }.0),
            k,
            l,
            i,
            l,
            rows,
        );
    }
}

/// Puts the blocks of entry (i, j) where they belong.
#[inline]
#[target_feature(enable = "avx512f")]
fn place(v: &Registers, k: usize, l: usize, i: usize, j: usize, rows: &mut [NttPoly]) {
    for (n, register) in v.iter().enumerate() {
        let at = 16 * ((n * k + i) * (l + 1) + j);
        let block = &mut rows[at / N].0[at % N..][..16];
        // SAFETY: the block has 64 bytes.
        unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), *register) };
    }
}
