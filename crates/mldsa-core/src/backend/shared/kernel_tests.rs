//! Kernels against their plain twins, where the tests of all backends do not look.

use std::vec::Vec;

use super::keccak::Cpu;
use super::product::matrix_product;
use super::reject::{STREAM, accept};
use super::tests::{STATES, fill_from, on_each_cpu};
use super::unpack::{challenge_ntt, unpack_t1_ntt};
use super::*;
use crate::backend::differential::{
    filled_plainly, hashes_equal_single_ones, plain_product, residues_agree,
};
use crate::backend::transform::Standard;
use crate::coding::expansion::{Expansion, PackedPoly};
use crate::coding::pack;
use crate::memory::array::{Element, Zeroed};
use crate::params::{N, Q};
use crate::random::Random;
use crate::ring::poly::{NttPoly, Poly};
use crate::sample::rej_ntt_block_vartime;

fn congruent(a: &[i32; N], b: &[i32; N], bound: i32) {
    residues_agree(a, b);
    assert!(a.iter().all(|a| a.abs() < bound));
}

#[test]
fn hashes_in_lanes() {
    on_each_cpu!(hashes_equal_single_ones);
}

#[test]
fn unpacked_t1_and_challenges() {
    fn check<C: Cpu>(_cpu: C) {
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
            // SAFETY: `_cpu` proves the features.
            unsafe { unpack_t1_ntt::<Standard>(&bytes, &mut out) };
            congruent(&out.0, &expected.0.map(|a| -a), 9 * Q + Q / 8);

            let c = random.poly(1);
            crate::ring::ntt::ntt(&Poly(c), &mut expected);
            // SAFETY: as above.
            unsafe { challenge_ntt::<Standard>(&c.map(|a| a as i8), &mut out) };
            congruent(&out.0, &expected.0, 9 * Q);
        }
    }
    on_each_cpu!(check);
}

#[test]
fn products_at_their_largest_operands() {
    fn check_size<const TERMS: usize>(k: usize, random: &mut Random) {
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
                // SAFETY: `check` has a proof of the features.
                unsafe { matrix_product(a, &vector, &mut out[..k]) };
                for (row, out) in matrix.chunks(TERMS).zip(&out) {
                    let terms: Vec<_> = row.iter().zip(vector.iter().map(|b| &b.0)).collect();
                    congruent(&out.0, &plain_product(&terms), Q);
                }
            }
        }
    }
    fn check<C: Cpu>(_cpu: C) {
        let mut random = Random::new(5);
        check_size::<5>(4, &mut random);
        check_size::<6>(6, &mut random);
        check_size::<8>(8, &mut random);
    }
    on_each_cpu!(check);
}

/// States whose first blocks hold nothing that is accepted: those lanes need a sixth
/// SHAKE128 block, their neighbours do not.
#[test]
fn rejection_that_reaches_the_sixth_block() {
    fn check<C: Cpu>(cpu: C) {
        let mut random = Random::new(8);
        for pattern in 0..1 << STATES {
            let mut states: [[u64; 25]; STATES] =
                core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
            for (n, state) in states.iter_mut().enumerate() {
                if pattern >> n & 1 == 1 {
                    state[..21].fill(u64::MAX);
                }
            }
            let mut polys = [const { NttPoly::ZERO }; STATES];
            fill_from(cpu, &states, &mut polys);
            for (n, (poly, state)) in polys.iter().zip(&mut states).enumerate() {
                let (expected, blocks) = filled_plainly(state);
                assert_eq!(poly.0, expected, "lane {n} of {pattern:#x}");
                assert_eq!(blocks > 5, pattern >> n & 1 == 1);
            }
        }
    }
    on_each_cpu!(check);
}

/// Compares what is accepted of a stream.
///
/// # Safety
/// The CPU must have this backend's features.
unsafe fn accepts_what_the_portable_form_does(bytes: &[u8; STREAM]) {
    let (mut out, mut expected) = ([0; N], [0; N]);
    // SAFETY: the caller promises the features.
    let filled = unsafe { accept(bytes, &mut out) };
    let count = rej_ntt_block_vartime(&bytes[..840], &mut expected, 0);
    assert_eq!(filled, count);
    assert_eq!(out[..filled], expected[..filled]);
}

/// Every number of rejected candidates among 280, at the front, at the end, spread and
/// where whole vectors end.
#[test]
fn rejection_at_the_ends_of_what_is_looked_at() {
    fn check<C: Cpu>(_cpu: C) {
        let mut random = Random::new(10);
        for refused in 0..30 {
            for place in 0..4 {
                let mut bytes = [0xff; STREAM];
                for candidate in bytes[..840].as_chunks_mut::<3>().0 {
                    *candidate = [random.next() as u8, random.next() as u8, 0x7e];
                }
                for n in 0..refused {
                    let at = [n, 279 - n, 280 * n / refused, 240 + n][place];
                    bytes[3 * at..3 * at + 3].fill(0xff);
                }
                // SAFETY: `_cpu` proves the features.
                unsafe { accepts_what_the_portable_form_does(&bytes) };
            }
        }
    }
    on_each_cpu!(check);
}

/// Candidates around q, and with the bit that is masked, at every place of sixteen.
#[test]
fn candidates_at_the_edge() {
    fn check<C: Cpu>(_cpu: C) {
        const MASKED: i32 = 1 << 23;
        for place in 0..16 {
            for candidate in [0, Q - 1, Q, Q + 1, MASKED - 1, MASKED | (Q - 1), MASKED | Q] {
                let mut bytes = [0; STREAM];
                for group in 0..17 {
                    let at = 3 * (16 * group + place);
                    bytes[at..at + 3].copy_from_slice(&candidate.to_le_bytes()[..3]);
                }
                // SAFETY: `_cpu` proves the features.
                unsafe { accepts_what_the_portable_form_does(&bytes) };
            }
        }
    }
    on_each_cpu!(check);
}
