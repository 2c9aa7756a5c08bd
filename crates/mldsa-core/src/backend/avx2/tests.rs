//! Kernels against their plain twins.

use super::keccak::permute_x4;
use super::*;
use crate::backend::differential::hashes_equal_single_ones;
use crate::hash::keccak::keccak_f1600;
use crate::lanes::sponge::{LaneSponge, Widths};
use crate::random::Random;

/// Runs the body if this CPU can, and says so if not.
macro_rules! on_this_cpu {
    ($body:block) => {
        if detect().is_none() {
            std::eprintln!("skipped: this CPU has no avx2 backend");
        } else {
            // SAFETY: `detect` found every feature.
            unsafe { $body }
        }
    };
}

#[test]
fn four_permutations() {
    on_this_cpu!({
        let mut random = Random::new(9);
        let mut sponge = Avx2::here().wide();
        let states: [[u64; 25]; 4] =
            core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
        for (n, word) in sponge.words_mut().iter_mut().enumerate() {
            *word = states[n % 4][n / 4];
        }
        permute_x4(&mut sponge.0);
        for (lane, mut state) in states.into_iter().enumerate() {
            keccak_f1600(&mut state);
            assert!(sponge.words().iter().skip(lane).step_by(4).eq(&state));
        }
    });
}

#[test]
fn hashes_in_lanes() {
    on_this_cpu!({ hashes_equal_single_ones(Avx2::here()) });
}
