//! Kernels against their plain twins, where the tests of all backends do not look.

use std::vec::Vec;

use super::keccak::{
    Cpu, Pair, permute_in_lane_sha3, permute_late, permute_x2_on_one_unit_sha3, permute_x2_sha3,
};
use super::product::matrix_product;
use super::reject::{self, fill};
use super::unpack::{challenge_ntt, unpack_t1_ntt};
use super::*;
use crate::backend::differential::hashes_equal_single_ones;
use crate::backend::states::States;
use crate::backend::transform::Standard;
use crate::coding::expansion::{Expansion, PackedPoly};
use crate::coding::pack;
use crate::hash::keccak::{Word, keccak_f1600};
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::sponge::{LaneSponge, Widths};
use crate::memory::array::{Element, Zeroed};
use crate::params::{N, Q};
use crate::random::Random;
use crate::ring::poly::{NttPoly, Poly};
use crate::sample::rej_ntt_block_vartime;

/// Runs a function on both kinds of CPU, as far as this one is of both, and says so if
/// not.
macro_rules! on_both {
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

fn congruent(a: &[i32; N], b: &[i32; N], bound: i32) {
    for (n, (a, b)) in a.iter().zip(b).enumerate() {
        assert_eq!(a.rem_euclid(Q), b.rem_euclid(Q), "coefficient {n}");
        assert!(a.abs() < bound, "coefficient {n}");
    }
}

#[test]
fn two_permutations_and_three() {
    fn check<C: Cpu>(cpu: C)
    where
        Pair<C>: Word,
    {
        let mut random = Random::new(9);
        let mut sponge = cpu.wide();
        let states: [[u64; 25]; 2] =
            core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
        for (n, word) in sponge.words_mut().iter_mut().enumerate() {
            *word = states[n % 2][n / 2];
        }
        let (mut paired, mut one) = (States(sponge.0), states[1]);
        C::permute_x2_and_one(&mut paired.0, &mut one);
        C::permute_x2(&mut sponge.0);
        assert_eq!(sponge.words(), paired.words());
        for (lane, mut state) in states.into_iter().enumerate() {
            keccak_f1600(&mut state);
            assert!(sponge.words().iter().skip(lane).step_by(2).eq(&state));
            assert!(lane != 1 || one == state);
        }
    }
    on_both!(check);
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

#[test]
fn hashes_in_lanes() {
    on_both!(hashes_equal_single_ones);
}

#[test]
fn unpacked_t1_and_challenges() {
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
        // SAFETY: every CPU of this target has the features.
        unsafe { unpack_t1_ntt::<Standard>(&bytes, &mut out) };
        congruent(&out.0, &expected.0.map(|a| -a), 9 * Q + Q / 8);

        let c = random.poly(1);
        crate::ring::ntt::ntt(&Poly(c), &mut expected);
        // SAFETY: as above.
        unsafe { challenge_ntt::<Standard>(&c.map(|a| a as i8), &mut out) };
        congruent(&out.0, &expected.0, 9 * Q);
    }
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
            for a in [Expansion::Wide(&rows), Expansion::Packed(&packed)] {
                let mut out = [const { NttPoly::ZERO }; 8];
                // SAFETY: every CPU of this target has the features.
                unsafe { matrix_product(a, &vector, &mut out[..k]) };
                for (row, out) in matrix.chunks(TERMS).zip(&out) {
                    let terms = row.iter().zip(vector.iter().map(|b| &b.0));
                    congruent(&out.0, &plain_product(terms), Q);
                }
            }
        }
    }
    let mut random = Random::new(5);
    check::<5>(4, &mut random);
    check::<6>(6, &mut random);
    check::<8>(8, &mut random);
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
    fn check<C: Cpu>(cpu: C)
    where
        Pair<C>: Word,
    {
        let mut random = Random::new(8);
        for pattern in 0..8 {
            let mut states: [[u64; 25]; 3] =
                core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
            for (n, state) in states.iter_mut().enumerate() {
                if pattern >> n & 1 == 1 {
                    state[..21].fill(u64::MAX);
                }
            }
            let mut sponge = cpu.wide();
            for (n, word) in sponge.words_mut().iter_mut().enumerate() {
                *word = states[n % 2][n / 2];
            }
            let mut polys = [const { NttPoly::ZERO }; 3];
            let mut third = states[2];
            // SAFETY: `cpu` proves the features.
            unsafe {
                fill(
                    &mut sponge.0,
                    Some(&mut third),
                    &mut polys,
                    &mut InterleavedHash::empty(),
                );
            }
            for (n, (poly, state)) in polys.iter().zip(&mut states).enumerate() {
                let (expected, blocks) = filled_plainly(state);
                assert_eq!(poly.0, expected, "lane {n} of {pattern:#x}");
                assert_eq!(blocks > 5, pattern >> n & 1 == 1);
            }
        }
    }
    on_both!(check);
}

/// Every number of rejected candidates among 280, at the front, at the end, spread and
/// where whole vectors end.
#[test]
fn rejection_at_the_ends_of_what_is_looked_at() {
    let mut random = Random::new(10);
    for refused in 0..30 {
        for place in 0..4 {
            let mut bytes = [0xff; reject::STREAM];
            for candidate in bytes[..840].as_chunks_mut::<3>().0 {
                *candidate = [random.next() as u8, random.next() as u8, 0x7e];
            }
            for n in 0..refused {
                let at = [n, 279 - n, 280 * n / refused, 240 + n][place];
                bytes[3 * at..3 * at + 3].fill(0xff);
            }
            let (mut out, mut expected) = ([0; N], [0; N]);
            // SAFETY: every CPU of this target has the features.
            let filled = unsafe { reject::accept(&bytes, &mut out) };
            let count = rej_ntt_block_vartime(&bytes[..840], &mut expected, 0);
            assert_eq!(filled, count);
            assert_eq!(out[..filled], expected[..filled], "{refused} {place}");
        }
    }
}

/// Candidates around q, and with the bit that is masked, at every place of sixteen.
#[test]
fn candidates_at_the_edge() {
    for place in 0..16 {
        for candidate in [
            0,
            Q - 1,
            Q,
            Q + 1,
            (1 << 23) - 1,
            (1 << 23) | (Q - 1),
            (1 << 23) | Q,
        ] {
            let mut bytes = [0; reject::STREAM];
            for group in 0..17 {
                let at = 3 * (16 * group + place);
                bytes[at..at + 3].copy_from_slice(&candidate.to_le_bytes()[..3]);
            }
            let (mut out, mut expected) = ([0; N], [0; N]);
            // SAFETY: every CPU of this target has the features.
            let filled = unsafe { reject::accept(&bytes, &mut out) };
            let count = rej_ntt_block_vartime(&bytes[..840], &mut expected, 0);
            assert_eq!(filled, count, "{place} {candidate}");
            assert_eq!(out, expected, "{place} {candidate}");
        }
    }
}
