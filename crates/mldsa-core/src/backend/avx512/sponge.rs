//! SHAKE256 input and output for lanes: transposing between bytes per lane and
//! words across lanes.

use core::arch::x86_64::*;

use super::keccak_x1::{self, permute_x1};
use super::word::{X4, X8, permute_x4, permute_x8};
use crate::backend::avx2::keccak::block_columns;
use crate::backend::cpu::Avx512;
use crate::backend::states::{LaneWord, States};
use crate::hash::keccak::Word;
use crate::lanes::sponge::{Block, MAX_LANES, Widths};
use crate::params::CRH_LEN;

impl Widths for Avx512 {
    type Wide = States<X8>;
    type Narrow = States<X4>;

    #[inline]
    fn wide(self) -> States<X8> {
        // SAFETY: `self` proves the features.
        States([unsafe { X8::splat(0) }; 25])
    }

    #[inline]
    fn narrow(self) -> States<X4> {
        // SAFETY: `self` proves the features.
        States([unsafe { X4::new(_mm256_setzero_si256()) }; 25])
    }

    #[inline]
    fn permute(self, state: &mut [u64; 25]) {
        // SAFETY: `self` proves the features.
        unsafe { permute_x1(state) }
    }

    #[inline]
    fn digest(self, state: &[u64; 25], blocks: &[Block]) -> [u8; CRH_LEN] {
        // SAFETY: `self` proves the features.
        unsafe { keccak_x1::digest(state, blocks) }
    }
}

// SAFETY: one vector of 512 bits.
unsafe impl LaneWord for X8 {
    const LANES: usize = 8;

    #[inline]
    fn absorb(states: &mut States<Self>, blocks: &[&Block; MAX_LANES]) {
        // SAFETY: the states are vectors, which prove the features.
        unsafe { absorb_x8(&mut states.0, blocks) }
    }
}

// SAFETY: one vector of 256 bits.
unsafe impl LaneWord for X4 {
    const LANES: usize = 4;

    #[inline]
    fn absorb(states: &mut States<Self>, blocks: &[&Block; MAX_LANES]) {
        // SAFETY: the states are vectors, which prove the features.
        unsafe { absorb_x4(&mut states.0, blocks) }
    }
}

#[target_feature(enable = "avx512f")]
fn absorb_x8(state: &mut [X8; 25], blocks: &[&Block; 8]) {
    for half in 0..2 {
        let rows = blocks.map(
            #[inline(always)]
            |block| {
                let bytes = &block[64 * half..64 * half + 64];
                // SAFETY: 64 bytes.
                unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
            },
        );
        for (word, column) in state[8 * half..8 * half + 8]
            .iter_mut()
            .zip(transpose_x8(rows))
        {
            *word = word.xor(X8(column));
        }
    }
    let last = blocks.map(last_word);
    // SAFETY: 64 bytes.
    let last = unsafe { _mm512_loadu_si512(last.as_ptr().cast()) };
    state[16] = state[16].xor(X8(last));
    permute_x8(state);
}

#[target_feature(enable = "avx512f,avx512vl")]
fn absorb_x4(state: &mut [X4; 25], blocks: &[&Block; 8]) {
    for (word, column) in state.iter_mut().zip(block_columns(blocks)) {
        *word = word.xor(X4::new(column));
    }
    permute_x4(state);
}

#[inline(always)]
fn last_word(block: &Block) -> i64 {
    block
        .last_chunk()
        .map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

/// An 8 x 8 matrix of words, rows to columns.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn transpose_x8(r: [__m512i; 8]) -> [__m512i; 8] {
    let a = [
        _mm512_unpacklo_epi64(r[0], r[1]),
        _mm512_unpackhi_epi64(r[0], r[1]),
        _mm512_unpacklo_epi64(r[2], r[3]),
        _mm512_unpackhi_epi64(r[2], r[3]),
        _mm512_unpacklo_epi64(r[4], r[5]),
        _mm512_unpackhi_epi64(r[4], r[5]),
        _mm512_unpacklo_epi64(r[6], r[7]),
        _mm512_unpackhi_epi64(r[6], r[7]),
    ];
    // Quarters of 128 bits: even ones of both, odd ones of both, twice.
    let b = [
        _mm512_shuffle_i64x2::<0x88>(a[0], a[2]),
        _mm512_shuffle_i64x2::<0x88>(a[1], a[3]),
        _mm512_shuffle_i64x2::<0xdd>(a[0], a[2]),
        _mm512_shuffle_i64x2::<0xdd>(a[1], a[3]),
        _mm512_shuffle_i64x2::<0x88>(a[4], a[6]),
        _mm512_shuffle_i64x2::<0x88>(a[5], a[7]),
        _mm512_shuffle_i64x2::<0xdd>(a[4], a[6]),
        _mm512_shuffle_i64x2::<0xdd>(a[5], a[7]),
    ];
    [
        _mm512_shuffle_i64x2::<0x88>(b[0], b[4]),
        _mm512_shuffle_i64x2::<0x88>(b[1], b[5]),
        _mm512_shuffle_i64x2::<0x88>(b[2], b[6]),
        _mm512_shuffle_i64x2::<0x88>(b[3], b[7]),
        _mm512_shuffle_i64x2::<0xdd>(b[0], b[4]),
        _mm512_shuffle_i64x2::<0xdd>(b[1], b[5]),
        _mm512_shuffle_i64x2::<0xdd>(b[2], b[6]),
        _mm512_shuffle_i64x2::<0xdd>(b[3], b[7]),
    ]
}
