//! Sampling in streams and in loops.

use super::*;
use crate::memory::array::Zeroed;

#[test]
fn candidates_are_the_same_in_a_loop() {
    let words = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, u64::MAX / 3];
    let mut out = [0; 8];
    candidates_in_a_loop(words, &mut out);
    assert_eq!(out, eight_candidates(words));
}

#[cfg(feature = "unstable-internals")]
#[test]
fn streamed_forms_are_the_packed_polynomials() {
    for nonce in 0..20 {
        for eta in [2, 4] {
            let len = if eta == 2 { 96 } else { 128 };
            let mut s = Poly::zeroed();
            rej_bounded_poly(Permutation::PORTABLE, eta, &[3; 64], nonce, &mut s);
            let mut expected = [0; 128];
            pack::pack_eta(eta, &s, &mut expected[..len]);
            let mut packed = [0; 128];
            rej_bounded_packed(
                Permutation::PORTABLE,
                eta,
                &[3; 64],
                nonce,
                &mut packed[..len],
            );
            assert_eq!(packed, expected);
        }
        for bits in [17, 19] {
            let mut packed = [0; 640];
            let packed = &mut packed[..32 * (1 + bits as usize)];
            expand_mask_packed(Permutation::PORTABLE, &[5; 64], nonce, packed);
            let (mut expected, mut y) = (Poly::zeroed(), Poly::zeroed());
            pack::unpack_z(bits, packed, &mut expected);
            expand_mask_poly(Permutation::PORTABLE, &[5; 64], nonce, bits, &mut y.0);
            assert_eq!(y.0, expected.0);
        }
    }
}

#[test]
fn three_bytes_over_every_24_bit_word() {
    for word in 0..1u32 << 24 {
        let [a, b, c, _] = word.to_le_bytes();
        let z = (word & 0x7f_ffff) as i32;
        assert_eq!(
            coeff_from_three_bytes_vartime([a, b, c]),
            (z < Q).then_some(z)
        );
    }
}

#[test]
fn half_bytes_follow_the_standard() {
    for b in 0..16 {
        for (eta, wanted) in [
            (2, (b < 15).then(|| 2 - b % 5)),
            (4, (b < 9).then(|| 4 - b)),
        ] {
            let (accepted, value) = coeff_from_half_byte(eta, b);
            assert_eq!(accepted.then_some(value), wanted);
        }
    }
}

#[test]
fn streamed_matrix_entries_equal_whole_ones() {
    for (s, r) in [(0, 0), (6, 7), (3, 1)] {
        let mut whole = NttPoly::zeroed();
        rej_ntt_poly_vartime(Permutation::PORTABLE, &[9; 32], s, r, &mut whole);
        let mut n = 0;
        rej_ntt_poly_each_vartime(Permutation::PORTABLE, &[9; 32], s, r, |some| {
            for a in some.iter().zip(&whole.0[n..]) {
                assert_eq!(a.0, a.1);
                n += 1;
            }
            n < N
        });
        assert_eq!(n, N);
    }
}

#[test]
fn challenges_from_a_block_and_from_a_longer_stream() {
    for tau in [39, 49, 60] {
        for seed in 0..50u8 {
            let mut block = [0; 136];
            Shake256::digest(Permutation::PORTABLE, &[&[seed; 48]], &mut block);
            let plain = Challenge::sample_in_ball_vartime(Permutation::PORTABLE, tau, &[seed; 48]);
            let from_block = Challenge::from_block(tau, &block).expect("chance");
            assert_eq!(from_block.0, plain.0);
        }
        // Rejected positions first, so that one block is too short.
        let mut stream = [0xff; 8 + 120 + 256];
        for (n, byte) in stream[128..].iter_mut().enumerate() {
            *byte = n as u8 ^ 0x35;
        }
        let mut short = [0; 136];
        short.copy_from_slice(&stream[..136]);
        assert!(Challenge::from_block(tau, &short).is_none());
        let mut c = Challenge([0; N]);
        let mut bytes = stream.iter();
        c.fill(tau, || bytes.next().copied()).expect("long enough");
        assert_eq!(c.0.iter().filter(|c| c.abs() == 1).count(), tau);
    }
}

#[test]
fn challenges_have_tau_signs() {
    for tau in [39, 49, 60] {
        for seed in 0..50u8 {
            let c = Challenge::sample_in_ball_vartime(Permutation::PORTABLE, tau, &[seed; 32]);
            assert_eq!(c.0.iter().filter(|c| c.abs() == 1).count(), tau);
            assert_eq!(c.0.iter().filter(|&&c| c == 0).count(), N - tau);
        }
    }
}
