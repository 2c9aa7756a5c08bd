//! ExpandA, four polynomials at a time. Variable time: A is public.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::keccak::{Cpu, X4, permute_x4, permute_x4_and_one, transpose_x4};
use super::vector::put_at;
use super::vector::spread;
use crate::backend::accepted::ACCEPTED;
use crate::lanes::interleaved::InterleavedHash;
use crate::params::{N, Q, SEED_LEN};
use crate::ring::poly::NttPoly;
use crate::sample::rej_ntt_block_vartime;

/// Bytes SHAKE128 squeezes per permutation.
const RATE: usize = 168;
/// Blocks sampled before anything is counted: 280 candidates. Fewer than 256 of
/// them are accepted with a probability below 2^-100.
const BLOCKS: usize = 5;
/// Bytes of them, with room for whole vectors.
pub(super) const STREAM: usize = RATE * BLOCKS + 24;

/// Entries that fill four states.
pub(super) const GROUP: usize = 4;

/// Algorithm 32, as [`crate::backend::kernels::Kernels::expand_a_interleaved`]. Bounds:
/// `0 <= out < q`.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn expand_a<C: Cpu>(
    _cpu: C,
    rho: &[u8; SEED_LEN],
    l: usize,
    first: usize,
    out: &mut [NttPoly],
    interleaved: &mut InterleavedHash<'_>,
) {
    for (first, out) in (first..).step_by(4).zip(out.chunks_mut(4)) {
        expand_four(rho, l, first, out, interleaved);
    }
}

/// Entries in row order from `first` on, at most four. `interleaved` gets one permutation with
/// each of ours.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn expand_four(
    rho: &[u8; SEED_LEN],
    l: usize,
    first: usize,
    out: &mut [NttPoly],
    interleaved: &mut InterleavedHash<'_>,
) {
    let mut state = [X4::splat(0); 25];
    for (word, bytes) in state.iter_mut().zip(rho.as_chunks::<8>().0) {
        *word = X4::splat(u64::from_le_bytes(*bytes));
    }
    let entry = |n: usize| {
        let index = first + n.min(out.len() - 1);
        // Column, row, and the domain bits of SHAKE after 34 bytes.
        ((index % l) | ((index / l) << 8) | (0x1f << 16)) as i64
    };
    state[4] = X4(_mm256_set_epi64x(entry(3), entry(2), entry(1), entry(0)));
    state[RATE / 8 - 1] = X4::splat(1 << 63);
    permute(&mut state, interleaved);
    fill(&mut state, out, interleaved);
}

/// Algorithm 30 from states that are ready to be squeezed.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn fill(
    state: &mut [X4; 25],
    out: &mut [NttPoly],
    interleaved: &mut InterleavedHash<'_>,
) {
    let mut memory = MaybeUninit::uninit();
    squeeze(state, &mut memory, 0);
    for block in 1..BLOCKS {
        permute(state, interleaved);
        squeeze(state, &mut memory, block);
    }
    // SAFETY: every block was written, the last one to the end.
    let streams = unsafe { memory.assume_init_ref() };
    let mut filled = [N; 4];
    for ((poly, bytes), filled) in out.iter_mut().zip(streams).zip(&mut filled) {
        *filled = accept(bytes, &mut poly.0);
    }
    while filled.iter().any(|&filled| filled < N) {
        permute_x4(state);
        squeeze(state, &mut memory, 0);
        // SAFETY: as above.
        let streams = unsafe { memory.assume_init_ref() };
        for ((poly, bytes), filled) in out.iter_mut().zip(streams).zip(&mut filled) {
            *filled = rej_ntt_block_vartime(&bytes[..RATE], &mut poly.0, *filled);
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn permute(state: &mut [X4; 25], interleaved: &mut InterleavedHash<'_>) {
    match interleaved.absorb() {
        Some(one) => {
            permute_x4_and_one(state, one);
            interleaved.permuted();
        }
        None => permute_x4(state),
    }
}

/// Writes the 168 bytes of every lane (followed by 24 of no meaning).
#[inline]
#[target_feature(enable = "avx2")]
fn squeeze(state: &[X4; 25], streams: &mut MaybeUninit<[[u8; STREAM]; 4]>, block: usize) {
    const { assert!(RATE * (BLOCKS - 1) + 32 * 6 == STREAM) };
    assert!(block < BLOCKS);
    let start = streams.as_mut_ptr().cast::<u8>();
    for (n, words) in state.as_chunks::<4>().0.iter().enumerate() {
        let [a, b, c, d] = *words;
        for (lane, v) in transpose_x4([a.0, b.0, c.0, d.0]).into_iter().enumerate() {
            // SAFETY: 32 bytes inside the stream of the lane, as both assertions say.
            unsafe {
                _mm256_storeu_si256(start.add(STREAM * lane + RATE * block + 32 * n).cast(), v)
            };
        }
    }
}

/// Algorithm 14 on 280 candidates: the accepted ones to the front of `out`. Returns how
/// many of `out` are filled.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn accept(bytes: &[u8; STREAM], out: &mut [i32; N]) -> usize {
    let (whole, rest) = bytes[..RATE * BLOCKS].split_at(3 * N);
    let mut filled = 0;
    // Up to the last of these there is room for all.
    for eight in whole.as_chunks::<24>().0 {
        let candidates = _mm256_and_si256(spread(eight), _mm256_set1_epi32(0x7f_ffff));
        let below_q = _mm256_cmpgt_epi32(_mm256_set1_epi32(Q), candidates);
        let below_q = _mm256_movemask_ps(_mm256_castsi256_ps(below_q)) as u8;
        let (order, count) = &ACCEPTED[usize::from(below_q)];
        // SAFETY: 8 bytes.
        let order = _mm256_cvtepu8_epi32(unsafe { _mm_loadl_epi64(order.as_ptr().cast()) });
        let accepted = _mm256_permutevar8x32_epi32(candidates, order);
        put_at(&mut out[filled..], accepted);
        filled += count;
    }
    if filled < N {
        filled = rej_ntt_block_vartime(rest, out, filled);
    }
    filled
}
