//! Tests that every backend is run through.

use std::vec::Vec;

use super::Backend;
use crate::hash::keccak::Permutation;
use crate::hash::keccak::keccak_f1600;
use crate::hash::xof::Shake256;
use crate::lanes::sponge::{Input, Queue, RATE, Widths, pad};
use crate::memory::array::Zeroed;
use crate::params::{GAMMA2_32, GAMMA2_88, N, Q};
use crate::random::Random;
use crate::ring::poly::{NttPoly, Poly};
use crate::sample::rej_bounded_block;

#[test]
fn permutations() {
    let mut random = Random::new(10);
    for _ in 0..20 {
        let state: [u64; 25] = core::array::from_fn(|_| random.next());
        let mut expected = state;
        keccak_f1600(&mut expected);
        for backend in Backend::available() {
            let mut state = state;
            backend.permutation().permute(&mut state);
            assert_eq!(state, expected, "{backend:?}");
        }
    }
}

#[test]
fn matrix_entries_from_any_place_in_any_number() {
    for backend in Backend::available().skip(1) {
        for (l, first, len) in [
            (4, 0, 16),
            (5, 0, 30),
            (7, 0, 56),
            (7, 3, 1),
            (7, 5, 9),
            (5, 29, 1),
            (4, 2, 13),
        ] {
            let rho = [(first * l + len) as u8; 32];
            let mut expected: Vec<_> = (0..len).map(|_| NttPoly::zeroed()).collect();
            (Backend::PORTABLE.kernels().expand_a)(&rho, l, first, &mut expected);
            let mut entries: Vec<_> = (0..len).map(|_| NttPoly::zeroed()).collect();
            (backend.kernels().expand_a)(&rho, l, first, &mut entries);
            for (n, (entry, expected)) in entries.iter().zip(&expected).enumerate() {
                assert_eq!(entry.0, expected.0, "{backend:?} {l} {first} {n}");
            }
        }
    }
}

#[test]
fn secrets_from_any_place_in_any_number() {
    let mut random = Random::new(12);
    for backend in Backend::available().skip(1) {
        for (eta, first, len) in [(2, 0, 8), (4, 0, 11), (2, 0, 15), (2, 3, 1), (4, 10, 9)] {
            for _ in 0..20 {
                let rho_p = core::array::from_fn(|_| random.next() as u8);
                let mut expected: Vec<_> = (0..len).map(|_| Poly::zeroed()).collect();
                (Backend::PORTABLE.kernels().expand_s)(&rho_p, eta, first, &mut expected);
                let mut s: Vec<_> = (0..len).map(|_| Poly::zeroed()).collect();
                (backend.kernels().expand_s)(&rho_p, eta, first, &mut s);
                for (n, (s, expected)) in s.iter().zip(&expected).enumerate() {
                    assert_eq!(s.0, expected.0, "{backend:?} {eta} {first} {n}");
                }
            }
        }
    }
}

/// With eta = 4, two blocks are too short for one polynomial in 10^5.
#[test]
fn secrets_that_need_a_third_block() {
    // Found by counting from 0.
    const FIRST: u32 = 56_410;
    let rho_p = |n: u32| {
        let mut rho_p = [0; 64];
        rho_p[..4].copy_from_slice(&n.to_le_bytes());
        rho_p
    };
    let needs_a_third = |n: u32| {
        let (mut stream, mut s) = ([0; 272], [0; N]);
        Shake256::digest(Permutation::PORTABLE, &[&rho_p(n), &[0; 2]], &mut stream);
        rej_bounded_block(4, &stream, &mut s, 0) < N
    };
    let n = (FIRST..).find(|&n| needs_a_third(n)).unwrap();
    let mut expected = Poly::zeroed();
    (Backend::PORTABLE.kernels().expand_s)(&rho_p(n), 4, 0, core::slice::from_mut(&mut expected));
    for backend in Backend::available() {
        let mut s: Vec<_> = (0..11).map(|_| Poly::zeroed()).collect();
        (backend.kernels().expand_s)(&rho_p(n), 4, 0, &mut s);
        assert_eq!(s[0].0, expected.0, "{backend:?}");
    }
}

/// Inputs of many lengths side by side, in groups of every size, against one
/// sponge each.
pub(crate) fn hashes_equal_single_ones<W: Widths>(widths: W) {
    let data: Vec<u8> = (0..3000).map(|n| (n * 13 + n / 256) as u8).collect();
    let lens = [
        0, 1, 32, 135, 136, 137, 271, 272, 1952, 2592, 48, 64, 7, 2999, 136, 408,
    ];
    // None, part of a block, one block, more, in all phases of the input.
    let lens_out = [64, 136, 0, 272, 137, 400];
    for group in 1..=lens.len() {
        for first in 0..lens.len() {
            let lens: Vec<_> = (0..group).map(|n| lens[(first + n) % lens.len()]).collect();
            let mut outputs: Vec<_> = (0..group).map(|_| [0u8; 400]).collect();
            let mut queue = Queue::new(widths);
            for (n, (output, &len)) in outputs.iter_mut().zip(&lens).enumerate() {
                let len_out = lens_out[n % lens_out.len()];
                let input = if n % 3 == 0 {
                    let head = core::array::from_fn(|n| n as u8);
                    Input::mu(head, &data[..len % 256], &data[..len])
                } else {
                    Input::new(&data[..len])
                };
                queue.push(input, &mut output[..len_out]);
            }
            queue.run();
            for (n, (output, &len)) in outputs.iter().zip(&lens).enumerate() {
                let len_out = lens_out[n % lens_out.len()];
                let head: [u8; 66] = core::array::from_fn(|n| n as u8);
                let parts: &[&[u8]] = if n % 3 == 0 {
                    &[&head, &data[..len % 256], &data[..len]]
                } else {
                    &[&data[..len]]
                };
                let mut expected = [0; 400];
                Shake256::digest(Permutation::PORTABLE, parts, &mut expected[..len_out]);
                assert_eq!(*output, expected, "{group} {first} {n}");
            }
        }
    }
    // Whole blocks, padded beforehand.
    for len in 0..9 * RATE {
        let mut blocks = [[0; RATE]; 9];
        blocks.as_flattened_mut()[..len].copy_from_slice(&data[..len]);
        let blocks = &mut blocks[..=len / RATE];
        pad(&mut blocks[len / RATE], len % RATE);
        let mut expected = [0; 64];
        Shake256::digest(Permutation::PORTABLE, &[&data[..len]], &mut expected);
        assert_eq!(widths.digest(blocks), expected, "{len}");
    }
}

/// The arithmetic entries, on random and on extreme operands.
#[test]
fn arithmetic() {
    let mut random = Random::new(11);
    let portable = Backend::PORTABLE.kernels();
    for backend in Backend::available().skip(1) {
        let kernels = backend.kernels();
        for round in 0..60 {
            let mut poly = |bound: i32| match round {
                0 => [bound; N],
                1 => [-bound; N],
                _ => random.poly(bound),
            };
            let (mut out, mut expected) = (NttPoly::zeroed(), NttPoly::zeroed());
            let a = Poly(poly(Q));
            (kernels.ntt)(&a, &mut out);
            (portable.ntt)(&a, &mut expected);
            assert_eq!(out.0, expected.0, "{backend:?}");

            let a: [NttPoly; 8] = core::array::from_fn(|_| NttPoly(poly(Q - 1)));
            let b: [NttPoly; 8] = core::array::from_fn(|_| NttPoly(poly(9 * Q - 1)));
            for terms in [1, 4, 5, 6, 8] {
                (kernels.row_product)(&a[..terms], &b[..terms], &mut out);
                (portable.row_product)(&a[..terms], &b[..terms], &mut expected);
                assert_eq!(out.0, expected.0, "{backend:?}");
            }

            let (mut w, mut expected) = (Poly::zeroed(), Poly::zeroed());
            (kernels.inv_ntt)(&a[0], &mut w);
            (portable.inv_ntt)(&a[0], &mut expected);
            assert_eq!(w.0, expected.0, "{backend:?}");
            for add in [None, Some(&b[1])] {
                (kernels.product_inv_ntt)(&b[0], &b[2], add, &mut w);
                (portable.product_inv_ntt)(&b[0], &b[2], add, &mut expected);
                assert_eq!(w.0, expected.0, "{backend:?}");
            }
            for (gamma2, len) in [(GAMMA2_88, 192), (GAMMA2_32, 128)] {
                let (mut w1, mut expected_w1) = ([0; 192], [0; 192]);
                (kernels.inv_ntt_high_bits)(gamma2, &a[0], &mut w, &mut w1[..len]);
                (portable.inv_ntt_high_bits)(gamma2, &a[0], &mut expected, &mut expected_w1[..len]);
                assert_eq!((w.0, w1), (expected.0, expected_w1), "{backend:?}");
                let hint = [0, 3, 77, 200, 255];
                (kernels.inv_ntt_use_hint)(gamma2, &a[0], &hint, &mut w1[..len]);
                (portable.inv_ntt_use_hint)(gamma2, &a[0], &hint, &mut expected_w1[..len]);
                assert_eq!(w1, expected_w1, "{backend:?}");
            }
        }
    }
}
