//! Keccak on four states in vectors and on one in scalar registers, and SHAKE256 input
//! for lanes.

use core::arch::x86_64::*;

use crate::backend::cpu::Avx2;
use crate::backend::kernels::{Kernels, align_frame};
use crate::backend::states::{LaneWord, States};
use crate::hash::keccak::{RHO, ROUND_CONSTANTS, Word, keccak_f1600, permute_interleaved};
use crate::lanes::sponge::{Block, MAX_LANES, RATE, Widths};

/// One word of four states.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct X4(pub(super) __m256i);

impl X4 {
    /// `value` in every lane.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn splat(value: u64) -> Self {
        Self(_mm256_set1_epi64x(value.cast_signed()))
    }
}

impl Word for X4 {
    type Effect = Self;

    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        // SAFETY: `self` is a vector, which proves the features.
        unsafe { Self(_mm256_xor_si256(self.0, b.0)) }
    }

    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is a vector, which proves the features.
        unsafe { self.xor(Self(_mm256_andnot_si256(b.0, c.0))) }
    }

    #[inline(always)]
    fn rotl<const BITS: u32>(self) -> Self {
        // SAFETY: `self` is a vector, which proves the features. The counts are constants,
        // so these are shifts by an immediate.
        unsafe {
            let left = _mm256_sllv_epi64(self.0, _mm256_set1_epi64x(BITS as i64));
            let right = _mm256_srlv_epi64(self.0, _mm256_set1_epi64x(64 - BITS as i64));
            Self(_mm256_or_si256(left, right))
        }
    }

    #[inline(always)]
    fn xor_constant(self, value: u64) -> Self {
        // SAFETY: `self` is a vector, which proves the features.
        self.xor(Self(unsafe { _mm256_set1_epi64x(value as i64) }))
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

/// Four permutations. Every round reads 25 words of one buffer and writes those of the other: 16
/// registers hold a row, the parities of the columns and their effects, but no state.
#[allow(
    clippy::manual_memcpy,
    clippy::needless_range_loop,
    reason = "the library's functions on arrays are not always inlined"
)]
#[inline(never)]
#[target_feature(enable = "avx2")]
pub(super) fn permute_x4(state: &mut [X4; 25]) {
    let mut other = States([X4::splat(0); 25]);
    let (mut from, mut to) = (state, &mut other.0);
    let mut parity = [from[0], from[1], from[2], from[3], from[4]];
    for y in 1..5 {
        for x in 0..5 {
            parity[x] = parity[x].xor(from[5 * y + x]);
        }
    }
    for constant in &ROUND_CONSTANTS {
        let [a, b, c, d, e] = parity;
        let effects = [
            X4::effect_of_rotated(e, b),
            X4::effect_of_rotated(a, c),
            X4::effect_of_rotated(b, d),
            X4::effect_of_rotated(c, e),
            X4::effect_of_rotated(d, a),
        ];
        macro_rules! word {
            ($x:expr, $y:literal) => {{
                const FROM: usize = ($x + 3 * $y) % 5 + 5 * $x;
                from[FROM].apply_rotl::<{ RHO[FROM] as u32 }>(effects[FROM % 5])
            }};
        }
        // Row $y after rho, pi and chi.
        macro_rules! row {
            ($y:literal) => {{
                let [b0, b1, b2, b3, b4] = [
                    word!(0, $y),
                    word!(1, $y),
                    word!(2, $y),
                    word!(3, $y),
                    word!(4, $y),
                ];
                [
                    b0.chi(b1, b2),
                    b1.chi(b2, b3),
                    b2.chi(b3, b4),
                    b3.chi(b4, b0),
                    b4.chi(b0, b1),
                ]
            }};
        }
        parity = row!(0);
        parity[0] = parity[0].xor_constant(*constant);
        for x in 0..5 {
            to[x] = parity[x];
        }
        macro_rules! later_row {
            ($y:literal) => {{
                let row = row!($y);
                for x in 0..5 {
                    to[5 * $y + x] = row[x];
                    parity[x] = parity[x].xor(row[x]);
                }
            }};
        }
        later_row!(1);
        later_row!(2);
        later_row!(3);
        later_row!(4);
        // SAFETY: the text is a comment; no instruction, no flags. That it might write to both
        // buffers keeps the compiler from holding their words in registers, which it would spill.
        unsafe {
            core::arch::asm!(
                "/* {0} {1} */",
                in(reg) from.as_mut_ptr(),
                in(reg) to.as_mut_ptr(),
                options(nostack, preserves_flags)
            );
        }
        core::mem::swap(&mut from, &mut to);
    }
}

/// Four permutations and one more.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn permute_x4_and_one(state: &mut [X4; 25], one: &mut [u64; 25]) {
    align_frame!();
    permute_interleaved!(state, one);
}

/// One permutation: `rorx` and `andn` save a sixth of the time.
#[inline(never)]
#[target_feature(enable = "bmi1,bmi2")]
pub(super) fn permute_x1(state: &mut [u64; 25]) {
    keccak_f1600(state);
}

/// CPU features of the kernels of this folder. A value is the proof that this CPU has them.
pub(super) trait Cpu: Widths<Wide = States<X4>> {
    /// The proof.
    ///
    /// # Safety
    /// This CPU has the features.
    unsafe fn here() -> Self;
    /// The table of this backend.
    fn kernels(self) -> &'static Kernels;
}

impl Cpu for Avx2 {
    unsafe fn here() -> Self {
        // SAFETY: the caller's.
        unsafe { Self::here() }
    }

    fn kernels(self) -> &'static Kernels {
        self.kernels()
    }
}

impl Widths for Avx2 {
    type Wide = States<X4>;
    type Narrow = States<X4>;

    #[inline]
    fn wide(self) -> States<X4> {
        // SAFETY: `self` proves the features.
        States([unsafe { X4::splat(0) }; 25])
    }

    #[inline]
    fn narrow(self) -> States<X4> {
        self.wide()
    }

    fn permute(self, state: &mut [u64; 25]) {
        // SAFETY: `self` proves the features.
        unsafe { permute_x1(state) }
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

#[target_feature(enable = "avx2")]
fn absorb_x4(state: &mut [X4; 25], blocks: &[&Block; MAX_LANES]) {
    for (word, column) in state.iter_mut().zip(block_columns(blocks)) {
        *word = word.xor(X4(column));
    }
    permute_x4(state);
}

/// The words of the first four blocks, one of each block in a vector.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn block_columns(blocks: &[&Block; MAX_LANES]) -> [__m256i; RATE / 8] {
    let mut words = [_mm256_setzero_si256(); RATE / 8];
    for (quarter, columns) in words.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let row = |n: usize| {
            let bytes = &blocks[n][32 * quarter..32 * quarter + 32];
            // SAFETY: 32 bytes.
            unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
        };
        *columns = transpose_x4([row(0), row(1), row(2), row(3)]);
    }
    let last = |n: usize| {
        blocks[n]
            .last_chunk()
            .map_or(0, |bytes| i64::from_le_bytes(*bytes))
    };
    words[RATE / 8 - 1] = _mm256_set_epi64x(last(3), last(2), last(1), last(0));
    words
}

/// A 4 x 4 matrix of words, rows to columns.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn transpose_x4(r: [__m256i; 4]) -> [__m256i; 4] {
    let (a, b) = (
        _mm256_unpacklo_epi64(r[0], r[1]),
        _mm256_unpackhi_epi64(r[0], r[1]),
    );
    let (c, d) = (
        _mm256_unpacklo_epi64(r[2], r[3]),
        _mm256_unpackhi_epi64(r[2], r[3]),
    );
    [
        _mm256_permute2x128_si256::<0x20>(a, c),
        _mm256_permute2x128_si256::<0x20>(b, d),
        _mm256_permute2x128_si256::<0x31>(a, c),
        _mm256_permute2x128_si256::<0x31>(b, d),
    ]
}
