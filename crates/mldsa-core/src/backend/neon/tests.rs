//! Permutations of this backend, and the part of `shared/kernel_tests.rs` that depends on the
//! registers.

use super::keccak::Cpu;
use super::permutations::{
    permute_in_lane_sha3, permute_late, permute_x2_on_one_unit_sha3, permute_x2_sha3,
};
use super::reject::fill;
use super::*;
use crate::backend::states::States;
use crate::hash::keccak::keccak_f1600;
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::sponge::{LaneSponge, Widths};
use crate::random::Random;
use crate::ring::poly::NttPoly;

/// Calls a function with the proof of the features for both kinds of CPU, as far as this one
/// is of both, and says so if not.
macro_rules! on_each_cpu {
    ($check:ident) => {
        // SAFETY: every CPU of this target has the features.
        $check(unsafe { Neon::here() });
        if NeonSha3::is_detected() {
            // SAFETY: found just now.
            $check(unsafe { NeonSha3::here() });
        } else {
            std::eprintln!("skipped: this CPU has no neon-sha3 backend");
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
        *word = states[n % 2][n / 2];
    }
    let (mut scalar, mut none) = ([states[2], states[3]], InterleavedHash::empty());
    // SAFETY: `cpu` proves the features.
    unsafe { fill(&mut sponge.0, &mut scalar, polys, &mut none) };
}

#[test]
fn two_permutations_and_four() {
    fn check<C: Cpu>(cpu: C) {
        let mut random = Random::new(9);
        let mut sponge = cpu.wide();
        let states: [[u64; 25]; 2] =
            core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
        for (n, word) in sponge.words_mut().iter_mut().enumerate() {
            *word = states[n % 2][n / 2];
        }
        let (mut paired, [mut second, mut first]) = (States(sponge.0), states);
        C::permute_x2_and_two(&mut paired.0, &mut first, &mut second);
        C::permute_x2(&mut sponge.0);
        assert_eq!(sponge.words(), paired.words());
        for (lane, mut state) in states.into_iter().enumerate() {
            keccak_f1600(&mut state);
            assert!(sponge.words().iter().skip(lane).step_by(2).eq(&state));
            assert!([second, first][lane] == state);
        }
    }
    on_each_cpu!(check);
}

/// The forms that other cores take.
#[test]
fn permutations_for_every_core() {
    let mut random = Random::new(10);
    let state: [u64; 25] = core::array::from_fn(|_| random.next());
    let mut expected = state;
    keccak_f1600(&mut expected);
    let mut one = state;
    permute_late(&mut one);
    assert_eq!(one, expected);
    if !NeonSha3::is_detected() {
        std::eprintln!("skipped: this CPU has no neon-sha3 backend");
        return;
    }
    one = state;
    // SAFETY: found just now.
    unsafe { permute_in_lane_sha3(&mut one) };
    assert_eq!(one, expected);
    for permute in [permute_x2_sha3, permute_x2_on_one_unit_sha3] {
        // SAFETY: as above.
        let mut sponge = unsafe { NeonSha3::here() }.wide();
        for (n, word) in sponge.words_mut().iter_mut().enumerate() {
            *word = if n % 2 == 0 { state[n / 2] } else { 0 };
        }
        // SAFETY: as above.
        unsafe { permute(&mut sponge.0) };
        assert!(sponge.words().iter().step_by(2).eq(&expected));
        let mut zero = [0; 25];
        keccak_f1600(&mut zero);
        assert!(sponge.words().iter().skip(1).step_by(2).eq(&zero));
    }
}
