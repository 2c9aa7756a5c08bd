//! ExpandMask and ExpandS, as many polynomials at a time as vectors hold states.

use super::keccak::Cpu;
use super::streams::{LANES, ROOM, accept, squeeze};
use crate::backend::kernels::MaskSeed;
use crate::hash::keccak::Permutation;
use crate::lanes::sponge::RATE;
use crate::memory::secret::{Secret, zeroize_stack};
use crate::params::N;
use crate::ring::poly::Poly;
use crate::sample::{expand_mask_packed, rej_bounded_poly};

/// Bytes of permutations' frames, in which they leave states; where nothing is optimised
/// the entries of the table overwrite more.
const FRAMES: usize = 3_072;

/// Blocks from which a polynomial of s1 or s2 is sampled: one is too short for half of
/// the polynomials with eta = 2, two are too short for one in 10^5 with eta = 4.
const BLOCKS: usize = 2;
/// Bytes of them, with room for whole vectors.
const STREAM: usize = RATE * BLOCKS + ROOM;

/// Algorithm 34, as [`crate::backend::kernels::Kernels::expand_masks`]; `len` is 576 or
/// 640. Constant time.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn expand_masks<C: Cpu>(cpu: C, seeds: &[MaskSeed<'_>], len: usize, out: &mut [u8]) {
    let keccak = Permutation::new(cpu.kernels().keccak_f1600);
    zeroize_stack::<FRAMES, _>(
        #[inline(always)]
        || {
            let mut rest = out;
            for seeds in seeds.chunks(LANES) {
                let (rows, later) = rest.split_at_mut(seeds.len() * len);
                rest = later;
                if let [(rho_pp, kappa)] = *seeds {
                    expand_mask_packed(keccak, rho_pp, kappa, rows);
                } else {
                    squeeze(cpu, seeds, len.div_ceil(RATE), len, rows);
                }
            }
        },
    );
}

/// Algorithm 33, as [`crate::backend::kernels::Kernels::expand_s`]. Constant time except for
/// the positions of rejected half-bytes.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn expand_s<C: Cpu>(cpu: C, rho_p: &[u8; 64], eta: i32, first: usize, out: &mut [Poly]) {
    let mut streams = Secret::<[[u8; STREAM]; LANES]>::zeroed();
    let streams = streams.expose_mut();
    zeroize_stack::<FRAMES, _>(
        #[inline(always)]
        || {
            for (first, out) in (first..).step_by(LANES).zip(out.chunks_mut(LANES)) {
                let bytes = streams[..out.len()].as_flattened_mut();
                let seeds: [_; LANES] = core::array::from_fn(
                    #[inline(always)]
                    |n| (rho_p, (first + n) as u16),
                );
                squeeze(cpu, &seeds, BLOCKS, STREAM, bytes);
                for ((n, s), stream) in out.iter_mut().enumerate().zip(&*streams) {
                    if accept(eta, &stream[..RATE * BLOCKS], &mut s.0) < N {
                        let nonce = (first + n) as u16;
                        rej_bounded_poly(Permutation::PORTABLE, eta, rho_p, nonce, s);
                    }
                }
            }
        },
    );
}
