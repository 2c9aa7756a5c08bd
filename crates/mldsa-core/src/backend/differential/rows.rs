//! Arithmetic of every backend against the portable one: transforms, products, and the rows of
//! signing and of keys.

use core::slice::from_ref;
use std::vec::Vec;

use crate::backend::Backend;
use crate::backend::kernels::Kernels;
use crate::memory::array::Zeroed;
use crate::params::{GAMMA2_32, GAMMA2_88, N, Q, T0_POLY_LEN, T1_POLY_LEN};
use crate::random::Random;
use crate::ring::poly::{NttPoly, Poly};
use crate::ring::rounding::low_bits;

/// The same residues within the bound of NTT forms.
fn congruent(out: &NttPoly, expected: &NttPoly, bound: i32, backend: Backend) {
    for (&a, &b) in out.0.iter().zip(&expected.0) {
        assert_eq!(a.rem_euclid(Q), b.rem_euclid(Q), "{backend:?}");
        assert!(a.abs() < bound, "{backend:?}: {a}");
    }
}

/// Random coefficients, and in the first rounds extreme ones: `low..=high`.
fn poly(random: &mut Random, round: u32, low: i32, high: i32) -> [i32; N] {
    match round {
        0 => [high; N],
        1 => [low; N],
        2 => core::array::from_fn(|n| if n % 2 == 0 { high } else { low }),
        3 => core::array::from_fn(|n| if n < N / 2 { high } else { low }),
        _ => core::array::from_fn(|_| {
            let (low, high) = (i64::from(low), i64::from(high));
            (low + (random.next() >> 1) as i64 % (high - low + 1)) as i32
        }),
    }
}

fn symmetric(random: &mut Random, round: u32, bound: i32) -> [i32; N] {
    poly(random, round, -bound, bound)
}

/// The largest NTT form that an entry takes.
const NTT_BOUND: i32 = 11 * Q - 1;

/// The transforms and products, on random and on extreme operands.
#[test]
fn arithmetic() {
    let mut random = Random::new(11);
    let portable = Backend::PORTABLE.kernels();
    for backend in Backend::available().skip(1) {
        let kernels = backend.kernels();
        for round in 0..60 {
            let mut poly = |bound| symmetric(&mut random, round, bound);
            let (mut out, mut expected) = (NttPoly::zeroed(), NttPoly::zeroed());
            for bound in [1, 1 << 19, Q, i32::MAX - 10 * Q] {
                let a = Poly(poly(bound));
                (kernels.ntt)(&a, &mut out);
                (portable.ntt)(&a, &mut expected);
                congruent(&out, &expected, bound + 10 * Q, backend);
            }

            let a: [NttPoly; 8] = core::array::from_fn(|_| NttPoly(poly(Q - 1)));
            let b: [NttPoly; 8] = core::array::from_fn(|_| NttPoly(poly(NTT_BOUND)));
            for terms in [1, 4, 5, 6, 7, 8] {
                (kernels.row_product)(&a[..terms], &b[..terms], &mut out);
                (portable.row_product)(&a[..terms], &b[..terms], &mut expected);
                congruent(&out, &expected, Q, backend);
            }

            let (mut w, mut expected) = (Poly::zeroed(), Poly::zeroed());
            (kernels.inv_ntt)(&a[0], &mut w);
            (portable.inv_ntt)(&a[0], &mut expected);
            congruent(&NttPoly(w.0), &NttPoly(expected.0), Q, backend);
            (kernels.product_inv_ntt)(&b[0], &b[2], &mut w);
            (portable.product_inv_ntt)(&b[0], &b[2], &mut expected);
            assert_eq!(w.0, expected.0, "{backend:?}");
            for (gamma2, len) in [(GAMMA2_88, 192), (GAMMA2_32, 128)] {
                let (mut w1, mut expected_w1) = ([0; 192], [0; 192]);
                let hint = [0, 3, 77, 200, 255];
                (kernels.inv_ntt_use_hint)(gamma2, &a[0], &hint, &mut w1[..len]);
                (portable.inv_ntt_use_hint)(gamma2, &a[0], &hint, &mut expected_w1[..len]);
                assert_eq!(w1, expected_w1, "{backend:?}");
            }
        }
    }
}

/// Two NTT forms whose product has the given coefficients: theirs, and that of 1.
fn factors(coefficients: &[i32; N]) -> (NttPoly, NttPoly) {
    let mut hat = NttPoly::zeroed();
    (Backend::PORTABLE.kernels().ntt)(&Poly(*coefficients), &mut hat);
    (hat, NttPoly([1; N]))
}

/// The rows of signing: random operands, then products of chosen coefficients, so
/// that norms are met exactly, one coefficient beyond at every place.
#[test]
fn rows_of_signing() {
    let mut random = Random::new(13);
    let portable = Backend::PORTABLE.kernels();
    for backend in Backend::available().skip(1) {
        let kernels = backend.kernels();
        for (gamma2, w1_len, l, gamma1_bits, beta) in [
            (GAMMA2_88, 192, 4, 17, 78),
            (GAMMA2_32, 128, 5, 19, 196),
            (GAMMA2_32, 128, 7, 19, 120),
        ] {
            for round in 0..40 {
                let a: [NttPoly; 7] =
                    core::array::from_fn(|_| NttPoly(poly(&mut random, round, 0, Q - 1)));
                let b: [NttPoly; 7] =
                    core::array::from_fn(|_| NttPoly(symmetric(&mut random, round, NTT_BOUND)));
                let (mut w, mut expected_w) = (Poly::zeroed(), Poly::zeroed());
                let (mut w1, mut expected_w1) = ([0; 192], [0; 192]);
                let (w1, expected_w1) = (&mut w1[..w1_len], &mut expected_w1[..w1_len]);
                (kernels.commit_row)(gamma2, &a[..l], &b[..l], &mut w, w1);
                (portable.commit_row)(gamma2, &a[..l], &b[..l], &mut expected_w, expected_w1);
                assert_eq!((w.0, w1), (expected_w.0, expected_w1), "{backend:?}");
            }
            let respond = |c: &NttPoly, s1: &NttPoly, y: &NttPoly| {
                let (mut z, mut expected) = ([0; 640], [0; 640]);
                let len = 32 * (gamma1_bits as usize + 1);
                let bound = (1 << gamma1_bits) - beta;
                let (z, expected) = (&mut z[..len], &mut expected[..len]);
                let within = (kernels.respond_row)(gamma1_bits, bound, c, s1, y, z);
                let verdict = (portable.respond_row)(gamma1_bits, bound, c, s1, y, expected);
                assert_eq!(within, verdict, "{backend:?}");
                if verdict {
                    assert_eq!(z, expected, "{backend:?}");
                }
                within
            };
            let low_bits = |c: &NttPoly, s2: &NttPoly, w: &[i32; N]| {
                let (mut out, mut expected) = (Poly(*w), Poly(*w));
                let within = (kernels.low_bits_row)(gamma2, gamma2 - beta, c, s2, &mut out);
                let verdict = (portable.low_bits_row)(gamma2, gamma2 - beta, c, s2, &mut expected);
                assert_eq!((within, out.0), (verdict, expected.0), "{backend:?}");
                within
            };
            let hint = |c: &NttPoly, t0: &NttPoly, w: &[i32; N]| {
                let (mut bitmap, mut expected) = ([0x5a; 32], [0xa5; 32]);
                let within = (kernels.hint_row)(gamma2, c, t0, &Poly(*w), &mut bitmap);
                let verdict = (portable.hint_row)(gamma2, c, t0, &Poly(*w), &mut expected);
                assert_eq!((within, bitmap), (verdict, expected), "{backend:?}");
                within
            };
            // The ranges of these inputs are not limited to those of valid signatures.
            for round in 0..20 {
                let mut hat = || NttPoly(symmetric(&mut random, round, NTT_BOUND));
                let (c, s, y) = (hat(), hat(), hat());
                let w = poly(&mut random, round, 0, Q - 1);
                respond(&c, &s, &y);
                low_bits(&c, &s, &w);
                hint(&c, &s, &w);
            }
            let zero = NttPoly([0; N]);
            let edge = (1 << gamma1_bits) - beta;
            for n in 0..N {
                let small = symmetric(&mut random, 5, edge - 1);
                for (value, within) in [
                    (edge - 1, true),
                    (edge, false),
                    (1 - edge, true),
                    (-edge, false),
                ] {
                    let mut z = small;
                    z[n] = value;
                    let (c, s) = factors(&z);
                    assert_eq!(respond(&c, &s, &zero), within);
                    assert_eq!(respond(&zero, &zero, &c), within);
                }
                let edge = gamma2 - beta;
                for (value, within) in [
                    (edge - 1, true),
                    (edge, false),
                    (1 - edge, true),
                    (-edge, false),
                ] {
                    // Low bits 0 less the product.
                    let mut cs2 = [0; N];
                    cs2[n] = value;
                    let (c, s) = factors(&cs2);
                    let multiple = 2 * gamma2 * (n as i32 % 15);
                    assert_eq!(low_bits(&c, &s, &[multiple; N]), within);
                }
                for (value, within) in [
                    (gamma2 - 1, true),
                    (gamma2, false),
                    (1 - gamma2, true),
                    (-gamma2, false),
                ] {
                    let mut ct0 = small.map(|z| z % (gamma2 - 1));
                    ct0[n] = value;
                    let (c, t) = factors(&ct0);
                    let w = poly(&mut random, 5, 0, Q - 1);
                    assert_eq!(hint(&c, &t, &w), within);
                }
            }
        }
    }
}

/// Every residue passes through the rows that round.
#[test]
fn rounding_over_all_of_z_q() {
    let portable = Backend::PORTABLE.kernels();
    for backend in Backend::available().skip(1) {
        let kernels = backend.kernels();
        let zero = NttPoly([0; N]);
        for gamma2 in [GAMMA2_88, GAMMA2_32] {
            let (edge, one) = (symmetric(&mut Random::new(3), 5, gamma2 - 1), 1);
            let (c, t) = factors(&edge);
            for first in (0..Q).step_by(N) {
                let w: [i32; N] = core::array::from_fn(|n| (first + n as i32).min(Q - one));
                let (mut out, mut expected) = ([0; 32], [0; 32]);
                let within = (kernels.hint_row)(gamma2, &c, &t, &Poly(w), &mut out);
                (portable.hint_row)(gamma2, &c, &t, &Poly(w), &mut expected);
                assert_eq!((within, out), (true, expected), "{backend:?} {first}");
                // The largest low bits of 256 neighbours tell where a verdict changes.
                let largest = w.map(|w| low_bits(gamma2, w).abs()).into_iter().max();
                let bound = largest.unwrap_or(0);
                for (bound, verdict) in [(bound, false), (bound + 1, true)] {
                    let mut out = Poly(w);
                    let within = (kernels.low_bits_row)(gamma2, bound, &zero, &zero, &mut out);
                    assert_eq!((within, out.0), (verdict, w), "{backend:?} {first}");
                }
            }
        }
    }
}

/// Every residue through UseHint, with a hint and without.
#[test]
fn hints_over_all_of_z_q() {
    let portable = Backend::PORTABLE.kernels();
    let some = |n: &u8| 0x5ac3 >> (n % 16) & 1 == 1;
    let (hinted, others): (Vec<u8>, Vec<u8>) = (0..=u8::MAX).partition(some);
    for (gamma2, len) in [(GAMMA2_88, 192), (GAMMA2_32, 128)] {
        for first in (0..Q).step_by(N) {
            let (w, one) = factors(&core::array::from_fn(|n| (first + n as i32).min(Q - 1)));
            let mut w_hat = NttPoly::zeroed();
            (portable.row_product)(from_ref(&w), from_ref(&one), &mut w_hat);
            for hint in [&hinted, &others] {
                let w1 = |backend: Backend| {
                    let mut w1 = [0; 192];
                    (backend.kernels().inv_ntt_use_hint)(gamma2, &w_hat, hint, &mut w1[..len]);
                    w1
                };
                let expected = w1(Backend::PORTABLE);
                for backend in Backend::available().skip(1) {
                    assert_eq!(w1(backend), expected, "{backend:?} {first}");
                }
            }
        }
    }
}

/// The rows of key generation and of keys that are unpacked.
#[test]
fn rows_of_keys() {
    let mut random = Random::new(14);
    let portable = Backend::PORTABLE.kernels();
    for backend in Backend::available().skip(1) {
        let kernels = backend.kernels();
        for (eta, l, len) in [(2, 4, 96), (4, 5, 128), (2, 7, 96)] {
            for round in 0..40 {
                let s = Poly(symmetric(&mut random, round, eta));
                let (mut packed, mut expected) = ([0; 128], [0; 128]);
                let packed = &mut packed[..len];
                (kernels.pack_eta)(eta, &s, packed);
                (portable.pack_eta)(eta, &s, &mut expected[..len]);
                assert_eq!(packed, &expected[..len], "{backend:?}");

                let (mut hat, mut expected) = (NttPoly::zeroed(), NttPoly::zeroed());
                assert!((kernels.unpack_eta_ntt)(eta, packed, &mut hat));
                (portable.unpack_eta_ntt)(eta, packed, &mut expected);
                congruent(&hat, &expected, 11 * Q, backend);
                let t0: [u8; T0_POLY_LEN] = match round {
                    0 => [0; T0_POLY_LEN],
                    1 => [0xff; T0_POLY_LEN],
                    _ => core::array::from_fn(|_| random.next() as u8),
                };
                (kernels.unpack_t0_ntt)(&t0, &mut hat);
                (portable.unpack_t0_ntt)(&t0, &mut expected);
                congruent(&hat, &expected, 11 * Q, backend);

                let a: [NttPoly; 7] =
                    core::array::from_fn(|_| NttPoly(poly(&mut random, round, 0, Q - 1)));
                let b: [NttPoly; 7] =
                    core::array::from_fn(|_| NttPoly(symmetric(&mut random, round, NTT_BOUND)));
                let row = |kernels: &Kernels| {
                    let (mut t1, mut t0) = ([0; T1_POLY_LEN], [0; T0_POLY_LEN]);
                    (kernels.public_row)(eta, &a[..l], &b[..l], packed, &mut t1, &mut t0);
                    (t1, t0)
                };
                assert_eq!(row(kernels), row(portable), "{backend:?}");
            }
            // Every residue through Power2Round: s2 is zero.
            let mut zeros = [0; 128];
            (portable.pack_eta)(eta, &Poly([0; N]), &mut zeros[..len]);
            for first in (0..Q).step_by(N) {
                let (t, one) = factors(&core::array::from_fn(|n| (first + n as i32).min(Q - 1)));
                let row = |kernels: &Kernels| {
                    let (mut t1, mut t0) = ([0; T1_POLY_LEN], [0; T0_POLY_LEN]);
                    let (t, one) = (from_ref(&t), from_ref(&one));
                    (kernels.public_row)(eta, one, t, &zeros[..len], &mut t1, &mut t0);
                    (t1, t0)
                };
                assert_eq!(row(kernels), row(portable), "{backend:?} {first}");
            }
            // One code word out of range, at every place.
            for n in 0..N {
                for code in 0..1 << (len / 32) {
                    let mut packed = [0; 128];
                    let s = Poly(symmetric(&mut random, 5, eta));
                    (portable.pack_eta)(eta, &s, &mut packed[..len]);
                    for bit in 0..len / 32 {
                        let at = n * (len / 32) + bit;
                        packed[at / 8] &= !(1 << (at % 8));
                        packed[at / 8] |= (code >> bit & 1) << (at % 8);
                    }
                    let mut hat = NttPoly::zeroed();
                    let in_range = (kernels.unpack_eta_ntt)(eta, &packed[..len], &mut hat);
                    assert_eq!(
                        in_range,
                        i32::from(code) <= 2 * eta,
                        "{backend:?} {n} {code}"
                    );
                }
            }
        }
    }
}

/// Masks in any number, with counters that wrap.
#[test]
fn masks() {
    let mut random = Random::new(15);
    for backend in Backend::available().skip(1) {
        for (count, len) in [(1, 576), (4, 576), (8, 576), (5, 640), (7, 640), (11, 640)] {
            for kappa in [0u16, 3, 250, 0x1234, 65_533] {
                let rho_pp: [[u8; 64]; 3] =
                    core::array::from_fn(|_| core::array::from_fn(|_| random.next() as u8));
                // Of one seed after the other, and mixed.
                let seeds: Vec<_> = (0..count)
                    .map(|n| (&rho_pp[if kappa == 0 { 0 } else { n % 3 }], n))
                    .map(|(rho_pp, n)| (rho_pp, kappa.wrapping_add(n as u16)))
                    .collect();
                let masks = |backend: Backend| {
                    // Bytes after the output must not change.
                    let mut out = std::vec![7; count * len + 100];
                    (backend.kernels().expand_masks)(&seeds, len, &mut out[..count * len]);
                    out
                };
                let (out, expected) = (masks(backend), masks(Backend::PORTABLE));
                assert!(out == expected, "{backend:?} {count} {len} {kappa}");
                let (mut hat, mut expected) = (NttPoly::zeroed(), NttPoly::zeroed());
                let gamma1_bits = len as u32 / 32 - 1;
                for mask in [&out[..len], &[0; 640][..len], &[0xff; 640][..len]] {
                    (backend.kernels().unpack_mask_ntt)(gamma1_bits, mask, &mut hat);
                    (Backend::PORTABLE.kernels().unpack_mask_ntt)(gamma1_bits, mask, &mut expected);
                    congruent(&hat, &expected, 11 * Q, backend);
                }
            }
        }
    }
}
