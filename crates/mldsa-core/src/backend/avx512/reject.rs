//! ExpandA, eight polynomials at a time.

use core::arch::x86_64::*;
use core::ops::Range;

use super::registers::Aligned;
use super::sponge::transpose_x8;
use super::word::{X8, permute_x8, permute_x8_and_one};
use crate::hash::keccak::Word;
use crate::lanes::verify::SideHash;
use crate::params::Q;
use crate::params::{N, SEED_LEN};
use crate::sample::rej_ntt_block_vartime;

/// Bytes SHAKE128 squeezes per permutation.
const RATE: usize = 168;
/// Blocks sampled before anything is counted: 280 candidates, of which 256 are
/// accepted but for a probability below 2^-100.
const BLOCKS: usize = 5;

/// Eight polynomials in standard order. A vector stored across the end of one
/// is overwritten when the next is sampled; the last needs the slack.
#[repr(C, align(64))]
pub(super) struct EightEntries {
    coefficients: [i32; 8 * N + 16],
    stream: Stream,
}

impl EightEntries {
    /// Memory for [`Self::expand`], to be used again and again.
    pub(super) const ZERO: Self = Self {
        coefficients: [0; 8 * N + 16],
        stream: Stream([[0; 896]; 8]),
    };

    /// Entries `range` of ExpandA (algorithm 32) in row order, at most eight: the
    /// lanes behind the last one repeat it. `side` gets one permutation with
    /// each of ours.
    ///
    /// Bounds: `0 <= out < q`. Variable time: A is public.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2,popcnt")]
    pub(super) fn expand(
        &mut self,
        rho: &[u8; SEED_LEN],
        l: usize,
        range: Range<usize>,
        side: &mut SideHash<'_>,
    ) -> &[[i32; N]] {
        let mut state = [X8::splat(0); 25];
        for (word, bytes) in state.iter_mut().zip(rho.as_chunks::<8>().0) {
            *word = X8::splat(u64::from_le_bytes(*bytes));
        }
        let mut entries = Aligned([0i64; 8]);
        for (n, entry) in entries.0.iter_mut().enumerate() {
            let index = (range.start + n).min(range.end - 1);
            // Column, row, and the domain bits of SHAKE behind 34 bytes.
            *entry = ((index % l) | ((index / l) << 8) | (0x1f << 16)) as i64;
        }
        state[4] = X8(entries.load());
        state[RATE / 8 - 1] = X8::splat(1 << 63);
        permute(&mut state, side);
        self.fill(&mut state, side)
    }

    /// Algorithm 30 from states that are ready to be squeezed.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2,popcnt")]
    pub(super) fn fill(&mut self, state: &mut [X8; 25], side: &mut SideHash<'_>) -> &[[i32; N]] {
        let Self {
            coefficients,
            stream,
        } = self;
        stream.squeeze(state, 0);
        for block in 1..BLOCKS {
            permute(state, side);
            stream.squeeze(state, block);
        }
        let mut filled = [0; 8];
        for (n, filled) in filled.iter_mut().enumerate() {
            *filled = accept(&stream.0[n], &mut coefficients[N * n..N * n + N + 16]);
        }
        let polys = coefficients.as_chunks_mut().0;
        while filled.iter().any(|&filled| filled < N) {
            permute_x8(state);
            stream.squeeze(state, 0);
            for ((poly, bytes), filled) in polys.iter_mut().zip(&stream.0).zip(&mut filled) {
                *filled = rej_ntt_block_vartime(&bytes[..RATE], poly, *filled);
            }
        }
        polys
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,bmi1,bmi2,popcnt")]
fn permute(state: &mut [X8; 25], side: &mut SideHash<'_>) {
    match side.absorb() {
        Some(one) => {
            permute_x8_and_one(state, one);
            side.permuted();
        }
        None => permute_x8(state),
    }
}

/// What eight states squeezed, five blocks each, with room for whole vectors.
#[repr(C, align(64))]
struct Stream([[u8; 896]; 8]);

impl Stream {
    /// Writes the 168 bytes of every lane (and 24 of no meaning behind them).
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn squeeze(&mut self, state: &[X8; 25], block: usize) {
        for (eighth, words) in state.as_chunks::<8>().0.iter().enumerate() {
            let lanes = transpose_x8(words.map(
                #[inline(always)]
                |word| word.0,
            ));
            let at = RATE * block + 64 * eighth;
            for (bytes, lane) in self.0.iter_mut().zip(lanes) {
                // SAFETY: 64 bytes.
                unsafe { _mm512_storeu_si512(bytes[at..at + 64].as_mut_ptr().cast(), lane) };
            }
        }
    }
}

/// Algorithm 14 on 280 candidates: the accepted ones to the front of `out`.
/// Returns how many of `out[..256]` are filled.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")]
pub(super) fn accept(bytes: &[u8; 896], out: &mut [i32]) -> usize {
    // Two polynomials in nine need the 17th vector: a branch on it would often be
    // guessed wrong and costs more than the vector.
    let mut filled = 0;
    for n in 0..17 {
        filled += accept_vector(&bytes[48 * n..], 0xffff, &mut out[filled..]);
    }
    if filled < N {
        filled += accept_vector(&bytes[48 * 17..], 0x00ff, &mut out[filled..]);
    }
    filled.min(N)
}

/// Sixteen candidates, of which those in `present` count, to the front of `out`,
/// where a whole vector is written. Returns how many were accepted.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")]
fn accept_vector(bytes: &[u8], present: u16, out: &mut [i32]) -> usize {
    // SAFETY: 64 bytes, which the slice checks.
    let raw = unsafe { _mm512_loadu_si512(bytes[..64].as_ptr().cast()) };
    let candidates = _mm512_and_si512(
        _mm512_permutexvar_epi8(SPREAD.load(), raw),
        _mm512_set1_epi32(0x7f_ffff),
    );
    let below_q = _mm512_mask_cmplt_epu32_mask(present, candidates, _mm512_set1_epi32(Q));
    // The register form and a full store: the memory form is slow on Zen 4.
    let accepted = _mm512_maskz_compress_epi32(below_q, candidates);
    // SAFETY: 16 coefficients, which the slice checks.
    unsafe { _mm512_storeu_si512(out[..16].as_mut_ptr().cast(), accepted) };
    below_q.count_ones() as usize
}

/// Three bytes to each double word; the fourth is masked off.
static SPREAD: Aligned<[u8; 64]> = {
    let mut table = [0; 64];
    let mut n = 0;
    while n < 64 {
        table[n] = (n / 4 * 3 + n % 4) as u8;
        n += 1;
    }
    Aligned(table)
};
