//! Permutations and hints of this backend, and the part of `eight/kernel_tests.rs` that
//! depends on the registers.

use core::arch::x86_64::*;
use std::vec::Vec;

use super::keccak::{Cpu, permute_x4, permute_x4_and_one};
use super::reject::fill;
use super::vector::get_at;
use super::w1::{HintMasks, hundred_twenty_eighths, use_hint, wrapped};
use super::*;
use crate::backend::states::States;
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
pub(super) use crate::backend::transform::bounds::Floor as Intervals;
use crate::hash::keccak::keccak_f1600;
use crate::lanes::sponge::{LaneSponge, Widths};
use crate::params::{GAMMA2_32, GAMMA2_88, Q};
use crate::random::Random;
use crate::ring::poly::NttPoly;
use crate::ring::rounding::use_hint_vartime;

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

#[test]
fn use_hint_over_all_of_z_q() {
    #[target_feature(enable = "avx2")]
    fn check_set<const SIX_BITS: bool>(gamma2: i32) {
        for first in (0..Q).step_by(16) {
            let r: [i32; 16] = core::array::from_fn(|n| (first + n as i32).min(Q - 1));
            let [a, b] = [get_at(&r.as_chunks().0[0]), get_at(&r.as_chunks().0[1])];
            let s = hundred_twenty_eighths(a, b);
            for hint in [0, u16::MAX, 0x5ac3] {
                let indices: Vec<u8> = (0..16).filter(|n| hint >> n & 1 == 1).collect();
                let masks = HintMasks::new(&indices);
                let w1 = wrapped::<SIX_BITS>(use_hint::<SIX_BITS>(s, masks.0.as_chunks().0[0]));
                let mut out = [0i16; 16];
                // SAFETY: 32 bytes.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), w1) };
                for (n, &r) in r.iter().enumerate() {
                    // The second and the third four change places.
                    let place = [0, 2, 1, 3][n / 4] * 4 + n % 4;
                    let expected = use_hint_vartime(gamma2, (hint >> n & 1).into(), r);
                    assert_eq!(i32::from(out[place]), expected, "{r}");
                }
            }
        }
    }
    fn check(_cpu: Avx2) {
        // SAFETY: `_cpu` proves the features.
        unsafe {
            check_set::<true>(GAMMA2_88);
            check_set::<false>(GAMMA2_32);
        }
    }
    on_each_cpu!(check);
}
