//! Verification, composed of the kernels of this folder.

use core::arch::x86_64::_mm512_storeu_si512;
use core::mem::MaybeUninit;
use core::slice::from_ref;

use super::dims::{Array, Dims, Dims44, Dims65, Dims87};
use super::ntt::{Order, Private, Standard, from_standard_order};
use super::product::{RowSums, matrix_product};
use super::registers::Registers;
use super::reject::Stream;
use super::unpack::{Range, challenge_ntt, load, unpack_t1_ntt, unpack_z_ntt};
use super::w1::{hint_masks, inv_ntt_use_hint};
use crate::backend::cpu::Avx512;
use crate::backend::fetch::{fetch_ends, fetch_pages};
use crate::coding::encode::PublicKeyParts;
use crate::coding::expansion::Expansion;
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::job::{CommitmentInputs, JobKey};
use crate::lanes::verify::LaneBackend;
use crate::memory::array::Zeroed;
use crate::params::{N, Params, SEED_LEN, T1_POLY_LEN};
use crate::ring::poly::NttPoly;

impl LaneBackend for Avx512 {
    #[inline]
    fn commitment(
        self,
        key: &JobKey<'_>,
        inputs: &CommitmentInputs<'_>,
        interleaved: &mut InterleavedHash<'_>,
    ) -> bool {
        // SAFETY: `self` proves the features.
        unsafe {
            match inputs.p.k {
                4 => commitment::<Dims44>(key, inputs, interleaved),
                6 => commitment::<Dims65>(key, inputs, interleaved),
                _ => commitment::<Dims87>(key, inputs, interleaved),
            }
        }
    }

    #[inline(always)]
    fn announce(self, signature: &[u8]) {
        fetch_ends(signature);
    }
}

// Neither body is inlined here: their frames would add up.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt"
)]
fn commitment<S: Dims>(
    key: &JobKey<'_>,
    inputs: &CommitmentInputs<'_>,
    interleaved: &mut InterleavedHash<'_>,
) -> bool {
    match key {
        JobKey::Prepared(rows, _) => prepared::<S>(*rows, inputs, interleaved),
        JobKey::Encoded(pk, _) => encoded::<S>(pk, inputs, interleaved),
    }
}

/// z and c in NTT form, or nothing if z is too large.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn transform<'m, S: Dims, O: Order>(
    inputs: &CommitmentInputs<'_>,
    c_range: Range,
    memory: &'m mut MaybeUninit<S::Terms<NttPoly>>,
) -> Option<&'m S::Terms<NttPoly>> {
    let [z_hat @ .., c_hat] = S::Terms::elements(memory) else {
        return None;
    };
    let len = 32 * S::Z_BITS;
    let z = inputs.parts.z;
    debug_assert_eq!(z.len(), len * z_hat.len());
    for (n, z_hat) in z_hat.iter_mut().enumerate() {
        let (bytes, beta) = (&z[len * n..][..len], inputs.p.beta());
        let within = match S::Z_BITS {
            18 => unpack_z_ntt::<18, O>(bytes, beta, z_hat),
            _ => unpack_z_ntt::<20, O>(bytes, beta, z_hat),
        };
        if !within {
            return None;
        }
    }
    challenge_ntt::<O>(&inputs.c.0, c_range, c_hat);
    // SAFETY: every element was written.
    Some(unsafe { memory.assume_init_ref() })
}

/// Packs w1 of row `i`, whose hint the claim has.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn pack_row<S: Dims, O: Order>(
    inputs: &CommitmentInputs<'_>,
    i: usize,
    w_hat: &NttPoly,
    w1: &mut [u8],
) {
    let hint = hint_masks(inputs.parts.hint.row(i));
    match S::W1_BITS {
        6 => inv_ntt_use_hint::<true, O>(w_hat, &hint, w1),
        _ => inv_ntt_use_hint::<false, O>(w_hat, &hint, w1),
    }
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512ifma")]
fn prepared<S: Dims>(
    rows: Expansion<'_>,
    inputs: &CommitmentInputs<'_>,
    interleaved: &mut InterleavedHash<'_>,
) -> bool {
    fetch_pages(rows);
    let mut memory = MaybeUninit::uninit();
    let Some(vector) = transform::<S, Private>(inputs, Range::Biased, &mut memory) else {
        return false;
    };
    let mut w_hat = MaybeUninit::uninit();
    matrix_product::<S>(rows, vector, &mut w_hat);
    // SAFETY: the product wrote every element.
    let w_hat = unsafe { w_hat.assume_init_ref() };
    for (i, w_hat) in w_hat.as_ref().iter().enumerate() {
        pack_row::<S, Private>(inputs, i, w_hat, interleaved.next_w1(32 * S::W1_BITS));
    }
    true
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt")]
fn encoded<S: Dims>(
    pk: &PublicKeyParts<'_>,
    inputs: &CommitmentInputs<'_>,
    interleaved: &mut InterleavedHash<'_>,
) -> bool {
    let mut memory = MaybeUninit::uninit();
    // One of c and t1 must be small: c, of which there is one.
    let Some(vector) = transform::<S, Standard>(inputs, Range::Reduced, &mut memory) else {
        return false;
    };
    let vector = vector.as_ref();
    let entries = S::K * S::L;
    let mut stream = Stream::ZERO;
    let mut polys = [const { NttPoly::ZEROED }; 8];
    let mut sums = RowSums::ZERO;
    let mut first = 0;
    while first < entries {
        let end = (first + 8).min(entries);
        stream.expand(pk.rho, S::L, first, &mut polys[..end - first], interleaved);
        let mut from = first;
        while from < end {
            // As much of row i as this group holds.
            let (i, j) = (from / S::L, from % S::L);
            let to = end.min(from + S::L - j);
            sums.add(&polys[from - first..to - first], &vector[j..]);
            if j + to - from == S::L {
                let mut t1_hat = MaybeUninit::uninit();
                unpack_t1_ntt::<Standard>(
                    &pk.t1[T1_POLY_LEN * i..][..T1_POLY_LEN],
                    Range::Biased,
                    &mut t1_hat,
                );
                // SAFETY: written by the line before.
                let t1_hat = unsafe { t1_hat.assume_init_ref() };
                sums.add(from_ref(t1_hat), &vector[S::L..]);
                let mut row = MaybeUninit::uninit();
                sums.reduce(&mut row);
                sums = RowSums::ZERO;
                // SAFETY: written by `reduce`.
                let row = unsafe { row.assume_init_ref() };
                pack_row::<S, Standard>(inputs, i, row, interleaved.next_w1(32 * S::W1_BITS));
            }
            from = to;
        }
        first = end;
    }
    true
}

/// Algorithm 32, as [`super::super::kernels::Kernels::expand_a_interleaved`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2,popcnt")]
pub(super) fn expand_a(
    rho: &[u8; SEED_LEN],
    l: usize,
    first: usize,
    out: &mut [NttPoly],
    interleaved: &mut InterleavedHash<'_>,
) {
    let mut stream = Stream::ZERO;
    for (n, out) in out.chunks_mut(8).enumerate() {
        stream.expand(rho, l, first + 8 * n, out, interleaved);
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
        stream.expand(pk.rho, l, first, polys, &mut InterleavedHash::empty());
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
        unpack_t1_ntt::<Private>(t1, Range::Canonical, &mut t1_hat);
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
