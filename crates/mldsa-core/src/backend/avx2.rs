//! AVX2: four-lane Keccak under the portable arithmetic, for ExpandA and for the
//! hashes of batch verification. With BMI1 and BMI2, as every CPU with AVX2 has,
//! for the scalar permutation.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::cpu::Avx2;
use super::kernels::{Kernels, counter, entry, expand_s_in_lanes, lane_entries};
use super::matrix::MatrixRows;
use super::portable;
use super::rows::{commitment, t1_column};
use super::states::{LaneWord, States};
use crate::coding::encode::PublicKeyParts;
use crate::coding::expansion::Expansion;
use crate::coding::hint::HINT_ROW_LEN;
use crate::hash::keccak::{Word, keccak_f1600};
use crate::lanes::job::{Claim, JobKey};
use crate::lanes::sponge::{Block, LaneSponge, MAX_LANES, Widths};
use crate::lanes::verify::{Engine, SideHash};
use crate::memory::array::Element;
use crate::params::{N, Params, SEED_LEN, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring;
use crate::ring::poly::{NttPoly, Poly};
use crate::sample::rej_ntt_block_vartime;

/// The table, if this CPU can use it.
pub(super) fn detect() -> Option<&'static Kernels> {
    Avx2::is_detected().then_some(&KERNELS)
}

impl Avx2 {
    fn kernels(self) -> &'static Kernels {
        &KERNELS
    }
}

lane_entries!(Avx2, "avx2,bmi1,bmi2");
expand_s_in_lanes!(Avx2, "avx2,bmi1,bmi2");

/// A portable body compiled for this instruction set: the compiler vectorises it.
macro_rules! recompiled {
    ($body:path: $($argument:ident: $t:ty),* $(=> $out:ty)?) => {{
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn kernel($($argument: $t),*) $(-> $out)? {
            $body($($argument),*)
        }
        entry!(|$($argument: $t),*| kernel($($argument),*))
    }};
}

// SAFETY: this file gives the table away behind detection only, or for a proof.
static KERNELS: Kernels = unsafe { kernels() };

/// The table, for one that has more.
///
/// # Safety
/// Only CPUs that have the features of [`Avx2`] may run what is in it.
pub(super) const unsafe fn kernels() -> Kernels {
    Kernels {
        name: "avx2",
        dispatched: counter!(),
        ntt: recompiled!(ring::ntt::ntt: src: &Poly, dst: &mut NttPoly),
        inv_ntt: recompiled!(ring::ntt::inv_ntt: src: &NttPoly, dst: &mut Poly),
        row_product: recompiled!(ring::ntt::row_product: a: &[NttPoly], b: &[NttPoly], out: &mut NttPoly),
        product_inv_ntt: recompiled!(portable::product_inv_ntt: a: &NttPoly, b: &NttPoly, out: &mut Poly),
        unpack_mask_ntt: recompiled!(portable::unpack_mask_ntt: gamma1_bits: u32, bytes: &[u8], out: &mut NttPoly),
        unpack_eta_ntt: recompiled!(portable::unpack_eta_ntt: eta: i32, bytes: &[u8], out: &mut NttPoly => bool),
        unpack_t0_ntt: recompiled!(portable::unpack_t0_ntt: bytes: &[u8], out: &mut NttPoly),
        public_row: recompiled!(portable::public_row: eta: i32, a_row: &[NttPoly], s1_hat: &[NttPoly], s2: &[u8], t1: &mut [u8; T1_POLY_LEN], t0: &mut [u8; T0_POLY_LEN]),
        commit_row: recompiled!(portable::commit_row: gamma2: i32, a_row: &[NttPoly], y_hat: &[NttPoly], w: &mut Poly, w1: &mut [u8]),
        respond_row: recompiled!(portable::respond_row: gamma1_bits: u32, bound: i32, c_hat: &NttPoly, s1_hat: &NttPoly, y_hat: &NttPoly, out: &mut [u8] => bool),
        low_bits_row: recompiled!(portable::low_bits_row: gamma2: i32, bound: i32, c_hat: &NttPoly, s2_hat: &NttPoly, w: &mut Poly => bool),
        hint_row: recompiled!(portable::hint_row: gamma2: i32, c_hat: &NttPoly, t0_hat: &NttPoly, w: &Poly, bitmap: &mut [u8; HINT_ROW_LEN] => bool),
        inv_ntt_use_hint: recompiled!(portable::inv_ntt_use_hint: gamma2: i32, w_hat: &NttPoly, hint: &[u8], w1: &mut [u8]),
        keccak_f1600: entry!(|state| permute_x1(state)),
        expand_a: entry!(|rho, l, first, out| expand_a(rho, l, first, out)),
        prepare: Some(entry!(|p, pk, rows| prepare(p, pk, rows))),
        expand_s: entry!(|rho_p, eta, first, out| expand_s(rho_p, eta, first, out)),
        shake256: Some(entry!(|hashes| shake256(hashes))),
        verify: Some(entry!(|p, job, results| verify(p, job, results))),
        ..portable::KERNELS
    }
}

/// One word of four states.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct X4(__m256i);

impl Word for X4 {
    type Effect = Self;

    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        // SAFETY: `self` is a vector, which proves the features.
        unsafe { Self(_mm256_xor_si256(self.0, b.0)) }
    }

    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is a vector, which proves the features.
        unsafe { self.xor(Self(_mm256_andnot_si256(b.0, c.0))) }
    }

    #[inline(always)]
    fn rotl<const BITS: u32>(self) -> Self {
        // SAFETY: `self` is a vector, which proves the features. The counts are constants, so these are shifts by
        // an immediate.
        unsafe {
            let left = _mm256_sllv_epi64(self.0, _mm256_set1_epi64x(BITS as i64));
            let right = _mm256_srlv_epi64(self.0, _mm256_set1_epi64x(64 - BITS as i64));
            Self(_mm256_or_si256(left, right))
        }
    }

    #[inline(always)]
    fn xor_constant(self, value: u64) -> Self {
        // SAFETY: `self` is a vector, which proves the features.
        self.xor(Self(unsafe { _mm256_set1_epi64x(value as i64) }))
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

// SAFETY: one vector of 256 bits.
unsafe impl LaneWord for X4 {
    const LANES: usize = 4;

    #[inline]
    fn absorb(states: &mut States<Self>, blocks: &[&Block; MAX_LANES]) {
        for (w, word) in states
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
        // SAFETY: the states are vectors, which prove the features.
        unsafe { permute_x4(&mut states.0) }
    }
}

/// Algorithm 32, as [`Kernels::expand_a`]. Bounds: `0 <= out < q`.
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn expand_a(rho: &[u8; SEED_LEN], l: usize, first: usize, out: &mut [NttPoly]) {
    for (group, out) in out.chunks_mut(4).enumerate() {
        expand_group(rho, l, first + 4 * group, out);
    }
}

/// Up to four entries of A.
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn expand_group(rho: &[u8; SEED_LEN], l: usize, first: usize, out: &mut [NttPoly]) {
    const RATE: usize = 168;
    let mut sponge = Avx2::here().wide();
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

/// The next row of A and, behind it, NTT(-t1 2^13) from that row's packed t1.
#[target_feature(enable = "avx2")]
fn next_row(engine: Avx2, rows: &mut MatrixRows<'_, 4>, t1: &[u8], row: &mut [NttPoly]) {
    if let [a_row @ .., t1_hat] = row {
        rows.next_row(a_row);
        t1_column(engine.kernels(), t1, t1_hat);
    }
}

/// The rows of a prepared key in the portable order.
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn prepare(p: &Params, pk: &PublicKeyParts<'_>, rows: &mut [NttPoly]) {
    let engine = Avx2::here();
    let mut a = MatrixRows::new(engine.kernels(), p, pk.rho);
    for (row, t1) in rows
        .chunks_exact_mut(p.l + 1)
        .zip(pk.t1.chunks_exact(T1_POLY_LEN))
    {
        next_row(engine, &mut a, t1, row);
    }
}

impl Widths for Avx2 {
    type Wide = States<X4>;
    type Narrow = States<X4>;

    #[inline]
    fn wide(self) -> States<X4> {
        // SAFETY: `self` proves the features.
        States([X4(unsafe { _mm256_setzero_si256() }); 25])
    }

    #[inline]
    fn narrow(self) -> States<X4> {
        self.wide()
    }

    fn permute(self, state: &mut [u64; 25]) {
        // SAFETY: `self` proves the features.
        unsafe { permute_x1(state) }
    }
}

impl Engine for Avx2 {
    fn commitment(
        self,
        key: &JobKey<'_>,
        claim: &Claim<'_>,
        _: &mut SideHash<'_>,
        w1: &mut [u8],
    ) -> bool {
        match key {
            // SAFETY: `self` proves the features.
            JobKey::Cold(pk, _) => unsafe { cold(self, pk, claim, w1) },
            JobKey::Prepared(rows, _) => prepared(self, *rows, claim, w1),
        }
    }
}

// Not inlined, as `prepared`: their frames would add up.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn cold(engine: Avx2, pk: &PublicKeyParts<'_>, claim: &Claim<'_>, w1: &mut [u8]) -> bool {
    let p = claim.p;
    let mut row = [const { NttPoly::ZERO }; 8];
    let row = &mut row[..=p.l];
    let mut a = MatrixRows::new(engine.kernels(), p, pk.rho);
    with_products(engine, claim, w1, &mut |i, vector, w_hat| {
        next_row(
            engine,
            &mut a,
            &pk.t1[i * T1_POLY_LEN..][..T1_POLY_LEN],
            row,
        );
        (engine.kernels().row_product)(row, vector, w_hat);
    })
}

#[inline(never)]
fn prepared(engine: Avx2, rows: Expansion<'_>, claim: &Claim<'_>, w1: &mut [u8]) -> bool {
    let l = claim.p.l;
    let mut row = [const { NttPoly::ZERO }; 8];
    let row = &mut row[..=l];
    with_products(engine, claim, w1, &mut |i, vector, w_hat| {
        (engine.kernels().row_product)(rows.polys(i * (l + 1), row), vector, w_hat);
    })
}

fn with_products(
    engine: Avx2,
    claim: &Claim<'_>,
    w1: &mut [u8],
    product: &mut dyn FnMut(usize, &[NttPoly], &mut NttPoly),
) -> bool {
    let mut vector = [const { NttPoly::ZERO }; 8];
    let mut packed = w1.chunks_exact_mut(claim.p.w1_poly_len());
    commitment(
        engine.kernels(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::differential::hashes_equal_single_ones;
    use crate::random::Random;

    #[test]
    fn four_permutations() {
        if detect().is_none() {
            std::eprintln!("skipped: this CPU has no avx2 backend");
            return;
        }
        let mut random = Random::new(9);
        // SAFETY: `detect` found every feature.
        let mut sponge = unsafe { Avx2::here() }.wide();
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
        // SAFETY: `detect` found every feature.
        hashes_equal_single_ones(unsafe { Avx2::here() });
    }
}
