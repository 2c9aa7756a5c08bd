//! Ninth Keccak state: in scalar registers, or in an unused vector lane. Public data.

use core::arch::x86_64::*;

use super::word::{X8, permute_x8, permute_x8_and_one};
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::sponge::RATE;

/// The last lane.
const LAST: __mmask8 = 0x80;

/// A hash, and its place while states are permuted: with `LANES` the last lane if that is free,
/// otherwise scalar registers. Without `LANES` the lane takes no stack.
pub(super) struct NinthState<'s, 'a, const LANES: bool> {
    interleaved: &'s mut InterleavedHash<'a>,
    /// Nothing else needs the last lane.
    lane_is_free: bool,
    /// The state of the hash is in the last lane, not in `interleaved`.
    in_lane: bool,
}

impl<'s, 'a, const LANES: bool> NinthState<'s, 'a, LANES> {
    /// Creates the ninth state beside eight, of which the first `busy` lanes are in use.
    #[inline]
    pub(super) fn new(interleaved: &'s mut InterleavedHash<'a>, busy: usize) -> Self {
        Self {
            interleaved,
            lane_is_free: LANES && busy < 8,
            in_lane: false,
        }
    }

    /// Permutes the states, and the hash after its next block if it has one.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,bmi1,bmi2,popcnt")]
    pub(super) fn permute(&mut self, state: &mut [X8; 25]) {
        if LANES && self.lane_is_free {
            return self.permute_in_lane(state);
        }
        match self.interleaved.absorb() {
            Some(one) => {
                permute_x8_and_one(state, one);
                self.interleaved.permuted();
            }
            None => permute_x8(state),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn permute_in_lane(&mut self, state: &mut [X8; 25]) {
        if !self.interleaved.has_block() {
            self.leave(state);
            return permute_x8(state);
        }
        let mut block = [0; RATE];
        self.interleaved.next_block(&mut block);
        if !self.in_lane {
            for (word, one) in state.iter_mut().zip(self.interleaved.state_mut()) {
                word.0 = _mm512_mask_set1_epi64(word.0, LAST, *one as i64);
            }
            self.in_lane = true;
        }
        for (word, bytes) in state.iter_mut().zip(block.as_chunks().0) {
            let bytes = _mm512_set1_epi64(i64::from_le_bytes(*bytes));
            word.0 = _mm512_mask_xor_epi64(word.0, LAST, word.0, bytes);
        }
        permute_x8(state);
        if self.interleaved.has_ended() {
            self.leave(state);
            self.interleaved.permuted();
        }
    }

    /// Takes the hash out of its lane, if it is in one: to be called before the states
    /// are permuted by other code, or dropped.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn leave(&mut self, state: &[X8; 25]) {
        if !LANES || !self.in_lane {
            return;
        }
        for (one, word) in self.interleaved.state_mut().iter_mut().zip(state) {
            let pair = _mm512_extracti32x4_epi32::<3>(word.0);
            *one = _mm_cvtsi128_si64(_mm_unpackhi_epi64(pair, pair)) as u64;
        }
        self.in_lane = false;
    }
}
