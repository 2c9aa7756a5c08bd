//! ExpandMask, four polynomials at a time. Constant time.

use core::arch::x86_64::*;

use super::keccak::{X4, permute_x1, permute_x4, transpose_x4};
use crate::hash::keccak::Permutation;
use crate::lanes::sponge::RATE;
use crate::memory::secret::scrub_stack;
use crate::sample::expand_mask_packed;

/// Algorithm 34, as [`crate::backend::kernels::Kernels::expand_masks`]. `len` is 576 or
/// 640.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn expand_masks(rho_pp: &[u8; 64], kappa: u16, len: usize, out: &mut [u8]) {
    // The squeezed blocks are the mask itself, and a permutation leaves its state in
    // its frame.
    const FRAMES: usize = if cfg!(debug_assertions) {
        16_384
    } else {
        4_096
    };
    scrub_stack::<FRAMES, _>(
        #[inline(always)]
        || {
            for (group, out) in out.chunks_mut(4 * len).enumerate() {
                let kappa = kappa.wrapping_add(4 * group as u16);
                if out.len() == len {
                    let permutation = Permutation::new(|state| permute_x1(state));
                    expand_mask_packed(permutation, rho_pp, kappa, out);
                } else {
                    expand_four(rho_pp, kappa, len, out);
                }
            }
        },
    );
}

/// Up to four polynomials.
#[inline]
#[target_feature(enable = "avx2")]
fn expand_four(rho_pp: &[u8; 64], kappa: u16, len: usize, out: &mut [u8]) {
    let mut state = [X4::splat(0); 25];
    for (word, bytes) in state.iter_mut().zip(rho_pp.as_chunks::<8>().0) {
        *word = X4::splat(u64::from_le_bytes(*bytes));
    }
    // Counter, and the domain bits of SHAKE behind 66 bytes.
    let counter = |n: u16| i64::from(kappa.wrapping_add(n)) | (0x1f << 16);
    state[8] = X4(_mm256_set_epi64x(
        counter(3),
        counter(2),
        counter(1),
        counter(0),
    ));
    state[RATE / 8 - 1] = X4::splat(1 << 63);
    for block in 0..len.div_ceil(RATE) {
        permute_x4(&mut state);
        // Four words after four; the three behind the 17th are overwritten by the next
        // block, and the last one ends with whole fours.
        for (n, words) in state.as_chunks::<4>().0[..5].iter().enumerate() {
            let at = RATE * block + 32 * n;
            let [a, b, c, d] = *words;
            let lanes = transpose_x4([a.0, b.0, c.0, d.0]);
            for (bytes, lane) in out.chunks_exact_mut(len).zip(lanes) {
                if let Some(bytes) = bytes.get_mut(at..at + 32) {
                    // SAFETY: 32 bytes.
                    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), lane) };
                }
            }
        }
    }
}
