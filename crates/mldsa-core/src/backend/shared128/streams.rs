//! SHAKE256 of secrets on two states, and the half-bytes that ExpandS accepts.

use super::registers::*;

use super::keccak::{Cpu, Pair};
use super::vector::bytes_at;
use crate::backend::accepted::ACCEPTED;
use crate::backend::kernels::MaskSeed;
use crate::lanes::sponge::{RATE, Widths, Wiped};
use crate::memory::secret::declassify;
use crate::params::N;
use crate::sample::rej_bounded_block;

/// States in a vector.
pub(super) const LANES: usize = 2;
/// Bytes after a stream that whole vectors overwrite.
pub(super) const ROOM: usize = 0;

/// One or two streams of SHAKE256, each on its seed and counter, to rows of `len` bytes, a
/// multiple of 16: `blocks` blocks, of which the last may be cut. Needs one seed or more.
#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn squeeze<C: Cpu>(
    cpu: C,
    seeds: &[MaskSeed<'_>],
    blocks: usize,
    len: usize,
    out: &mut [u8],
) {
    let mut sponge = Wiped(cpu.wide());
    let state = &mut sponge.0.0;
    // A lane without a seed repeats the last one.
    let [(first, first_counter), (second, second_counter)] = [seeds[0], seeds[seeds.len() - 1]];
    let words = first
        .as_chunks::<8>()
        .0
        .iter()
        .zip(second.as_chunks::<8>().0);
    for (word, (a, b)) in state.iter_mut().zip(words) {
        let lanes = [a, b].map(
            #[inline(always)]
            |bytes| vcreate_u64(u64::from_le_bytes(*bytes)),
        );
        *word = Pair::new(cpu, vcombine_u64(lanes[0], lanes[1]));
    }
    // The domain bits of SHAKE after 66 bytes.
    let word = |counter: u16| vcreate_u64(u64::from(counter) | (0x1f << 16));
    state[8] = Pair::new(cpu, vcombine_u64(word(first_counter), word(second_counter)));
    state[RATE / 8 - 1] = Pair::splat(cpu, 1 << 63);
    let (first, second) = out.split_at_mut(len);
    for block in 0..blocks {
        C::permute_x2(state);
        // Two words after two; the words after the 17th are overwritten by the next block.
        for (n, [a, b]) in state.as_chunks::<2>().0[..RATE.div_ceil(16)]
            .iter()
            .enumerate()
        {
            let at = RATE * block + 16 * n;
            let lanes = [vzip1q_u64(a.0, b.0), vzip2q_u64(a.0, b.0)];
            for (row, lane) in [&mut *first, &mut *second].into_iter().zip(lanes) {
                let row = row.get_mut(at..).unwrap_or(&mut []);
                if let Some(bytes) = row.first_chunk_mut::<16>() {
                    // SAFETY: 16 bytes.
                    unsafe { vst1q_u8(bytes.as_mut_ptr(), vreinterpretq_u8_u64(lane)) };
                } else if let Some(bytes) = row.first_chunk_mut::<8>() {
                    // SAFETY: 8 bytes.
                    unsafe { vst1_u64(bytes.as_mut_ptr().cast(), vget_low_u64(lane)) };
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
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn accept(eta: i32, stream: &[u8], out: &mut [i32; N]) -> usize {
    const TWO: [i8; 16] = [2, 1, 0, -1, -2, 2, 1, 0, -1, -2, 2, 1, 0, -1, -2, 0];
    const FOUR: [i8; 16] = [4, 3, 2, 1, 0, -1, -2, -3, -4, 0, 0, 0, 0, 0, 0, 0];
    let (limit, values) = if eta == 2 { (15, &TWO) } else { (9, &FOUR) };
    // SAFETY: 16 bytes.
    let values = unsafe { vld1q_s8(values.as_ptr()) };
    let weights: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    let weights = bytes_at(&weights, 0);
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
        let pairs = unsafe { vld1_u8(bytes.as_ptr()) };
        let low = vand_u8(pairs, vdup_n_u8(15));
        let high = vshr_n_u8::<4>(pairs);
        let halves = vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high));
        let bits = vandq_u8(vcltq_u8(halves, vdupq_n_u8(limit)), weights);
        let accepted = [vaddv_u8(vget_low_u8(bits)), vaddv_u8(vget_high_u8(bits))];
        let accepted = declassify(accepted, "ExpandS: which half-bytes were rejected");
        let values = vqtbl1q_s8(values, halves);
        for (values, accepted) in [vget_low_s8(values), vget_high_s8(values)]
            .into_iter()
            .zip(accepted)
        {
            let (order, count) = &ACCEPTED[usize::from(accepted)];
            // SAFETY: 8 bytes.
            let order = unsafe { vld1_u8(order.as_ptr()) };
            let values = vmovl_s8(vtbl1_s8(values, vreinterpret_s8_u8(order)));
            let eight = &mut out[filled..filled + 8];
            // SAFETY: 32 bytes, which the slice checks.
            unsafe {
                vst1q_s32(eight.as_mut_ptr(), vmovl_s16(vget_low_s16(values)));
                vst1q_s32(eight.as_mut_ptr().add(4), vmovl_high_s16(values));
            }
            filled += count;
        }
    }
    filled
}
