//! Keccak states two by two in vectors, and SHAKE256 input for them.

use core::marker::PhantomData;

use super::registers::*;
use super::vector::bytes_at;
use crate::backend::kernels::Kernels;
use crate::backend::states::{LaneWord, States};
use crate::lanes::sponge::{Block, MAX_LANES, RATE, Widths};

/// CPU features of the kernels of this folder. A value is the proof that this CPU has them.
pub(super) trait Cpu: Copy {
    /// The proof.
    ///
    /// # Safety
    /// This CPU has the features.
    unsafe fn here() -> Self;
    /// The table of this backend.
    fn kernels(self) -> &'static Kernels;
    /// Two permutations. A state is the proof of the features.
    fn permute_x2(state: &mut [Pair<Self>; 25]);
    /// Two permutations and two more.
    fn permute_x2_and_two(
        state: &mut [Pair<Self>; 25],
        first: &mut [u64; 25],
        second: &mut [u64; 25],
    );
}

/// One word of two states, in the registers of a CPU with C.
#[repr(transparent)]
pub(crate) struct Pair<C>(pub(super) uint64x2_t, PhantomData<C>);

impl<C> Clone for Pair<C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Pair<C> {}

impl<C: Copy> Pair<C> {
    /// Wraps words on a CPU that `cpu` proves.
    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn new(_cpu: C, words: uint64x2_t) -> Self {
        Self(words, PhantomData)
    }

    /// `value` in both lanes.
    #[inline]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    pub(super) fn splat(cpu: C, value: u64) -> Self {
        Self::new(cpu, vdupq_n_u64(value))
    }

    /// Other words, in the registers of the same CPU.
    #[inline(always)]
    pub(super) fn with(self, words: uint64x2_t) -> Self {
        Self(words, PhantomData)
    }
}

impl<C: Cpu> Widths for C {
    type Wide = States<Pair<C>>;
    type Narrow = States<Pair<C>>;

    #[inline]
    fn wide(self) -> States<Pair<C>> {
        // SAFETY: `self` proves the features.
        States([unsafe { Pair::splat(self, 0) }; 25])
    }

    #[inline]
    fn narrow(self) -> States<Pair<C>> {
        self.wide()
    }

    fn permute(self, state: &mut [u64; 25]) {
        (self.kernels().keccak_f1600)(state);
    }
}

// SAFETY: one vector of 128 bits, and a mark of no size.
unsafe impl<C: Cpu> LaneWord for Pair<C> {
    const LANES: usize = 2;

    #[inline]
    fn absorb(states: &mut States<Self>, blocks: &[&Block; MAX_LANES]) {
        // SAFETY: the states are vectors, which prove the features.
        unsafe { absorb_x2(&mut states.0, blocks) }
    }
}

#[inline]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn absorb_x2<C: Cpu>(state: &mut [Pair<C>; 25], blocks: &[&Block; MAX_LANES]) {
    for (n, words) in state.as_chunks_mut::<2>().0[..RATE / 16]
        .iter_mut()
        .enumerate()
    {
        let row = |lane: usize| vreinterpretq_u64_u8(bytes_at(blocks[lane], 16 * n));
        let (a, b) = (row(0), row(1));
        for (word, column) in words.iter_mut().zip([vzip1q_u64(a, b), vzip2q_u64(a, b)]) {
            *word = word.with(veorq_u64(word.0, column));
        }
    }
    let last = |lane: usize| {
        blocks[lane]
            .last_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let word = &mut state[RATE / 8 - 1];
    let column = vcombine_u64(vcreate_u64(last(0)), vcreate_u64(last(1)));
    *word = word.with(veorq_u64(word.0, column));
    C::permute_x2(state);
}
