//! ExpandA, eight polynomials at a time.

use core::arch::x86_64::*;

use super::registers::Aligned;
use super::sponge::transpose_x8;
use super::word::{X8, permute_x8, permute_x8_and_one};
use crate::lanes::interleaved::InterleavedHash;
use crate::params::{N, Q, SEED_LEN};
use crate::ring::poly::NttPoly;
use crate::sample::rej_ntt_block_vartime;

/// Bytes SHAKE128 squeezes per permutation.
const RATE: usize = 168;
/// Blocks sampled before anything is counted, in two parts so that they take less
/// memory: 168 and 112 candidates. Fewer than 256 of them are accepted with a probability
/// below 2^-100.
const FIRST_BLOCKS: usize = 3;
const LAST_BLOCKS: usize = 2;
/// Bytes of [`FIRST_BLOCKS`], with room for whole vectors.
const PART: usize = 576;

/// Output of eight states, three blocks each: memory for [`Self::expand`], which may be
/// used repeatedly.
#[repr(C, align(64))]
pub(super) struct Stream([[u8; PART]; 8]);

impl Stream {
    pub(super) const ZERO: Self = Self([[0; PART]; 8]);

    /// Entries of ExpandA (algorithm 32) in row order from `first` on, at most eight:
    /// the lanes after the last one repeat it. `interleaved` gets one permutation with each of
    /// the first five.
    ///
    /// Bounds: `0 <= out < q`. Variable time: A is public.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2,popcnt")]
    pub(super) fn expand(
        &mut self,
        rho: &[u8; SEED_LEN],
        l: usize,
        first: usize,
        out: &mut [NttPoly],
        interleaved: &mut InterleavedHash<'_>,
    ) {
        let mut state = [X8::splat(0); 25];
        for (word, bytes) in state.iter_mut().zip(rho.as_chunks::<8>().0) {
            *word = X8::splat(u64::from_le_bytes(*bytes));
        }
        let mut entries = Aligned([0i64; 8]);
        for (n, entry) in entries.0.iter_mut().enumerate() {
            let index = first + n.min(out.len() - 1);
            // Column, row, and the domain bits of SHAKE after 34 bytes.
            *entry = ((index % l) | ((index / l) << 8) | (0x1f << 16)) as i64;
        }
        state[4] = X8(entries.load());
        state[RATE / 8 - 1] = X8::splat(1 << 63);
        permute(&mut state, interleaved);
        self.fill(&mut state, out, interleaved);
    }

    /// Algorithm 30 from states that are ready to be squeezed.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi1,bmi2,popcnt")]
    pub(super) fn fill(
        &mut self,
        state: &mut [X8; 25],
        out: &mut [NttPoly],
        interleaved: &mut InterleavedHash<'_>,
    ) {
        self.squeeze(state, 0);
        for block in 1..FIRST_BLOCKS {
            permute(state, interleaved);
            self.squeeze(state, block);
        }
        let mut filled = [N; 8];
        for ((poly, bytes), filled) in out.iter_mut().zip(&self.0).zip(&mut filled) {
            *filled = accept_first(bytes, &mut poly.0);
        }
        for block in 0..LAST_BLOCKS {
            permute(state, interleaved);
            self.squeeze(state, block);
        }
        for ((poly, bytes), filled) in out.iter_mut().zip(&self.0).zip(&mut filled) {
            *filled = accept_last(bytes, &mut poly.0, *filled);
        }
        while filled.iter().any(|&filled| filled < N) {
            permute_x8(state);
            self.squeeze(state, 0);
            for ((poly, bytes), filled) in out.iter_mut().zip(&self.0).zip(&mut filled) {
                *filled = rej_ntt_block_vartime(&bytes[..RATE], &mut poly.0, *filled);
            }
        }
    }

    /// Writes the 168 bytes of every lane (followed by 24 of no meaning).
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

/// Permutes the states, and the hash after its next block if it has one.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,bmi1,bmi2,popcnt")]
fn permute(state: &mut [X8; 25], interleaved: &mut InterleavedHash<'_>) {
    match interleaved.absorb() {
        Some(one) => {
            permute_x8_and_one(state, one);
            interleaved.permuted();
        }
        None => permute_x8(state),
    }
}

/// Algorithm 14 on the 168 candidates of [`FIRST_BLOCKS`]: the accepted ones to the
/// front of `out`. Returns how many of `out` are filled.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")]
pub(super) fn accept_first(bytes: &[u8; PART], out: &mut [i32; N]) -> usize {
    let mut filled = 0;
    for n in 0..10 {
        filled += accept_16(&bytes[48 * n..], 0xffff, &mut out[filled..]);
    }
    filled + accept_16(&bytes[480..], 0x00ff, &mut out[filled..])
}

/// The same on the 112 candidates of [`LAST_BLOCKS`], `filled` being what the 168
/// before them left: `filled <= 168`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")]
pub(super) fn accept_last(bytes: &[u8; PART], out: &mut [i32; N], mut filled: usize) -> usize {
    // Up to the 248th candidate there is room for all.
    for n in 0..5 {
        filled += accept_16(&bytes[48 * n..], 0xffff, &mut out[filled..]);
    }
    filled += accept_end(&bytes[240..], &mut out[filled..]);
    // 264 candidates are nearly always enough.
    if filled < N {
        filled += accept_end(&bytes[288..], &mut out[filled..]);
    }
    filled
}

/// Sixteen candidates, those of `present`, to `out`, which has room for all.
/// Returns how many are accepted.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")]
fn accept_16(bytes: &[u8], present: u16, out: &mut [i32]) -> usize {
    let (accepted, count) = accepted(bytes, present);
    // A full store and the register form of the compression: the memory form is
    // slow on Zen 4.
    // SAFETY: 16 coefficients, which the slice checks.
    unsafe { _mm512_storeu_si512(out[..16].as_mut_ptr().cast(), accepted) };
    count
}

/// As many of sixteen candidates as `out` has room for. Returns how many.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")]
fn accept_end(bytes: &[u8], out: &mut [i32]) -> usize {
    let (accepted, count) = accepted(bytes, 0xffff);
    let count = count.min(out.len());
    // SAFETY: the first `count` coefficients, of which there are so many.
    unsafe {
        _mm512_mask_storeu_epi32(out.as_mut_ptr(), ((1u32 << count) - 1) as u16, accepted);
    }
    count
}

/// Sixteen candidates: those of `present` that are accepted, in front, and how many.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")]
fn accepted(bytes: &[u8], present: u16) -> (__m512i, usize) {
    // SAFETY: 64 bytes, which the slice checks.
    let raw = unsafe { _mm512_loadu_si512(bytes[..64].as_ptr().cast()) };
    let candidates = _mm512_and_si512(
        _mm512_permutexvar_epi8(SPREAD.load(), raw),
        _mm512_set1_epi32(0x7f_ffff),
    );
    let below_q = _mm512_mask_cmplt_epu32_mask(present, candidates, _mm512_set1_epi32(Q));
    (
        _mm512_maskz_compress_epi32(below_q, candidates),
        below_q.count_ones() as usize,
    )
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
