//! Keccak states in lanes: one word of each state in a vector.
#![allow(unsafe_code)]

use crate::lanes::sponge::{Block, LaneSponge, MAX_LANES};

/// A vector of one word of each state.
///
/// # Safety
/// The type is `LANES` words of 64 bits and nothing else, whatever their value.
pub(crate) unsafe trait LaneWord: Copy {
    /// Number of states, at most [`MAX_LANES`].
    const LANES: usize;

    /// As [`LaneSponge::absorb`].
    fn absorb(states: &mut States<Self>, blocks: &[&Block; MAX_LANES]);
}

/// `W::LANES` states. A vector-typed value proves that the CPU has the features.
#[repr(C, align(64))]
pub(crate) struct States<W>(pub(super) [W; 25]);

impl<W: LaneWord> LaneSponge for States<W> {
    const LANES: usize = W::LANES;

    #[inline]
    fn absorb(&mut self, blocks: &[&Block; MAX_LANES]) {
        W::absorb(self, blocks);
    }

    #[inline]
    fn words(&self) -> &[u64] {
        // SAFETY: 25 times `LANES` words and nothing else, as `LaneWord` promises; the
        // alignment of vectors is larger.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), 25 * W::LANES) }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: the same words as `words` gives, and borrowed for writing.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 25 * W::LANES) }
    }
}
