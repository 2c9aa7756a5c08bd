//! The part of `shared/kernel_tests.rs` that depends on the registers.

use super::keccak::Cpu;
use super::reject::fill;
use super::*;
use crate::hash::keccak::keccak_f1600_compact;
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::sponge::{LaneSponge, Widths};
use crate::random::Random;
use crate::ring::poly::NttPoly;

/// Calls a function with the proof of the features.
macro_rules! on_each_cpu {
    ($check:ident) => {
        $check(Simd128::here());
    };
}
pub(super) use on_each_cpu;

/// States that [`fill`] takes.
pub(super) const STATES: usize = 2;

/// [`fill`] from given states.
pub(super) fn fill_from<C: Cpu>(
    cpu: C,
    states: &[[u64; 25]; STATES],
    polys: &mut [NttPoly; STATES],
) {
    let mut sponge = cpu.wide();
    for (n, word) in sponge.words_mut().iter_mut().enumerate() {
        *word = states[n % 2][n / 2];
    }
    let mut none = InterleavedHash::empty();
    fill(&mut sponge.0, &mut [[0; 25]; 2], polys, &mut none);
}

#[test]
fn two_permutations_and_two_more() {
    let mut random = Random::new(9);
    let mut sponge = Simd128::here().wide();
    let states: [[u64; 25]; 2] = core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
    for (n, word) in sponge.words_mut().iter_mut().enumerate() {
        *word = states[n % 2][n / 2];
    }
    let [mut second, mut first] = states;
    Simd128::permute_x2_and_two(&mut sponge.0, &mut first, &mut second);
    for (lane, mut state) in states.into_iter().enumerate() {
        keccak_f1600_compact(&mut state);
        assert!(sponge.words().iter().skip(lane).step_by(2).eq(&state));
        assert!([second, first][lane] == state);
    }
}
