//! SHAKE256 of secrets on four states, and the half-bytes that ExpandS accepts.

use core::arch::x86_64::*;

use super::keccak::{Cpu, X4, permute_x4, transpose_x4};
use super::vector::put_at;
use crate::backend::accepted::ACCEPTED;
use crate::backend::kernels::MaskSeed;
use crate::lanes::sponge::{RATE, Wiped};
use crate::memory::secret::declassify;
use crate::params::N;
use crate::sample::rej_bounded_block;

/// States in a vector.
pub(super) const LANES: usize = 4;
/// Bytes after a stream that whole vectors overwrite.
pub(super) const ROOM: usize = 24;

/// Up to four streams of SHAKE256, each on its seed and counter, to rows of `len` bytes:
/// `blocks` blocks, of which the last may be cut to 32 or 96 bytes, or else is followed by 24
/// bytes of no meaning. Needs one seed or more.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn squeeze<C: Cpu>(
    cpu: C,
    seeds: &[MaskSeed<'_>],
    blocks: usize,
    len: usize,
    out: &mut [u8],
) {
    let mut sponge = Wiped(cpu.wide());
    let state = &mut sponge.0.0;
    // Lanes without a seed repeat the last one.
    let last = seeds.len() - 1;
    let seed = |n: usize| seeds[n.min(last)];
    for half in 0..2 {
        let part = |n: usize| {
            let bytes = &seed(n).0[32 * half..32 * half + 32];
            // SAFETY: 32 bytes.
            unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
        };
        let words = transpose_x4([part(0), part(1), part(2), part(3)]);
        for (word, column) in state[4 * half..].iter_mut().zip(words) {
            *word = X4(column);
        }
    }
    // The domain bits of SHAKE after 66 bytes.
    let word = |n: usize| i64::from(seed(n).1) | (0x1f << 16);
    state[8] = X4(_mm256_set_epi64x(word(3), word(2), word(1), word(0)));
    state[RATE / 8 - 1] = X4::splat(1 << 63);
    for block in 0..blocks {
        permute_x4(state);
        // Four words after four; the three after the 17th are overwritten by the next block.
        for (n, words) in state.as_chunks::<4>().0[..5].iter().enumerate() {
            let at = RATE * block + 32 * n;
            let [a, b, c, d] = *words;
            let lanes = transpose_x4([a.0, b.0, c.0, d.0]);
            for (n, lane) in lanes.into_iter().enumerate() {
                if let Some(row) = out.get_mut(n * len..(n + 1) * len)
                    && let Some(bytes) = row.get_mut(at..at + 32)
                {
                    // SAFETY: 32 bytes.
                    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), lane) };
                }
            }
        }
    }
}

/// Algorithm 31 on the half-bytes of a stream: the accepted ones to the front of
/// `out`. Returns how many there are, at most 256.
///
/// Constant time except for the positions of rejected half-bytes: values are looked up in
/// a register.
// Not inlined: what follows the rejections is in one function.
#[inline(never)]
#[target_feature(enable = "avx2")]
pub(super) fn accept(eta: i32, stream: &[u8], out: &mut [i32; N]) -> usize {
    let (limit, values) = if eta == 2 {
        (
            15,
            _mm_setr_epi8(2, 1, 0, -1, -2, 2, 1, 0, -1, -2, 2, 1, 0, -1, -2, 0),
        )
    } else {
        (
            9,
            _mm_setr_epi8(4, 3, 2, 1, 0, -1, -2, -3, -4, 0, 0, 0, 0, 0, 0, 0),
        )
    };
    let mut filled = 0;
    for bytes in stream.as_chunks::<8>().0 {
        if filled + 16 > N {
            filled = rej_bounded_block(eta, bytes, out, filled);
            if filled == N {
                break;
            }
            continue;
        }
        // SAFETY: eight bytes.
        let pairs = unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) };
        let mask = _mm_set1_epi8(15);
        let low = _mm_and_si128(pairs, mask);
        let high = _mm_and_si128(_mm_srli_epi16::<4>(pairs), mask);
        let halves = _mm_unpacklo_epi8(low, high);
        let accepted = declassify(
            _mm_movemask_epi8(_mm_cmpgt_epi8(_mm_set1_epi8(limit), halves)),
            "ExpandS: which half-bytes were rejected",
        );
        let values = _mm_shuffle_epi8(values, halves);
        for (values, accepted) in [
            (values, accepted & 0xff),
            (_mm_unpackhi_epi64(values, values), accepted >> 8),
        ] {
            let (order, count) = &ACCEPTED[accepted as usize];
            // SAFETY: 8 bytes.
            let order = unsafe { _mm_loadl_epi64(order.as_ptr().cast()) };
            let values = _mm256_cvtepi8_epi32(_mm_shuffle_epi8(values, order));
            put_at(&mut out[filled..], values);
            filled += count;
        }
    }
    filled
}
