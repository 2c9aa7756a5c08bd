//! Tests that every backend is run through.

mod rows;

use std::vec::Vec;

use super::Backend;
use crate::hash::keccak::Permutation;
use crate::hash::keccak::keccak_f1600;
use crate::hash::xof::Shake256;
use crate::lanes::interleaved::{InterleavedHash, finish_hash};
use crate::lanes::sponge::{Input, Queue, RATE, Widths, pad};
use crate::memory::array::Zeroed;
use crate::params::{N, Q};
use crate::random::Random;
use crate::ring::poly::{NttPoly, Poly};
use crate::sample::{rej_bounded_block, rej_ntt_block_vartime};

/// That the coefficients agree modulo q.
pub(crate) fn residues_agree(a: &[i32; N], b: &[i32; N]) {
    for (n, (a, b)) in a.iter().zip(b).enumerate() {
        assert_eq!(a.rem_euclid(Q), b.rem_euclid(Q), "coefficient {n}");
    }
}

/// `sum(a b) 2^-32 mod q` in wide integers.
pub(crate) fn plain_product(terms: &[(&[i32; N], &[i32; N])]) -> [i32; N] {
    // 2^-32 mod q
    const INVERSE: i128 = 8_265_825;
    const { assert!((1i128 << 32) * INVERSE % Q as i128 == 1) };
    core::array::from_fn(|n| {
        let products = terms
            .iter()
            .map(|(a, b)| i128::from(a[n]) * i128::from(b[n]));
        (products.sum::<i128>() * INVERSE).rem_euclid(i128::from(Q)) as i32
    })
}

/// Algorithm 30 from a state that is ready to be squeezed: the coefficients, and the number of
/// blocks that they take.
pub(crate) fn filled_plainly(state: &mut [u64; 25]) -> ([i32; N], usize) {
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

/// A hash interleaved with the matrix, cut wherever there are no more blocks or no more
/// permutations, and the matrix that is computed with it.
#[test]
fn a_hash_interleaved_with_the_matrix() {
    let data: [u8; 20 * RATE] = core::array::from_fn(|n| (n * 7 + n / 256) as u8);
    let rho = [9; 32];
    for backend in Backend::available() {
        let Some(expand_a) = backend.kernels().expand_a_interleaved else {
            continue;
        };
        for len in [0, 1, 135, 136, 137, 1312, 1952, 2592, 20 * RATE - 1] {
            for (entries, steps) in (1..=17).zip(
                [&[0][..], &[1], &[3, 7], &[0, 2, 2, 8, 9], &[20]]
                    .into_iter()
                    .cycle(),
            ) {
                let (mut state, mut absorbed) = ([0; 25], 0);
                for &blocks in steps {
                    let known = &data[..len.min(blocks * RATE)];
                    let blocks = known[absorbed..].as_chunks().0;
                    let mut interleaved = InterleavedHash::blocks(state, blocks);
                    let mut expected: [_; 17] = core::array::from_fn(|_| NttPoly::zeroed());
                    (Backend::PORTABLE.kernels().expand_a)(&rho, 5, 3, &mut expected[..entries]);
                    let mut found: [_; 17] = core::array::from_fn(|_| NttPoly::zeroed());
                    expand_a(&rho, 5, 3, &mut found[..entries], &mut interleaved);
                    for (entry, expected) in found.iter().zip(&expected) {
                        assert_eq!(entry.0, expected.0, "{backend:?}");
                    }
                    let (now, left) = interleaved.state();
                    state = *now;
                    absorbed += blocks.len() * RATE - left;
                }
                let digest = finish_hash(state, &data[absorbed..len], backend.permutation());
                let mut expected = [0; 64];
                Shake256::digest(Permutation::PORTABLE, &[&data[..len]], &mut expected);
                assert_eq!(digest, expected, "{backend:?} {len} {entries} {steps:?}");
            }
        }
    }
}

/// Every set on every backend, `mu` ending in any permutation of the interleaved hash: good
/// signatures, and such that are wrong in one bit.
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
#[test]
fn single_verifications_with_hashes_of_any_length() {
    use crate::coding::encode::PublicKeyParts;
    use crate::hash::transcript::{Context, MuBuilder, Randomness};
    use crate::keys::SigningKey;
    use crate::lanes::job::{Job, JobKey, JobMessage};
    use crate::params::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};
    use crate::scheme::verify::verify_one;

    fn of<P: ParameterSet>() {
        let key = SigningKey::<P>::from_seed(&[5; 32]);
        let verifying = key.verifying_key();
        for (n, len) in (0..4000).step_by(331).enumerate() {
            let message = std::vec![n as u8; len];
            let mut signature = key
                .sign_with_context(&message, Context::EMPTY, Randomness::Deterministic)
                .unwrap()
                .as_ref()
                .to_vec();
            let mut mu = MuBuilder::from_tr(verifying.tr(), Context::EMPTY);
            mu.update(&message);
            let mu = mu.finish();
            for wrong in [None, Some(0), Some(P::C_TILDE_LEN + 40 * n)] {
                let at = wrong.unwrap_or(0);
                signature[at] ^= u8::from(wrong.is_some());
                for backend in Backend::available() {
                    let pure = JobMessage::Pure(Context::EMPTY, &message);
                    let parts = PublicKeyParts::of::<P>(verifying.as_bytes());
                    for (tr, message) in [
                        (None, pure),
                        (Some(verifying.tr()), pure),
                        (None, JobMessage::Mu(&mu)),
                    ] {
                        let job = Job::new(JobKey::Encoded(parts, tr), message, &signature);
                        let result = verify_one::<P>(backend, job);
                        assert_eq!(result.is_ok(), wrong.is_none(), "{backend:?} {len}");
                    }
                }
                signature[at] ^= u8::from(wrong.is_some());
            }
        }
    }
    of::<MlDsa44>();
    of::<MlDsa65>();
    of::<MlDsa87>();
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

/// With eta = 4, two blocks are too short for one polynomial in 10^5: for each place of eleven,
/// together with ten for which they are enough.
#[test]
fn secrets_that_need_a_third_block() {
    // Found by counting from 0.
    const FIRST: [u32; 11] = [
        56_410, 63_541, 122_795, 47_058, 153_132, 55_456, 40_896, 25_145, 245_159, 62_465, 172_973,
    ];
    let rho_p = |n: u32| {
        let mut rho_p = [0; 64];
        rho_p[..4].copy_from_slice(&n.to_le_bytes());
        rho_p
    };
    for (place, first) in (0u16..).zip(FIRST) {
        let needs_a_third = |n: &u32| {
            let (mut stream, mut s) = ([0; 272], [0; N]);
            let input: [&[u8]; 2] = [&rho_p(*n), &place.to_le_bytes()];
            Shake256::digest(Permutation::PORTABLE, &input, &mut stream);
            rej_bounded_block(4, &stream, &mut s, 0) < N
        };
        let rho_p = rho_p((first..).find(needs_a_third).unwrap());
        let secrets = |backend: Backend| {
            let mut s: Vec<_> = (0..11).map(|_| Poly::zeroed()).collect();
            (backend.kernels().expand_s)(&rho_p, 4, 0, &mut s);
            s.iter().map(|s| s.0).collect::<Vec<_>>()
        };
        let expected = secrets(Backend::PORTABLE);
        for backend in Backend::available() {
            assert_eq!(secrets(backend), expected, "{backend:?} {place}");
        }
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
        assert_eq!(widths.digest(&[0; 25], blocks), expected, "{len}");
    }
}
