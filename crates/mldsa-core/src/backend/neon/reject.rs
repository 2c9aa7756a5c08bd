//! ExpandA, two polynomials at a time. Variable time: A is public.

use core::arch::aarch64::*;

use super::keccak::{Cpu, Pair};
use super::vector::{bytes, bytes_at, put_bytes_at, put_four};
use crate::hash::keccak::Word;
use crate::lanes::verify::SideHash;
use crate::params::{N, Q, SEED_LEN};
use crate::ring::poly::NttPoly;
use crate::sample::rej_ntt_block_vartime;

/// Bytes SHAKE128 squeezes per permutation.
const RATE: usize = 168;
/// Blocks sampled before anything is counted: 280 candidates, of which 256 are accepted
/// but for a probability below 2^-100.
const BLOCKS: usize = 5;
/// Bytes of them, with room for whole vectors.
pub(super) const STREAM: usize = RATE * BLOCKS + 8;

/// Algorithm 32, as [`crate::backend::kernels::Kernels::expand_a`]. Bounds: `0 <= out < q`.
#[inline(never)]
#[target_feature(enable = "neon")]
pub(super) fn expand_a<C: Cpu>(
    cpu: C,
    rho: &[u8; SEED_LEN],
    l: usize,
    first: usize,
    out: &mut [NttPoly],
) where
    Pair<C>: Word,
{
    for (first, out) in (first..).step_by(2).zip(out.chunks_mut(2)) {
        expand_two(cpu, rho, l, first, out, &mut SideHash::idle());
    }
}

/// Entries in row order from `first` on, at most two. `side` gets one permutation with
/// each of ours.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn expand_two<C: Cpu>(
    cpu: C,
    rho: &[u8; SEED_LEN],
    l: usize,
    first: usize,
    out: &mut [NttPoly],
    side: &mut SideHash<'_>,
) where
    Pair<C>: Word,
{
    let mut state = [Pair::splat(cpu, 0); 25];
    for (word, bytes) in state.iter_mut().zip(rho.as_chunks::<8>().0) {
        *word = Pair::splat(cpu, u64::from_le_bytes(*bytes));
    }
    let entry = |n: usize| {
        let index = first + n.min(out.len() - 1);
        // Column, row, and the domain bits of SHAKE behind 34 bytes.
        vcreate_u64(((index % l) | ((index / l) << 8) | (0x1f << 16)) as u64)
    };
    state[4] = Pair::new(cpu, vcombine_u64(entry(0), entry(1)));
    state[RATE / 8 - 1] = Pair::splat(cpu, 1 << 63);
    permute(&mut state, side);
    fill(&mut state, out, side);
}

/// Algorithm 30 from states that are ready to be squeezed.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn fill<C: Cpu>(state: &mut [Pair<C>; 25], out: &mut [NttPoly], side: &mut SideHash<'_>)
where
    Pair<C>: Word,
{
    let mut streams = [[0; STREAM]; 2];
    squeeze(state, &mut streams, 0);
    for block in 1..BLOCKS {
        permute(state, side);
        squeeze(state, &mut streams, block);
    }
    let mut filled = [N; 2];
    for ((poly, bytes), filled) in out.iter_mut().zip(&streams).zip(&mut filled) {
        *filled = accept(bytes, &mut poly.0);
    }
    while filled.iter().any(|&filled| filled < N) {
        C::permute_x2(state);
        squeeze(state, &mut streams, 0);
        for ((poly, bytes), filled) in out.iter_mut().zip(&streams).zip(&mut filled) {
            *filled = rej_ntt_block_vartime(&bytes[..RATE], &mut poly.0, *filled);
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn permute<C: Cpu>(state: &mut [Pair<C>; 25], side: &mut SideHash<'_>)
where
    Pair<C>: Word,
{
    match side.absorb() {
        Some(one) => {
            C::permute_x2_and_one(state, one);
            side.permuted();
        }
        None => C::permute_x2(state),
    }
}

/// Writes the 168 bytes of both lanes (and 8 of no meaning behind them).
#[inline]
#[target_feature(enable = "neon")]
fn squeeze<C>(state: &[Pair<C>; 25], streams: &mut [[u8; STREAM]; 2], block: usize) {
    let [first, second] = streams;
    for (n, [a, b]) in state.as_chunks::<2>().0[..RATE.div_ceil(16)]
        .iter()
        .enumerate()
    {
        let at = RATE * block + 16 * n;
        put_bytes_at(first, at, vreinterpretq_u8_u64(vzip1q_u64(a.0, b.0)));
        put_bytes_at(second, at, vreinterpretq_u8_u64(vzip2q_u64(a.0, b.0)));
    }
}

/// Algorithm 14 on 280 candidates: the accepted ones to the front of `out`. Returns how
/// many of `out` are filled.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn accept(stream: &[u8; STREAM], out: &mut [i32; N]) -> usize {
    let stream = &stream[..RATE * BLOCKS];
    let mut filled = 0;
    let mut at = 0;
    // Sixteen candidates, the last read of which ends four bytes behind them.
    while filled + 16 <= N && at + 52 <= stream.len() {
        let four = |n: usize| {
            const LANES: [u8; 16] = [0, 1, 2, 255, 3, 4, 5, 255, 6, 7, 8, 255, 9, 10, 11, 255];
            let candidates = vqtbl1q_u8(bytes_at(stream, at + 12 * n), bytes(&LANES));
            vandq_u32(vreinterpretq_u32_u8(candidates), vdupq_n_u32(0x7f_ffff))
        };
        let (a, b, c, d) = (four(0), four(1), four(2), four(3));
        let largest = vmaxq_u32(vmaxq_u32(a, b), vmaxq_u32(c, d));
        // One candidate in a thousand is refused.
        if vmaxvq_u32(largest) < Q as u32 {
            for (out, v) in out[filled..]
                .as_chunks_mut::<4>()
                .0
                .iter_mut()
                .zip([a, b, c, d])
            {
                put_four(out, vreinterpretq_s32_u32(v));
            }
            filled += 16;
        } else {
            filled = rej_ntt_block_vartime(&stream[at..at + 48], out, filled);
        }
        at += 48;
    }
    rej_ntt_block_vartime(&stream[at..], out, filled)
}
