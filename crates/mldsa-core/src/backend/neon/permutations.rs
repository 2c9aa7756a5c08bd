//! Keccak on two states in vectors and on two in scalar registers; with the instructions for
//! SHA-3 and without.

use core::arch::aarch64::*;

use super::keccak::{Cpu, Pair};
use super::tuning::scalar_interleaved;
use super::{rounds, scalar};
use crate::backend::cpu::{Neon, NeonSha3};
use crate::backend::kernels::Kernels;
use crate::hash::keccak;

impl Cpu for Neon {
    unsafe fn here() -> Self {
        // SAFETY: the caller's.
        unsafe { Self::here() }
    }

    fn kernels(self) -> &'static Kernels {
        self.kernels()
    }

    fn permute_x2(state: &mut [Pair<Self>; 25]) {
        // SAFETY: the states are registers, which prove the features.
        unsafe { permute_x2(state) }
    }

    fn permute_x2_and_two(
        state: &mut [Pair<Self>; 25],
        first: &mut [u64; 25],
        second: &mut [u64; 25],
    ) {
        // SAFETY: the states are registers, which prove the features.
        unsafe { permute_x2_and_two(state, first, second) }
    }
}

impl Cpu for NeonSha3 {
    unsafe fn here() -> Self {
        // SAFETY: the caller's.
        unsafe { Self::here() }
    }

    fn kernels(self) -> &'static Kernels {
        self.kernels()
    }

    fn permute_x2(state: &mut [Pair<Self>; 25]) {
        // SAFETY: the states are registers of such a CPU, which prove the features.
        unsafe {
            if scalar_interleaved() {
                permute_x2_on_one_unit_sha3(state);
            } else {
                permute_x2_sha3(state);
            }
        }
    }

    fn permute_x2_and_two(
        state: &mut [Pair<Self>; 25],
        first: &mut [u64; 25],
        second: &mut [u64; 25],
    ) {
        // SAFETY: the states are registers of such a CPU, which prove the features.
        unsafe { permute_x2_and_two_sha3(state, first, second) }
    }
}

#[inline(never)]
#[target_feature(enable = "neon")]
fn permute_x2(state: &mut [Pair<Neon>; 25]) {
    rounds::permute(words(state));
}

#[inline(never)]
#[target_feature(enable = "neon")]
fn permute_x2_and_two(state: &mut [Pair<Neon>; 25], first: &mut [u64; 25], second: &mut [u64; 25]) {
    rounds::permute_with_words(words(state), first, second);
}

#[inline(never)]
#[target_feature(enable = "neon,sha3")]
pub(super) fn permute_x2_sha3(state: &mut [Pair<NeonSha3>; 25]) {
    rounds::permute_sha3(words(state));
}

#[inline(never)]
#[target_feature(enable = "neon,sha3")]
pub(super) fn permute_x2_on_one_unit_sha3(state: &mut [Pair<NeonSha3>; 25]) {
    rounds::permute_on_one_unit(words(state));
}

#[inline(never)]
#[target_feature(enable = "neon,sha3")]
fn permute_x2_and_two_sha3(
    state: &mut [Pair<NeonSha3>; 25],
    first: &mut [u64; 25],
    second: &mut [u64; 25],
) {
    rounds::permute_with_words_sha3(words(state), first, second);
}

/// One permutation.
// Not inlined: its jump is listed where compiled code is read.
#[inline(never)]
#[target_feature(enable = "neon")]
pub(super) fn permute(state: &mut [u64; 25]) {
    if scalar_interleaved() {
        permute_late(state);
    } else {
        keccak::portable(state);
    }
}

/// One permutation on a CPU with the instructions for SHA-3: in one lane of vectors,
/// unless the core is better at scalars.
#[inline]
#[target_feature(enable = "neon,sha3")]
pub(super) fn permute_sha3(state: &mut [u64; 25]) {
    if scalar_interleaved() {
        permute_late(state);
    } else {
        permute_in_lane_sha3(state);
    }
}

// Not inlined: with more features the compiler puts the state into vectors.
#[inline(never)]
pub(super) fn permute_late(state: &mut [u64; 25]) {
    scalar::permute(state);
}

#[inline(never)]
#[target_feature(enable = "neon,sha3")]
pub(super) fn permute_in_lane_sha3(state: &mut [u64; 25]) {
    let mut words = [vdupq_n_u64(0); 25];
    for (word, one) in words.iter_mut().zip(&*state) {
        *word = vcombine_u64(vcreate_u64(*one), vcreate_u64(0));
    }
    rounds::permute_sha3(&mut words);
    for (one, word) in state.iter_mut().zip(words) {
        *one = vgetq_lane_u64::<0>(word);
    }
}

/// The registers of two states.
#[inline(always)]
fn words<C>(state: &mut [Pair<C>; 25]) -> &mut [uint64x2_t; 25] {
    // SAFETY: a pair is a register and a mark of no size.
    unsafe { &mut *core::ptr::from_mut(state).cast() }
}
