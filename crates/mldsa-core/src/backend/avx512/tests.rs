//! Every kernel against its plain twin.

use super::dims::{Array, Dims, Dims44, Dims65, Dims87};
use super::keccak_x1::permute_x1;
use super::ntt::{Private, Standard};
use super::product::{RowSums, matrix_product};
use super::registers::{self, Aligned};
use super::reject::{Stream, accept_first, accept_last};
use super::unpack::{Range, challenge_ntt, load, store, unpack_t1_ntt, unpack_z_ntt};
use super::w1::{hint_masks, inv_ntt_use_hint};
use super::word::{X4, X8, permute_x4, permute_x8, permute_x8_and_one};
use super::*;
use crate::backend::differential::{
    filled_plainly, hashes_equal_single_ones, plain_product, residues_agree,
};
use crate::coding::expansion::{Expansion, PackedPoly};
use crate::coding::pack;
use crate::hash::keccak::keccak_f1600;
use crate::lanes::interleaved::InterleavedHash;
use crate::lanes::sponge::{Block, RATE};
use crate::memory::array::Zeroed;
use crate::params::{GAMMA2_32, GAMMA2_88, N, Q};
use crate::random::Random;
use crate::ring::poly::{NttPoly, Poly};
use crate::sample::rej_ntt_block_vartime;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;
use core::slice::from_ref;
use std::vec::Vec;

/// Runs the body if this CPU can, and says so if not.
macro_rules! on_this_cpu {
    ($body:block) => {
        if detect().is_none() {
            std::eprintln!("skipped: this CPU has no avx512 backend");
        } else {
            // SAFETY: `detect` found every feature.
            unsafe { $body }
        }
    };
}

/// The value of a kernel's output.
fn written(write: impl FnOnce(&mut MaybeUninit<NttPoly>)) -> NttPoly {
    let mut out = MaybeUninit::new(NttPoly::zeroed());
    write(&mut out);
    // SAFETY: initialised above.
    unsafe { out.assume_init() }
}

/// Private order to standard order, by the kernel that does so for pairs.
#[target_feature(enable = "avx512f")]
fn standard(poly: &NttPoly) -> [i32; N] {
    let mut v = load(&poly.0);
    for pair in v.as_chunks_mut::<2>().0 {
        (pair[0], pair[1]) = ntt::to_standard_order(pair[0], pair[1]);
    }
    let mut out = [0; N];
    // SAFETY: 1024 bytes.
    unsafe { store(&v, out.as_mut_ptr()) };
    out
}

#[target_feature(enable = "avx512f")]
fn private(poly: &[i32; N]) -> NttPoly {
    let mut v = load(poly);
    for pair in v.as_chunks_mut::<2>().0 {
        (pair[0], pair[1]) = ntt::from_standard_order(pair[0], pair[1]);
    }
    let mut out = NttPoly::zeroed();
    // SAFETY: 1024 bytes.
    unsafe { store(&v, out.0.as_mut_ptr()) };
    out
}

/// Random polynomials within a bound, then the extremes.
fn polys(random: &mut Random, bound: i32) -> Vec<[i32; N]> {
    let mut all: Vec<_> = (0..50).map(|_| random.poly(bound)).collect();
    all.push([bound; N]);
    all.push([-bound; N]);
    all.push(core::array::from_fn(|n| {
        if n % 2 == 0 { bound } else { -bound }
    }));
    all.push(core::array::from_fn(
        |n| if n < 128 { bound } else { -bound },
    ));
    all.push([0; N]);
    all
}

#[test]
fn reduction_and_canonical_form_at_the_ends_of_their_ranges() {
    on_this_cpu!({
        let ends = [
            i32::MAX,
            i32::MIN + 1,
            0,
            1,
            -1,
            Q,
            -Q,
            Q - 1,
            1 - Q,
            21 * Q,
            -21 * Q,
        ];
        let mut random = Random::new(2);
        for &end in &ends {
            let a: [i32; N] = core::array::from_fn(|n| {
                if n == 0 {
                    end
                } else {
                    random.next() as i32 | 1
                }
            });
            let reduced = load(&a).map(|x| registers::canonical(ntt::reduce(x)));
            let mut out = [0; N];
            store(&reduced, out.as_mut_ptr());
            assert_eq!(out, a.map(|x| x.rem_euclid(Q)));
        }
    });
}

#[test]
fn unpacked_z_and_its_norm() {
    fn check<const BITS: usize>(beta: i32, random: &mut Random) {
        let gamma1 = 1 << (BITS - 1);
        let bound = gamma1 - beta;
        let encode = |z: &[i32; N]| {
            let mut bytes = [0u8; 640];
            for (n, z) in z.iter().enumerate() {
                for bit in 0..BITS {
                    bytes[(n * BITS + bit) / 8] |=
                        ((((gamma1 - z) >> bit) & 1) as u8) << ((n * BITS + bit) % 8);
                }
            }
            bytes
        };
        let verdict = |z: &[i32; N]| {
            let bytes = &encode(z)[..32 * BITS];
            let mut plain = Poly::zeroed();
            pack::unpack_z(BITS as u32 - 1, bytes, &mut plain);
            assert_eq!(plain.0, *z);
            let mut expected = NttPoly::zeroed();
            crate::ring::ntt::ntt(&plain, &mut expected);
            on_this_cpu!({
                let (mut first, mut second) = (false, false);
                let own = written(|out| first = unpack_z_ntt::<BITS, Private>(bytes, beta, out));
                let ordered =
                    written(|out| second = unpack_z_ntt::<BITS, Standard>(bytes, beta, out));
                assert!(own.0.iter().all(|&x| 0 < x && x < 22 * Q));
                residues_agree(&standard(&own), &expected.0);
                residues_agree(&ordered.0, &expected.0);
                assert_eq!(first, !plain.norm_reaches(bound));
                assert_eq!(second, first);
            });
        };
        for _ in 0..20 {
            verdict(&random.poly(bound - 1));
        }
        for n in 0..N {
            for z in [bound - 1, 1 - bound, bound, -bound, gamma1, 1 - gamma1] {
                let mut poly = random.poly(bound - 1);
                poly[n] = z;
                verdict(&poly);
            }
        }
        verdict(&[gamma1; N]);
        verdict(&[1 - gamma1; N]);
    }
    let mut random = Random::new(3);
    check::<18>(78, &mut random);
    check::<20>(196, &mut random);
    check::<20>(120, &mut random);
}

#[test]
fn unpacked_t1_and_challenges_in_every_range() {
    on_this_cpu!({
        let mut random = Random::new(4);
        for round in 0..40 {
            let mut bytes = [0; 320];
            for byte in &mut bytes {
                *byte = if round == 0 {
                    0xff
                } else {
                    random.next() as u8
                };
            }
            let mut t1 = Poly::zeroed();
            pack::unpack_t1_2d(&bytes, &mut t1);
            let mut expected = NttPoly::zeroed();
            crate::ring::ntt::ntt(&t1, &mut expected);
            let expected = expected.0.map(|x| (-x).rem_euclid(Q));
            for (range, low, high) in [
                (Range::Biased, 0, 22 * Q),
                (Range::Reduced, Q / 2, 9 * (Q / 4) + 9),
                (Range::Canonical, 0, Q),
            ] {
                let own = written(|out| unpack_t1_ntt::<Private>(&bytes, range, out));
                let ordered = written(|out| unpack_t1_ntt::<Standard>(&bytes, range, out));
                assert!(own.0.iter().all(|&x| low <= x && x < high));
                residues_agree(&standard(&own), &expected);
                residues_agree(&ordered.0, &expected);
            }
            let c = Poly(random.poly(1));
            let mut c_hat = NttPoly::zeroed();
            crate::ring::ntt::ntt(&c, &mut c_hat);
            let c = c.0.map(|x| x as i8);
            let own = written(|out| challenge_ntt::<Standard>(&c, Range::Reduced, out));
            residues_agree(&own.0, &c_hat.0);
        }
    });
}

#[test]
fn products_at_their_largest_operands() {
    fn check<S: Dims>(random: &mut Random) {
        for round in 0..6 {
            let mut entry = |bound: i32| -> [i32; N] {
                match round {
                    0 => [bound - 1; N],
                    1 => [0; N],
                    _ => random
                        .poly(bound / 2)
                        .map(|x| (x + bound / 2).min(bound - 1)),
                }
            };
            let matrix: Vec<_> = (0..S::K * S::TERMS).map(|_| entry(Q)).collect();
            let mut vector = MaybeUninit::<S::Terms<NttPoly>>::uninit();
            for b in S::Terms::elements(&mut vector) {
                b.write(NttPoly(entry(22 * Q)));
            }
            // SAFETY: every element was written.
            let vector = unsafe { vector.assume_init() };
            let mut rows: Vec<_> = (0..S::K * S::TERMS).map(|_| NttPoly::zeroed()).collect();
            for (at, poly) in matrix.iter().enumerate() {
                for n in 0..16 {
                    let place = 16 * (n * S::K * S::TERMS + at);
                    rows[place / N].0[place % N..][..16]
                        .copy_from_slice(&poly[16 * n..16 * n + 16]);
                }
            }
            on_this_cpu!({
                let mut out = MaybeUninit::uninit();
                matrix_product::<S>(Expansion::Wide(&rows), &vector, &mut out);
                let mut of_packed = MaybeUninit::uninit();
                let packed: Vec<_> = rows.iter().map(PackedPoly::from).collect();
                matrix_product::<S>(Expansion::Packed(&packed), &vector, &mut of_packed);
                let out = out.assume_init_ref().as_ref();
                for (wide, packed) in out.iter().zip(of_packed.assume_init_ref().as_ref()) {
                    assert_eq!(wide.0, packed.0);
                }
                let vector = vector.as_ref();
                for (i, out) in out.iter().enumerate() {
                    let row = &matrix[i * S::TERMS..][..S::TERMS];
                    let terms: Vec<_> = row.iter().zip(vector.iter().map(|b| &b.0)).collect();
                    residues_agree(&out.0, &plain_product(&terms));
                    assert!(out.0.iter().all(|x| x.abs() <= Q));

                    // The same row piece by piece, the last term as the cold path
                    // has it: a biased polynomial by a reduced one.
                    let mut sums = RowSums::ZERO;
                    let (split, last) = (S::TERMS / 2, S::L);
                    let entries: Vec<_> = row.iter().map(|a| NttPoly(*a)).collect();
                    sums.add(&entries[..split], vector);
                    sums.add(&entries[split..last], &vector[split..]);
                    let biased = &vector[last];
                    let reduced = NttPoly(row[last].map(|x| x + Q + Q / 4));
                    sums.add(from_ref(biased), from_ref(&reduced));
                    let pieces = written(|out| sums.reduce(out));
                    let mut terms = terms;
                    terms[last] = (&reduced.0, &biased.0);
                    residues_agree(&pieces.0, &plain_product(&terms));
                    assert!(pieces.0.iter().all(|x| x.abs() <= Q));
                }
            });
        }
    }
    let mut random = Random::new(5);
    check::<Dims44>(&mut random);
    check::<Dims65>(&mut random);
    check::<Dims87>(&mut random);
}

#[test]
fn packed_commitments_equal_the_portable_ones() {
    on_this_cpu!({
        let mut random = Random::new(6);
        let mut all = polys(&mut random, Q);
        // The largest w1 everywhere: what the fields are packed from.
        for w in [
            42 * 2 * GAMMA2_88 + 1,
            43 * 2 * GAMMA2_88,
            15 * 2 * GAMMA2_32,
        ] {
            let (mut w_hat, mut scaled) = (NttPoly::zeroed(), NttPoly::zeroed());
            crate::ring::ntt::ntt(&Poly([w; N]), &mut w_hat);
            crate::ring::ntt::row_product(&[w_hat], &[NttPoly([1; N])], &mut scaled);
            all.push(scaled.0);
        }
        for w_hat in all {
            let mut indices: Vec<u8> = (0..random.next() % 40)
                .map(|_| random.next() as u8)
                .collect();
            indices.sort_unstable();
            indices.dedup();
            let plain = NttPoly(w_hat.map(|x| x % Q));
            for (gamma2, len) in [(GAMMA2_88, 192), (GAMMA2_32, 128)] {
                let mut expected = [0; 192];
                (portable::KERNELS.inv_ntt_use_hint)(
                    gamma2,
                    &plain,
                    &indices,
                    &mut expected[..len],
                );
                let masks = hint_masks(&indices);
                let (mut own, mut ordered) = ([0; 192], [0; 192]);
                if gamma2 == GAMMA2_88 {
                    inv_ntt_use_hint::<true, Private>(&private(&w_hat), &masks, &mut own);
                    inv_ntt_use_hint::<true, Standard>(&NttPoly(w_hat), &masks, &mut ordered);
                } else {
                    inv_ntt_use_hint::<false, Private>(&private(&w_hat), &masks, &mut own);
                    inv_ntt_use_hint::<false, Standard>(&NttPoly(w_hat), &masks, &mut ordered);
                }
                assert_eq!(own, expected);
                assert_eq!(ordered, expected);
            }
        }
    });
}

#[test]
fn every_width_of_the_permutation() {
    on_this_cpu!({
        let mut random = Random::new(7);
        let states: [[u64; 25]; 9] =
            core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
        let mut expected = states;
        for state in &mut expected {
            keccak_f1600(state);
        }
        let mut eight = [X8::splat(0); 25];
        for (w, word) in eight.iter_mut().enumerate() {
            let lanes: [i64; 8] = core::array::from_fn(|n| states[n][w] as i64);
            *word = X8(Aligned(lanes).load());
        }
        let mut nine = (eight, states[8]);
        permute_x8(&mut eight);
        permute_x8_and_one(&mut nine.0, &mut nine.1);
        assert_eq!(nine.1, expected[8]);
        for w in 0..25 {
            for words in [eight[w], nine.0[w]] {
                let mut lanes = Aligned([0u64; 8]);
                _mm512_store_si512((&raw mut lanes).cast(), words.0);
                assert_eq!(lanes.0, core::array::from_fn(|n| expected[n][w]));
            }
        }
        let mut four: [X4; 25] = core::array::from_fn(|w| {
            X4::new(_mm256_set_epi64x(
                states[3][w] as i64,
                states[2][w] as i64,
                states[1][w] as i64,
                states[0][w] as i64,
            ))
        });
        permute_x4(&mut four);
        for w in 0..25 {
            let mut lanes = [0u64; 4];
            _mm256_storeu_si256(lanes.as_mut_ptr().cast(), four[w].register());
            assert_eq!(lanes, core::array::from_fn(|n| expected[n][w]));
        }
        for (mut one, expected) in states.into_iter().zip(expected) {
            permute_x1(&mut one);
            assert_eq!(one, expected);
        }
    });
}

/// States whose first blocks hold nothing that is accepted: those lanes need a
/// sixth and a seventh SHAKE128 block, their neighbours do not. A ninth state, in
/// scalar registers, is not permuted then: it gets four permutations.
#[test]
fn rejection_that_reaches_the_sixth_block() {
    on_this_cpu!({
        let mut random = Random::new(8);
        let data: [Block; 9] = core::array::from_fn(|n| [n as u8 + 1; _]);
        let patterns = [0u8, 1, 0x80, 0x55, 0xfe, 0xff];
        let ninths = [(8, 0), (8, 9), (7, 0), (7, 1), (7, 4), (7, 9), (1, 9)];
        for (pattern, (busy, hashed)) in patterns
            .into_iter()
            .flat_map(|pattern| ninths.map(|ninth| (pattern, ninth)))
        {
            let mut states: [[u64; 25]; 8] =
                core::array::from_fn(|_| core::array::from_fn(|_| random.next()));
            for (n, state) in states.iter_mut().enumerate() {
                if pattern >> n & 1 == 1 {
                    state[..21].fill(u64::MAX);
                }
            }
            let mut lanes = [X8::splat(0); 25];
            for (w, word) in lanes.iter_mut().enumerate() {
                let words: [i64; 8] = core::array::from_fn(|n| states[n][w] as i64);
                *word = X8(Aligned(words).load());
            }
            let mut polys = [const { NttPoly::ZEROED }; 8];
            let mut stream = Stream::ZERO;
            let mut interleaved = InterleavedHash::blocks(states[0], &data[..hashed]);
            let mut hash = states[0];
            for block in &data[..hashed.min(4)] {
                for (word, bytes) in hash.iter_mut().zip(block.as_chunks().0) {
                    *word ^= u64::from_le_bytes(*bytes);
                }
                keccak_f1600(&mut hash);
            }
            let polys = &mut polys[..busy];
            stream.fill(&mut lanes, polys, &mut interleaved);
            let left = RATE * hashed.saturating_sub(4);
            assert_eq!(interleaved.state(), (&hash, left), "{busy} {hashed}");
            for (n, (poly, state)) in polys.iter().zip(&mut states).enumerate() {
                let (expected, blocks) = filled_plainly(state);
                assert_eq!(poly.0, expected, "lane {n} of {pattern:#x}");
                assert_eq!(blocks > 5, pattern >> n & 1 == 1);
            }
        }
    });
}

/// Around 16 and a half and 17 and a half vectors, where the kernel decides whether it
/// has enough: every number of rejected candidates, at the front, at the end, spread
/// and where the two parts meet.
#[test]
fn rejection_at_the_ends_of_what_is_looked_at() {
    on_this_cpu!({
        let mut random = Random::new(10);
        for refused in 0..30 {
            for place in 0..4 {
                let mut bytes = [0; 840];
                for candidate in bytes.as_chunks_mut::<3>().0 {
                    *candidate = [random.next() as u8, random.next() as u8, 0x7e];
                }
                for n in 0..refused {
                    let at = [n, 279 - n, 280 * n / refused, 153 + n][place];
                    bytes[3 * at..3 * at + 3].fill(0xff);
                }
                // After them only candidates that would be accepted.
                let part = |of: &[u8]| {
                    let mut part = [0; 576];
                    part[..of.len()].copy_from_slice(of);
                    part
                };
                let mut out = [0; N];
                let filled = accept_first(&part(&bytes[..504]), &mut out);
                let filled = accept_last(&part(&bytes[504..]), &mut out, filled);
                let mut expected = [0; N];
                assert_eq!(filled, rej_ntt_block_vartime(&bytes, &mut expected, 0));
                assert_eq!(filled, N.min(280 - refused));
                assert_eq!(out[..filled], expected[..filled], "{refused} {place}");
            }
        }
    });
}

#[test]
fn hashes_in_lanes() {
    if detect().is_some() {
        // SAFETY: `detect` found every feature.
        hashes_equal_single_ones(unsafe { Avx512::here() });
    }
}
