//! Kernels against their plain twins, where the tests of all backends do not look.

use core::arch::x86_64::*;
use std::vec::Vec;

use super::keccak::{X4, permute_x4, permute_x4_and_one};
use super::product::matrix_product;
use super::reject::fill;
use super::unpack::{challenge_ntt, unpack_t1_ntt};
use super::w1::{HintMasks, hundred_twenty_eighths, use_hint, wrapped};
use super::*;
use crate::backend::differential::hashes_equal_single_ones;
use crate::backend::states::States;
use crate::backend::transform::Standard;
use crate::coding::expansion::{Expansion, PackedPoly};
use crate::coding::pack;
use crate::hash::keccak::keccak_f1600;
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::sponge::{LaneSponge, Widths};
use crate::memory::array::{Element, Zeroed};
use crate::params::{GAMMA2_32, GAMMA2_88, N, Q};
use crate::random::Random;
use crate::ring::poly::{NttPoly, Poly};
use crate::ring::rounding::use_hint_vartime;
use crate::sample::rej_ntt_block_vartime;

/// Runs the body if this CPU can, and says so if not.
macro_rules! on_this_cpu {
    ($body:block) => {
        if detect().is_none() {
            std::eprintln!("skipped: this CPU has no avx2 backend");
        } else {
            // SAFETY: `detect` found every feature.
            unsafe { $body }
        }
    };
}

fn congruent(a: &[i32; N], b: &[i32; N], bound: i32) {
    for (n, (a, b)) in a.iter().zip(b).enumerate() {
        assert_eq!(a.rem_euclid(Q), b.rem_euclid(Q), "coefficient {n}");
        assert!(a.abs() < bound, "coefficient {n}");
    }
}

#[test]
fn four_permutations_and_five() {
    on_this_cpu!({
        let mut random = Random::new(9);
        let mut sponge = Avx2::here().wide();
        let states: [[u64; 25]; 4] =
            core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
        for (n, word) in sponge.words_mut().iter_mut().enumerate() {
            *word = states[n % 4][n / 4];
        }
        let (mut paired, mut one) = (States(sponge.0), states[2]);
        permute_x4_and_one(&mut paired.0, &mut one);
        permute_x4(&mut sponge.0);
        assert_eq!(sponge.words(), paired.words());
        for (lane, mut state) in states.into_iter().enumerate() {
            keccak_f1600(&mut state);
            assert!(sponge.words().iter().skip(lane).step_by(4).eq(&state));
            assert!(lane != 2 || one == state);
        }
    });
}

#[test]
fn hashes_in_lanes() {
    on_this_cpu!({ hashes_equal_single_ones(Avx2::here()) });
}

#[test]
fn unpacked_t1_and_challenges() {
    on_this_cpu!({
        let mut random = Random::new(4);
        for round in 0..40 {
            let bytes: [u8; 320] = core::array::from_fn(|_| match round {
                0 => 0xff,
                _ => random.next() as u8,
            });
            let (mut t1, mut expected) = (Poly::zeroed(), NttPoly::zeroed());
            pack::unpack_t1_2d(&bytes, &mut t1);
            crate::ring::ntt::ntt(&t1, &mut expected);
            let mut out = NttPoly::zeroed();
            unpack_t1_ntt::<Standard>(&bytes, &mut out);
            congruent(&out.0, &expected.0.map(|a| -a), 9 * Q + Q / 8);

            let c = random.poly(1);
            crate::ring::ntt::ntt(&Poly(c), &mut expected);
            challenge_ntt::<Standard>(&c.map(|a| a as i8), &mut out);
            congruent(&out.0, &expected.0, 9 * Q);
        }
    });
}

/// `sum(a b) 2^-32 mod q` in wide integers.
fn plain_product<'a>(
    terms: impl Iterator<Item = (&'a [i32; N], &'a [i32; N])> + Clone,
) -> [i32; N] {
    // 2^-32 mod q
    const INVERSE: i128 = 8_265_825;
    core::array::from_fn(|n| {
        let products = terms
            .clone()
            .map(|(a, b)| i128::from(a[n]) * i128::from(b[n]));
        (products.sum::<i128>() * INVERSE).rem_euclid(i128::from(Q)) as i32
    })
}

#[test]
fn products_at_their_largest_operands() {
    fn check<const TERMS: usize>(k: usize, random: &mut Random) {
        for round in 0..6 {
            let matrix: Vec<[i32; N]> = (0..k * TERMS)
                .map(|_| match round {
                    0 => [Q - 1; N],
                    _ => random.poly(Q - 1).map(|a| a.rem_euclid(Q)),
                })
                .collect();
            let vector: [NttPoly; TERMS] = core::array::from_fn(|_| {
                NttPoly(match round {
                    0 => [9 * Q - 1; N],
                    1 => [1 - 9 * Q; N],
                    _ => random.poly(9 * Q - 1),
                })
            });
            let mut rows: Vec<_> = (0..k * TERMS).map(|_| NttPoly::zeroed()).collect();
            for (at, poly) in matrix.iter().enumerate() {
                for (n, block) in poly.chunks(8).enumerate() {
                    let place = 8 * (n * k * TERMS + at);
                    rows[place / N].0[place % N..][..8].copy_from_slice(block);
                }
            }
            let packed: Vec<_> = rows.iter().map(PackedPoly::from).collect();
            on_this_cpu!({
                for a in [Expansion::Wide(&rows), Expansion::Packed(&packed)] {
                    let mut out = [const { NttPoly::ZERO }; 8];
                    matrix_product(a, &vector, &mut out[..k]);
                    for (row, out) in matrix.chunks(TERMS).zip(&out) {
                        let terms = row.iter().zip(vector.iter().map(|b| &b.0));
                        congruent(&out.0, &plain_product(terms), Q);
                    }
                }
            });
        }
    }
    let mut random = Random::new(5);
    check::<5>(4, &mut random);
    check::<6>(6, &mut random);
    check::<8>(8, &mut random);
}

#[test]
fn use_hint_over_all_of_z_q() {
    fn check<const SIX_BITS: bool>(gamma2: i32) {
        on_this_cpu!({
            for first in (0..Q).step_by(16) {
                let r: [i32; 16] = core::array::from_fn(|n| (first + n as i32).min(Q - 1));
                let [a, b] = [0, 8].map(|n| _mm256_loadu_si256(r[n..].as_ptr().cast()));
                let s = hundred_twenty_eighths(a, b);
                for hint in [0, u16::MAX, 0x5ac3] {
                    let indices: Vec<u8> = (0..16).filter(|n| hint >> n & 1 == 1).collect();
                    let masks = HintMasks::new(&indices);
                    let w1 = wrapped::<SIX_BITS>(use_hint::<SIX_BITS>(s, masks.0.as_chunks().0[0]));
                    let mut out = [0i16; 16];
                    _mm256_storeu_si256(out.as_mut_ptr().cast(), w1);
                    for (n, &r) in r.iter().enumerate() {
                        // The second and the third four change places.
                        let place = [0, 2, 1, 3][n / 4] * 4 + n % 4;
                        let expected = use_hint_vartime(gamma2, (hint >> n & 1).into(), r);
                        assert_eq!(i32::from(out[place]), expected, "{r}");
                    }
                }
            }
        });
    }
    check::<true>(GAMMA2_88);
    check::<false>(GAMMA2_32);
}

/// The plain form of what [`fill`] does with one state.
fn filled_plainly(state: &mut [u64; 25]) -> ([i32; N], usize) {
    let (mut out, mut filled, mut blocks) = ([0; N], 0, 0);
    while filled < N {
        if blocks > 0 {
            keccak_f1600(state);
        }
        let bytes: Vec<u8> = state.iter().flat_map(|word| word.to_le_bytes()).collect();
        filled = rej_ntt_block_vartime(&bytes[..168], &mut out, filled);
        blocks += 1;
    }
    (out, blocks)
}

/// States whose first blocks hold nothing that is accepted: those lanes need a sixth
/// SHAKE128 block, their neighbours do not.
#[test]
fn rejection_that_reaches_the_sixth_block() {
    on_this_cpu!({
        let mut random = Random::new(8);
        for pattern in 0..16 {
            let mut states: [[u64; 25]; 4] =
                core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
            for (n, state) in states.iter_mut().enumerate() {
                if pattern >> n & 1 == 1 {
                    state[..21].fill(u64::MAX);
                }
            }
            let mut sponge = Avx2::here().wide();
            for (n, word) in sponge.words_mut().iter_mut().enumerate() {
                *word = states[n % 4][n / 4];
            }
            let mut polys = [const { NttPoly::ZERO }; 4];
            let lanes: &mut [X4; 25] = &mut sponge.0;
            fill(lanes, &mut polys, &mut InterleavedHash::empty());
            for (n, (poly, state)) in polys.iter().zip(&mut states).enumerate() {
                let (expected, blocks) = filled_plainly(state);
                assert_eq!(poly.0, expected, "lane {n} of {pattern:#x}");
                assert_eq!(blocks > 5, pattern >> n & 1 == 1);
            }
        }
    });
}

/// Every number of rejected candidates among 280, at the front, at the end, spread and
/// where whole vectors end.
#[test]
fn rejection_at_the_ends_of_what_is_looked_at() {
    on_this_cpu!({
        let mut random = Random::new(10);
        for refused in 0..30 {
            for place in 0..4 {
                let mut bytes = [0xff; 864];
                for candidate in bytes[..840].as_chunks_mut::<3>().0 {
                    *candidate = [random.next() as u8, random.next() as u8, 0x7e];
                }
                for n in 0..refused {
                    let at = [n, 279 - n, 280 * n / refused, 240 + n][place];
                    bytes[3 * at..3 * at + 3].fill(0xff);
                }
                let (mut out, mut expected) = ([0; N], [0; N]);
                let filled = reject::accept(&bytes, &mut out);
                let count = rej_ntt_block_vartime(&bytes[..840], &mut expected, 0);
                assert_eq!(filled, count);
                assert_eq!(out[..filled], expected[..filled], "{refused} {place}");
            }
        }
    });
}
