//! ExpandMask and ExpandS, eight polynomials at a time.

use core::arch::x86_64::*;

use super::registers::{Aligned, for_each_register};
use super::sponge::transpose_x8;
use super::word::{X8, permute_x8};
use crate::backend::cpu::Avx512;
use crate::backend::kernels::MaskSeed;
use crate::backend::states::States;
use crate::hash::keccak::Permutation;
use crate::lanes::sponge::{LaneSponge, MAX_LANES, RATE, Widths, Wiped};
use crate::memory::secret::{Secret, declassify};
use crate::params::N;
use crate::ring::poly::Poly;
use crate::sample::rej_bounded_poly;

/// Bytes from which a polynomial of s1 or s2 is sampled: one block is too short for
/// half of the polynomials with eta = 2, two are too short for one in 10^5 with eta = 4.
const STREAM: usize = 2 * RATE;

/// As [`Kernels::expand_masks`]. Constant time.
///
/// [`Kernels::expand_masks`]: crate::backend::kernels::Kernels::expand_masks
#[target_feature(
    enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt"
)]
pub(super) fn expand_masks(seeds: &[MaskSeed<'_>], len: usize, out: &mut [u8]) {
    let mut rest = out;
    for seeds in seeds.chunks(MAX_LANES) {
        let (rows, later) = rest.split_at_mut(seeds.len() * len);
        expand_group(seeds, len, rows);
        rest = later;
    }
}

/// At most eight rows, at least one.
// Not inlined: what is the same for all groups would be kept on the stack, not wiped.
#[inline(never)]
#[target_feature(
    enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt"
)]
fn expand_group(seeds: &[MaskSeed<'_>], len: usize, rows: &mut [u8]) {
    let mut sponge = Wiped(Avx512::here().wide());
    start(&mut sponge.0, seeds);
    let mut at = 0;
    while at < len {
        permute_x8(&mut sponge.0.0);
        squeeze(&sponge.0, at, len, rows);
        at += RATE;
    }
}

/// As [`Kernels::expand_s`]. Constant time except for the positions of rejected half-bytes.
///
/// [`Kernels::expand_s`]: crate::backend::kernels::Kernels::expand_s
#[target_feature(
    enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt"
)]
pub(super) fn expand_s(rho_p: &[u8; 64], eta: i32, first: usize, out: &mut [Poly]) {
    let mut streams = Secret::<[[u8; STREAM]; MAX_LANES]>::zeroed();
    let streams = streams.expose_mut();
    for (first, out) in (first..).step_by(MAX_LANES).zip(out.chunks_mut(MAX_LANES)) {
        let seeds = [0, 1, 2, 3, 4, 5, 6, 7].map(
            #[inline(always)]
            |n| (rho_p, (first + n) as u16),
        );
        let rows = streams[..out.len()].as_flattened_mut();
        expand_masks(&seeds[..out.len()], STREAM, rows);
        for ((n, s), stream) in out.iter_mut().enumerate().zip(&*streams) {
            if accept(eta, stream, &mut s.0) < N {
                let nonce = (first + n) as u16;
                rej_bounded_poly(Permutation::PORTABLE, eta, rho_p, nonce, s);
            }
        }
    }
}

/// One block in each lane: its seed and its counter. Lanes without one repeat the last.
#[inline]
#[target_feature(enable = "avx512f")]
fn start(states: &mut States<X8>, seeds: &[MaskSeed<'_>]) {
    let state = &mut states.0;
    let last = seeds.len() - 1;
    let seed = |n: usize| {
        let bytes = seeds[n.min(last)].0;
        // SAFETY: 64 bytes.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    };
    let (a, b) = (
        [seed(0), seed(1), seed(2), seed(3)],
        [seed(4), seed(5), seed(6), seed(7)],
    );
    let words = transpose_x8([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]);
    for (word, column) in state.iter_mut().zip(words) {
        *word = X8(column);
    }
    let mut counters = Aligned([0i64; 8]);
    for (n, word) in counters.0.iter_mut().enumerate() {
        // The domain bits of SHAKE after 66 bytes.
        *word = i64::from(seeds[n.min(last)].1) | 0x1f << 16;
    }
    state[8] = X8(counters.load());
    state[RATE / 8 - 1] = X8::splat(1 << 63);
}

/// Writes a block of every lane to its row of `len` bytes from `at` on, as far as rows
/// go and as much as there is room for: whole blocks, or a part of 32 or 96 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn squeeze(states: &States<X8>, at: usize, len: usize, rows: &mut [u8]) {
    write::<0>(&states.0, at, len, rows);
    write::<8>(&states.0, at + 64, len, rows);
    let last = &states.words()[16 * MAX_LANES..17 * MAX_LANES];
    for (n, word) in last.iter().enumerate() {
        if let Some(row) = rows.get_mut(n * len..(n + 1) * len)
            && let Some(out) = row.get_mut(at + 128..at + RATE)
        {
            out.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// Eight words of every lane, from `FIRST` on, in the same way.
#[inline]
#[target_feature(enable = "avx512f")]
fn write<const FIRST: usize>(state: &[X8; 25], at: usize, len: usize, rows: &mut [u8]) {
    let word = |n: usize| state[FIRST + n].0;
    let (a, b) = (
        [word(0), word(1), word(2), word(3)],
        [word(4), word(5), word(6), word(7)],
    );
    let lanes = transpose_x8([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]);
    for_each_register!(n in 0..8, {
        if let Some(row) = rows.get_mut(n * len..(n + 1) * len) {
            if let Some(out) = row.get_mut(at..at + 64) {
                // SAFETY: 64 bytes.
                unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), lanes[n]) };
            } else if let Some(out) = row.get_mut(at..at + 32) {
                let lane = _mm512_castsi512_si256(lanes[n]);
                // SAFETY: 32 bytes.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), lane) };
            }
        }
    });
}

/// Algorithm 31 on the half-bytes of a stream: the accepted ones to the front of
/// `out`. Returns how many there are, at most 256.
///
/// Constant time except for the positions of rejected half-bytes: values are looked up in
/// a register.
// Not inlined: what follows the rejections is in one function.
#[inline(never)]
#[target_feature(enable = "avx512f,popcnt")]
fn accept(eta: i32, stream: &[u8; STREAM], out: &mut [i32; N]) -> usize {
    let (limit, values) = if eta == 2 {
        (15, ETA_2.load())
    } else {
        (9, ETA_4.load())
    };
    let limit = _mm512_set1_epi32(limit);
    let mut filled = 0;
    for bytes in stream.as_chunks::<8>().0 {
        // SAFETY: eight bytes.
        let bytes = unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) };
        let bytes = _mm512_cvtepu8_epi64(bytes);
        // (a | b) & c: the lower half of every byte in an even lane, the upper half in
        // the odd lane after it.
        let halves = _mm512_ternarylogic_epi32::<0xa8>(
            bytes,
            _mm512_slli_epi64::<28>(bytes),
            _mm512_set1_epi32(15),
        );
        let accepted = declassify(
            _mm512_cmplt_epu32_mask(halves, limit),
            "ExpandS: which half-bytes were rejected",
        );
        let values = _mm512_permutexvar_epi32(halves, values);
        let values = _mm512_maskz_compress_epi32(accepted, values);
        let count = accepted.count_ones() as usize;
        if let Some(room) = out[filled..].first_chunk_mut::<16>() {
            // SAFETY: 64 bytes.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), values) };
            filled += count;
        } else {
            let room = &mut out[filled..];
            let count = count.min(room.len());
            // SAFETY: the first `count` coefficients, of which there are so many.
            unsafe {
                _mm512_mask_storeu_epi32(room.as_mut_ptr(), ((1u32 << count) - 1) as u16, values);
            }
            filled += count;
            if filled == N {
                break;
            }
        }
    }
    filled
}

/// Algorithm 15: the coefficient of every accepted half-byte.
static ETA_2: Aligned<[i32; 16]> = Aligned([2, 1, 0, -1, -2, 2, 1, 0, -1, -2, 2, 1, 0, -1, -2, 0]);
static ETA_4: Aligned<[i32; 16]> = Aligned([4, 3, 2, 1, 0, -1, -2, -3, -4, 0, 0, 0, 0, 0, 0, 0]);
