//! Permutations of this backend, and the part of `shared/kernel_tests.rs` that
//! depends on the registers.

use super::keccak::{Cpu, permute_x4, permute_x4_and_one};
use super::reject::fill;
use super::*;
use crate::backend::states::States;
use crate::hash::keccak::keccak_f1600;
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::sponge::{LaneSponge, Widths};
use crate::random::Random;
use crate::ring::poly::NttPoly;

/// Calls a function with the proof of the features if this CPU has them, and says so if not.
macro_rules! on_each_cpu {
    ($check:ident) => {
        if detect().is_none() {
            std::eprintln!("skipped: this CPU has no avx2 backend");
        } else {
            // SAFETY: `detect` found every feature.
            $check(unsafe { Avx2::here() });
        }
    };
}
pub(super) use on_each_cpu;

/// States that [`fill`] takes.
pub(super) const STATES: usize = 4;

/// [`fill`] from given states.
pub(super) fn fill_from<C: Cpu>(
    cpu: C,
    states: &[[u64; 25]; STATES],
    polys: &mut [NttPoly; STATES],
) {
    let mut sponge = cpu.wide();
    for (n, word) in sponge.words_mut().iter_mut().enumerate() {
        *word = states[n % 4][n / 4];
    }
    // SAFETY: `cpu` proves the features.
    unsafe { fill(&mut sponge.0, polys, &mut InterleavedHash::empty()) };
}

#[test]
fn four_permutations_and_five() {
    fn check(cpu: Avx2) {
        let mut random = Random::new(9);
        let mut sponge = cpu.wide();
        let states: [[u64; 25]; 4] =
            core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
        for (n, word) in sponge.words_mut().iter_mut().enumerate() {
            *word = states[n % 4][n / 4];
        }
        let (mut paired, mut one) = (States(sponge.0), states[2]);
        // SAFETY: `cpu` proves the features.
        unsafe {
            permute_x4_and_one(&mut paired.0, &mut one);
            permute_x4(&mut sponge.0);
        }
        assert_eq!(sponge.words(), paired.words());
        for (lane, mut state) in states.into_iter().enumerate() {
            keccak_f1600(&mut state);
            assert!(sponge.words().iter().skip(lane).step_by(4).eq(&state));
            assert!(lane != 2 || one == state);
        }
    }
    on_each_cpu!(check);
}
