//! Keccak on two states in vectors, and on one in a lane of them: 64-bit rotations of scalars are
//! slower in the hosts measured than both lanes together.

use core::arch::wasm32::*;

use super::keccak::{Cpu, Pair};
use crate::backend::cpu::Simd128;
use crate::backend::kernels::Kernels;
use crate::hash::keccak::{Word, keccak_f1600};

impl Cpu for Simd128 {
    unsafe fn here() -> Self {
        // SAFETY: the caller's.
        unsafe { Self::here() }
    }

    fn kernels(self) -> &'static Kernels {
        self.kernels()
    }

    fn permute_x2(state: &mut [Pair<Self>; 25]) {
        permute_x2(state);
    }

    fn permute_x2_and_two(
        state: &mut [Pair<Self>; 25],
        first: &mut [u64; 25],
        second: &mut [u64; 25],
    ) {
        permute_x2(state);
        permute(first);
        permute(second);
    }
}

#[inline(never)]
fn permute_x2(state: &mut [Pair<Simd128>; 25]) {
    keccak_f1600(state);
}

/// One permutation.
#[inline(never)]
pub(super) fn permute(state: &mut [u64; 25]) {
    let mut words = state.map(|word| Pair::new(Simd128::here(), u64x2_splat(word)));
    permute_x2(&mut words);
    for (one, word) in state.iter_mut().zip(words) {
        *one = u64x2_extract_lane::<0>(word.0);
    }
}

impl Word for Pair<Simd128> {
    type Effect = Self;

    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        self.with(v128_xor(self.0, b.0))
    }

    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        self.with(v128_xor(self.0, v128_andnot(c.0, b.0)))
    }

    #[inline(always)]
    fn rotl<const BITS: u32>(self) -> Self {
        let (up, down) = (u64x2_shl(self.0, BITS), u64x2_shr(self.0, 64 - BITS));
        self.with(v128_or(up, down))
    }

    #[inline(always)]
    fn xor_constant(self, value: u64) -> Self {
        self.with(v128_xor(self.0, u64x2_splat(value)))
    }

    #[inline(always)]
    fn effect(left: Self, right: Self) -> Self {
        left.xor(right)
    }

    #[inline(always)]
    fn apply(self, effect: Self) -> Self {
        self.xor(effect)
    }
}
