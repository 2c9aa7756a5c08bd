//! AVX2: four-lane Keccak under the portable arithmetic, for ExpandA and for the
//! hashes of batch verification. With BMI1 and BMI2, as every CPU with AVX2 has,
//! for the scalar permutation.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
#[cfg(feature = "count-dispatch")]
use core::sync::atomic::AtomicUsize;

use super::kernels::Kernels;
use super::matrix::MatrixRows;
use super::portable;
use super::rows::{commitment, t1_column};
use crate::coding::encode::PublicKeyParts;
use crate::coding::expansion::Expansion;
use crate::error::VerifyError;
use crate::hash::keccak::{Word, keccak_f1600};
use crate::hash::xof::LaneHash;
use crate::lanes::job::{Job, JobKey};
use crate::lanes::sponge::{self, Block, LaneSponge, MAX_LANES, Widths};
use crate::lanes::verify::{self, Claim, Engine, SideHash};
use crate::memory::array::Element;
use crate::params::{N, Params, SEED_LEN, T1_POLY_LEN};
use crate::ring::poly::{NttPoly, Poly};
use crate::sample::rej_ntt_block_vartime;

cpufeatures::new!(cpu, "avx2", "bmi1", "bmi2");

/// The table, if this CPU has all of the above and the operating system keeps
/// the registers (XCR0: ymm).
pub(super) fn detect() -> Option<&'static Kernels> {
    cpu::get().then_some(&KERNELS)
}

/// A portable body compiled for this instruction set: the compiler vectorises it.
macro_rules! recompiled {
    ($body:path: $($argument:ident: $t:ty),*) => {
        |$($argument: $t),*| {
            #[target_feature(enable = "avx2,bmi1,bmi2")]
            fn kernel($($argument: $t),*) {
                $body($($argument),*)
            }
            // SAFETY: the table leaves this file through `detect` only.
            unsafe { kernel($($argument),*) }
        }
    };
}

// SAFETY, of every entry: the table leaves this file through `detect` only, or as
// a part of that of AVX-512, which asks for the same features.
pub(super) static KERNELS: Kernels = Kernels {
    name: "avx2",
    #[cfg(feature = "count-dispatch")]
    dispatched: {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        &CALLS
    },
    ntt: recompiled!(crate::ring::ntt::ntt: src: &Poly, dst: &mut NttPoly),
    inv_ntt: recompiled!(crate::ring::ntt::inv_ntt: src: &NttPoly, dst: &mut Poly),
    row_product: recompiled!(crate::ring::ntt::row_product: a: &[NttPoly], b: &[NttPoly], out: &mut NttPoly),
    product_inv_ntt: recompiled!(portable::product_inv_ntt: a: &NttPoly, b: &NttPoly, add: Option<&NttPoly>, out: &mut Poly),
    inv_ntt_high_bits: recompiled!(portable::inv_ntt_high_bits: gamma2: i32, w_hat: &NttPoly, w: &mut Poly, w1: &mut [u8]),
    inv_ntt_use_hint: recompiled!(portable::inv_ntt_use_hint: gamma2: i32, w_hat: &NttPoly, hint: &[u8], w1: &mut [u8]),
    // SAFETY: the table is handed out after detection only.
    keccak_f1600: |state| unsafe { permute_x1(state) },
    // SAFETY: the table is handed out after detection only.
    expand_a: |rho, l, first, out| unsafe { expand_a(rho, l, first, out) },
    // SAFETY: the table is handed out after detection only.
    prepare: Some(|p, pk, rows| unsafe { prepare(p, pk, rows) }),
    // SAFETY: the table is handed out after detection only.
    expand_s: |rho_p, eta, first, out| unsafe { expand_s(rho_p, eta, first, out) },
    // SAFETY: the table is handed out after detection only.
    shake256: Some(|hashes| unsafe { shake256(hashes) }),
    // SAFETY: the table is handed out after detection only.
    verify: Some(|p, job, results| unsafe { verify(p, job, results) }),
    ..portable::KERNELS
};

/// One word of four states.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct X4(__m256i);

impl Word for X4 {
    type Effect = Self;

    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        // SAFETY: words of this type are used by this backend's kernels only.
        unsafe { Self(_mm256_xor_si256(self.0, b.0)) }
    }

    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        // SAFETY: words of this type are used by this backend's kernels only.
        unsafe { self.xor(Self(_mm256_andnot_si256(b.0, c.0))) }
    }

    #[inline(always)]
    fn rotl<const BITS: u32>(self) -> Self {
        // SAFETY: words of this type are used by this backend's kernels only. The counts are constants, so these are shifts by
        // an immediate.
        unsafe {
            let left = _mm256_sllv_epi64(self.0, _mm256_set1_epi64x(BITS as i64));
            let right = _mm256_srlv_epi64(self.0, _mm256_set1_epi64x(64 - BITS as i64));
            Self(_mm256_or_si256(left, right))
        }
    }

    #[inline(always)]
    fn splat(value: u64) -> Self {
        // SAFETY: words of this type are used by this backend's kernels only.
        unsafe { Self(_mm256_set1_epi64x(value as i64)) }
    }

    #[inline(always)]
    fn effect(left: Self, right: Self) -> Self {
        left.xor(right)
    }

    #[inline(always)]
    fn apply(self, effect: Self) -> Self {
        self.xor(effect)
    }
}

/// Four permutations.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn permute_x4(state: &mut [X4; 25]) {
    super::kernels::align_frame!();
    keccak_f1600(state);
}

/// One permutation: `rorx` and `andn` are worth a sixth of the time.
#[inline(never)]
#[target_feature(enable = "bmi1,bmi2")]
fn permute_x1(state: &mut [u64; 25]) {
    keccak_f1600(state);
}

/// Four SHAKE256 states.
#[repr(C, align(64))]
struct Sponge4([X4; 25]);

impl LaneSponge for Sponge4 {
    const LANES: usize = 4;

    #[inline]
    fn zero() -> Self {
        Self([X4::splat(0); 25])
    }

    #[inline]
    fn absorb(&mut self, blocks: &[&Block; MAX_LANES]) {
        for (w, word) in self
            .words_mut()
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .enumerate()
            .take(17)
        {
            for (word, block) in word.iter_mut().zip(blocks) {
                *word ^= u64::from_le_bytes(block.as_chunks().0[w]);
            }
        }
        // SAFETY: only this backend's kernels use this type.
        unsafe { permute_x4(&mut self.0) }
    }

    #[inline]
    fn words(&self) -> &[u64] {
        // SAFETY: 25 vectors of four words, of the same size and a larger alignment.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), 100) }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: the same words as `words` gives, and borrowed for writing.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 100) }
    }
}

/// Algorithm 32, as [`Kernels::expand_a`]. Bounds: `0 <= out < q`.
#[target_feature(enable = "avx2")]
fn expand_a(rho: &[u8; SEED_LEN], l: usize, first: usize, out: &mut [NttPoly]) {
    for (group, out) in out.chunks_mut(4).enumerate() {
        expand_group(rho, l, first + 4 * group, out);
    }
}

/// Up to four entries of A.
#[target_feature(enable = "avx2")]
fn expand_group(rho: &[u8; SEED_LEN], l: usize, first: usize, out: &mut [NttPoly]) {
    const RATE: usize = 168;
    let mut sponge = Sponge4::zero();
    let words = sponge.words_mut().as_chunks_mut::<4>().0;
    for (word, bytes) in words.iter_mut().zip(rho.as_chunks::<8>().0) {
        *word = [u64::from_le_bytes(*bytes); 4];
    }
    for (index, word) in (first..).zip(&mut words[4]) {
        // Column, row, and the domain bits of SHAKE behind 34 bytes.
        *word = ((index % l) | ((index / l) << 8) | (0x1f << 16)) as u64;
    }
    words[RATE / 8 - 1] = [1 << 63; 4];
    let mut filled = [0; 4];
    while filled.iter().take(out.len()).any(|&filled| filled < N) {
        permute_x4(&mut sponge.0);
        for ((n, poly), filled) in out.iter_mut().enumerate().zip(&mut filled) {
            let mut block = [0; RATE];
            sponge.squeeze(n, &mut block);
            *filled = rej_ntt_block_vartime(&block, &mut poly.0, *filled);
        }
    }
}

/// [`sponge::shake256`] on this backend.
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn shake256(hashes: &mut dyn Iterator<Item = LaneHash<'_>>) {
    sponge::shake256::<Avx2>(hashes);
}

/// [`sponge::expand_s`] on this backend.
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn expand_s(rho_p: &[u8; 64], eta: i32, first: usize, out: &mut [Poly]) {
    sponge::expand_s::<Avx2>(rho_p, eta, first, out);
}

/// The next row of A and, behind it, NTT(-t1 2^13) from that row's packed t1.
#[target_feature(enable = "avx2")]
fn next_row(rows: &mut MatrixRows<'_, 4>, t1: &[u8], row: &mut [NttPoly]) {
    if let [a_row @ .., t1_hat] = row {
        rows.next_row(a_row);
        t1_column(&KERNELS, t1, t1_hat);
    }
}

/// The rows of a prepared key in the portable order.
#[target_feature(enable = "avx2")]
fn prepare(p: &Params, pk: &PublicKeyParts<'_>, rows: &mut [NttPoly]) {
    let mut a = MatrixRows::new(&KERNELS, p, pk.rho);
    for (row, t1) in rows
        .chunks_exact_mut(p.l + 1)
        .zip(pk.t1.chunks_exact(T1_POLY_LEN))
    {
        next_row(&mut a, t1, row);
    }
}

/// Marks code that only this backend's table leads to.
struct Avx2;

impl Widths for Avx2 {
    type Wide = Sponge4;
    type Narrow = Sponge4;

    fn permute(state: &mut [u64; 25]) {
        // SAFETY: reached only through this backend's entries.
        unsafe { permute_x1(state) }
    }
}

impl Engine for Avx2 {
    fn commitment(
        key: &JobKey<'_>,
        claim: &Claim<'_>,
        _: &mut SideHash<'_>,
        w1: &mut [u8],
    ) -> bool {
        match key {
            // SAFETY: reached only through `verify`, which needs the features.
            JobKey::Cold(pk, _) => unsafe { cold(pk, claim, w1) },
            JobKey::Prepared(rows, _) => prepared(*rows, claim, w1),
        }
    }
}

// Not inlined, as `prepared`: their frames would add up.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn cold(pk: &PublicKeyParts<'_>, claim: &Claim<'_>, w1: &mut [u8]) -> bool {
    let p = claim.p;
    let mut row = [const { NttPoly::ZERO }; 8];
    let row = &mut row[..=p.l];
    let mut a = MatrixRows::new(&KERNELS, p, pk.rho);
    with_products(claim, w1, &mut |i, vector, w_hat| {
        next_row(&mut a, &pk.t1[i * T1_POLY_LEN..][..T1_POLY_LEN], row);
        (KERNELS.row_product)(row, vector, w_hat);
    })
}

#[inline(never)]
fn prepared(rows: Expansion<'_>, claim: &Claim<'_>, w1: &mut [u8]) -> bool {
    let l = claim.p.l;
    let mut row = [const { NttPoly::ZERO }; 8];
    let row = &mut row[..=l];
    with_products(claim, w1, &mut |i, vector, w_hat| {
        (KERNELS.row_product)(rows.polys(i * (l + 1), row), vector, w_hat);
    })
}

fn with_products(
    claim: &Claim<'_>,
    w1: &mut [u8],
    product: &mut dyn FnMut(usize, &[NttPoly], &mut NttPoly),
) -> bool {
    let mut vector = [const { NttPoly::ZERO }; 8];
    let mut packed = w1.chunks_exact_mut(claim.p.w1_poly_len());
    commitment(
        &KERNELS,
        claim,
        &mut vector[..=claim.p.l],
        product,
        &mut |row| {
            if let Some(w1) = packed.next() {
                w1.copy_from_slice(row);
            }
        },
    )
}

/// [`verify::verify_lanes`] on this backend.
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn verify<'a>(p: &Params, job: &dyn Fn(usize) -> Job<'a>, results: &mut [Result<(), VerifyError>]) {
    if results.len() == 1 {
        verify_one(p, job, results);
    } else {
        verify_several(p, job, results);
    }
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn verify_one<'a>(
    p: &Params,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    verify::verify_lanes::<Avx2, 1>(p, job, results);
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn verify_several<'a>(
    p: &Params,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    verify::verify_lanes::<Avx2, MAX_LANES>(p, job, results);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::differential::{Random, hashes_equal_single_ones};

    #[test]
    fn four_permutations() {
        if detect().is_none() {
            std::eprintln!("skipped: this CPU has no avx2 backend");
            return;
        }
        let mut random = Random::new(9);
        let mut sponge = Sponge4::zero();
        let states: [[u64; 25]; 4] =
            core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
        for (n, word) in sponge.words_mut().iter_mut().enumerate() {
            *word = states[n % 4][n / 4];
        }
        // SAFETY: `detect` found every feature.
        unsafe { permute_x4(&mut sponge.0) };
        for (lane, mut state) in states.into_iter().enumerate() {
            keccak_f1600(&mut state);
            assert!(sponge.words().iter().skip(lane).step_by(4).eq(&state));
        }
    }

    #[test]
    fn hashes_in_lanes() {
        if detect().is_none() {
            std::eprintln!("skipped: this CPU has no avx2 backend");
            return;
        }
        hashes_equal_single_ones::<Avx2>();
    }
}
