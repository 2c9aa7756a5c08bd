//! ExpandA, two polynomials at a time to four. Variable time: A is public.

use super::registers::*;

use super::keccak::{Cpu, Pair};
use super::tuning::scalar_interleaved;
use super::vector::{bytes, bytes_at, put_bytes_at, put_four};
use crate::lanes::interleaved::InterleavedHash;
use crate::params::{N, Q, SEED_LEN};
use crate::ring::poly::NttPoly;
use crate::sample::{self, rej_ntt_block_vartime};

/// Bytes SHAKE128 squeezes per permutation.
const RATE: usize = 168;
/// Blocks sampled before anything is counted: 280 candidates. Fewer than 256 of
/// them are accepted with a probability below 2^-100.
const BLOCKS: usize = 5;
/// Bytes of them, with room for whole vectors.
pub(super) const STREAM: usize = RATE * BLOCKS + 8;

/// Entries of two groups of four.
pub(super) const GROUP: usize = 8;

/// Algorithm 32, as [`crate::backend::kernels::Kernels::expand_a`]. `interleaved` gets one
/// permutation with each of these. Bounds: `0 <= out < q`.
#[inline(never)]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn expand_a<C: Cpu>(
    cpu: C,
    rho: &[u8; SEED_LEN],
    l: usize,
    first: usize,
    out: &mut [NttPoly],
    interleaved: &mut InterleavedHash<'_>,
) {
    let (mut first, mut rest) = (first, out);
    while !rest.is_empty() {
        let most = match (scalar_interleaved(), interleaved.is_empty()) {
            (false, _) => 2,
            (true, false) => 3,
            (true, true) => 4,
        };
        let (now, later) = rest.split_at_mut(rest.len().min(most));
        let count = now.len();
        if count == 1 && interleaved.is_empty() {
            sample::expand_a(rho, l, first, now);
        } else {
            expand_group(cpu, rho, l, first, now, interleaved);
        }
        (first, rest) = (first + count, later);
    }
}

/// At most two entries; on cores that interleave scalar states three, or four if `interleaved`
/// has nothing to hash.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn expand_group<C: Cpu>(
    cpu: C,
    rho: &[u8; SEED_LEN],
    l: usize,
    first: usize,
    out: &mut [NttPoly],
    interleaved: &mut InterleavedHash<'_>,
) {
    let entry = |n: usize| {
        let index = first + n.min(out.len() - 1);
        // Column, row, and the domain bits of SHAKE after 34 bytes.
        ((index % l) | ((index / l) << 8) | (0x1f << 16)) as u64
    };
    let mut one = [0; 25];
    for (word, bytes) in one.iter_mut().zip(rho.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    one[RATE / 8 - 1] = 1 << 63;
    let mut state = [Pair::splat(cpu, 0); 25];
    for (word, one) in state.iter_mut().zip(one) {
        *word = Pair::splat(cpu, one);
    }
    state[4] = Pair::new(
        cpu,
        vcombine_u64(vcreate_u64(entry(0)), vcreate_u64(entry(1))),
    );
    let mut scalar = [one, one];
    scalar[0][4] = entry(2);
    scalar[1][4] = entry(3);
    permute(&mut state, &mut scalar, out.len(), interleaved);
    fill(&mut state, &mut scalar, out, interleaved);
}

/// Algorithm 30 from states that are ready to be squeezed: two in vectors, the others of `out`
/// in `scalar`.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn fill<C: Cpu>(
    state: &mut [Pair<C>; 25],
    scalar: &mut [[u64; 25]; 2],
    out: &mut [NttPoly],
    interleaved: &mut InterleavedHash<'_>,
) {
    let mut streams = [[0; STREAM]; 4];
    let count = out.len();
    squeeze(state, scalar, count, &mut streams, 0);
    for block in 1..BLOCKS {
        permute(state, scalar, count, interleaved);
        squeeze(state, scalar, count, &mut streams, block);
    }
    let mut filled = [N; 4];
    for ((poly, bytes), filled) in out.iter_mut().zip(&streams).zip(&mut filled) {
        *filled = accept(bytes, &mut poly.0);
    }
    while filled.iter().any(|&filled| filled < N) {
        permute(state, scalar, count, &mut InterleavedHash::empty());
        squeeze(state, scalar, count, &mut streams, 0);
        for ((poly, bytes), filled) in out.iter_mut().zip(&streams).zip(&mut filled) {
            *filled = rej_ntt_block_vartime(&bytes[..RATE], &mut poly.0, *filled);
        }
    }
}

/// The states of `count` entries, and on cores that interleave scalar states the hash.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn permute<C: Cpu>(
    state: &mut [Pair<C>; 25],
    [first, second]: &mut [[u64; 25]; 2],
    count: usize,
    interleaved: &mut InterleavedHash<'_>,
) {
    let block = if scalar_interleaved() && count < 4 {
        interleaved.absorb()
    } else {
        None
    };
    if let Some(hash) = block {
        C::permute_x2_and_two(state, first, hash);
        interleaved.permuted();
    } else if count > 2 {
        C::permute_x2_and_two(state, first, second);
    } else {
        C::permute_x2(state);
    }
}

/// Writes the 168 bytes of every state (followed by 8 of no meaning).
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn squeeze<C>(
    state: &[Pair<C>; 25],
    scalar: &[[u64; 25]; 2],
    count: usize,
    streams: &mut [[u8; STREAM]; 4],
    block: usize,
) {
    let [lane_0, lane_1, others @ ..] = streams;
    for (n, [a, b]) in state.as_chunks::<2>().0[..RATE.div_ceil(16)]
        .iter()
        .enumerate()
    {
        let at = RATE * block + 16 * n;
        put_bytes_at(lane_0, at, vreinterpretq_u8_u64(vzip1q_u64(a.0, b.0)));
        put_bytes_at(lane_1, at, vreinterpretq_u8_u64(vzip2q_u64(a.0, b.0)));
    }
    for (words, stream) in scalar.iter().zip(others).take(count.saturating_sub(2)) {
        let bytes = stream[RATE * block..].as_chunks_mut::<8>().0;
        for (bytes, word) in bytes.iter_mut().zip(&words[..RATE / 8]) {
            *bytes = word.to_le_bytes();
        }
    }
}

/// Algorithm 14 on 280 candidates: the accepted ones to the front of `out`. Returns how
/// many of `out` are filled.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn accept(stream: &[u8; STREAM], out: &mut [i32; N]) -> usize {
    let mut rest = &stream[..RATE * BLOCKS];
    let mut filled = 0;
    // Sixteen candidates, and the four bytes after them that are read too.
    while let (Some(window), Some(room)) = (
        rest.first_chunk::<52>(),
        out[filled..].first_chunk_mut::<16>(),
    ) {
        let four = |n: usize| {
            const LANES: [u8; 16] = [0, 1, 2, 255, 3, 4, 5, 255, 6, 7, 8, 255, 9, 10, 11, 255];
            let candidates = vqtbl1q_u8(bytes_at(window, 12 * n), bytes(&LANES));
            vandq_u32(vreinterpretq_u32_u8(candidates), vdupq_n_u32(0x7f_ffff))
        };
        let (a, b, c, d) = (four(0), four(1), four(2), four(3));
        let largest = vmaxq_u32(vmaxq_u32(a, b), vmaxq_u32(c, d));
        // One candidate in a thousand is rejected.
        if vmaxvq_u32(largest) < Q as u32 {
            for (out, v) in room.as_chunks_mut::<4>().0.iter_mut().zip([a, b, c, d]) {
                put_four(out, vreinterpretq_s32_u32(v));
            }
            filled += 16;
        } else {
            filled = rej_ntt_block_vartime(&window[..48], out, filled);
        }
        rest = &rest[48..];
    }
    rej_ntt_block_vartime(rest, out, filled)
}
