//! Packing of every width.

use super::*;
use crate::memory::array::Element;
use crate::params::N;

/// Algorithm 17 to the letter: bit n*width+i of the output is bit i of value n.
fn plain_pack(values: impl Iterator<Item = i32>, width: usize) -> [u8; 736] {
    let mut out = [0u8; 736];
    for (n, value) in values.enumerate() {
        for i in 0..width {
            let bit = n * width + i;
            out[bit / 8] |= (((value >> i) & 1) as u8) << (bit % 8);
        }
    }
    out
}

pub(crate) fn check(
    width: usize,
    low: i32,
    high: i32,
    offset: impl Fn(i32) -> i32,
    pack: impl Fn(&Poly, &mut [u8]),
    unpack: impl Fn(&[u8], &mut Poly),
) {
    // Every value of the range passes through every position.
    let span = (high - low + 1) as usize;
    for round in 0..span.div_ceil(N) + 1 {
        let w = Poly(core::array::from_fn(|n| {
            low + ((n + round * N) % span) as i32
        }));
        let mut bytes = [0u8; 736];
        pack(&w, &mut bytes[..32 * width]);
        assert_eq!(bytes, plain_pack(w.0.iter().map(|&a| offset(a)), width));
        let mut back = Poly::ZERO;
        unpack(&bytes[..32 * width], &mut back);
        assert_eq!(back.0, w.0);
    }
}

#[test]
fn every_width_packs_bit_by_bit_and_unpacks() {
    check(
        10,
        0,
        1023,
        |a| a,
        |w, out| pack_t1(w, out.try_into().unwrap()),
        |bytes, w| {
            unpack_t1_2d(bytes, w);
            w.0 = w.0.map(|a| a >> D);
        },
    );
    check(
        10,
        0,
        1023,
        |a| a,
        |w, out| pack_t1_part(&w.0, out),
        |bytes, w| unpack_t1_part(bytes, &mut w.0),
    );
    check(
        23,
        Q - 5000,
        Q - 1,
        |a| a,
        |w, out| pack_compact(&w.0, out),
        |bytes, w| unpack_compact(bytes, &mut w.0),
    );
    check(
        13,
        -4095,
        4096,
        |a| 4096 - a,
        |w, out| pack_t0(w, out.try_into().unwrap()),
        unpack_t0,
    );
    check(
        3,
        -2,
        2,
        |a| 2 - a,
        |w, out| pack_eta(2, w, out),
        |b, w| assert!(unpack_eta(2, b, w)),
    );
    check(
        4,
        -4,
        4,
        |a| 4 - a,
        |w, out| pack_eta(4, w, out),
        |b, w| assert!(unpack_eta(4, b, w)),
    );
    for bits in [17, 19] {
        let gamma1 = 1 << bits;
        check(
            bits as usize + 1,
            1 - gamma1,
            gamma1,
            |a| gamma1 - a,
            |w, out| pack_z(bits, w, out),
            |b, w| unpack_z(bits, b, w),
        );
    }
}

#[test]
fn low_parts_with_flags_pack_and_unpack_over_their_range() {
    for gamma2 in [GAMMA2_88, GAMMA2_32] {
        let bits = low_part_bits(gamma2);
        for first in (-2 * gamma2..=2 * gamma2 + 1 - N as i32).step_by(N - 1) {
            let w: [i32; N] = core::array::from_fn(|n| first + n as i32);
            let mut bytes = [0u8; 640];
            pack_low(gamma2, &w, &mut bytes[..32 * bits]);
            let mut back = [0; N];
            unpack_low(gamma2, &bytes[..32 * bits], &mut back);
            assert_eq!(back, w);
        }
    }
}

#[test]
fn a_part_is_the_same_bytes_as_in_the_whole_row() {
    let z = Poly(core::array::from_fn(|n| n as i32 * 503 - 64_000));
    for bits in [17u32, 19] {
        let width = bits as usize + 1;
        let mut row = [0u8; 640];
        let row = &mut row[..32 * width];
        pack_z(bits, &z, row);
        let mut other = [0u8; 640];
        let other = &mut other[..32 * width];
        for n in (0..N).step_by(GROUP) {
            let mut group = [0; GROUP];
            unpack_z_part(bits, part(row, width, n, GROUP), &mut group);
            assert_eq!(group, z.0[n..n + GROUP]);
            pack_z_part(bits, &group, part_mut(other, width, n, GROUP));
        }
        assert_eq!(row, other);
        assert_eq!(part(row, width, N, GROUP), [0u8; 0]);
        assert_eq!(part_mut(other, width, N, GROUP), [0u8; 0]);
    }
}

#[test]
fn secret_code_words_out_of_range_are_reported_at_every_place() {
    for (eta, width) in [(2, 3), (4, 4)] {
        for n in 0..N {
            for code in 0..1 << width {
                let values = (0..N).map(|m| if m == n { code } else { eta });
                let bytes = plain_pack(values, width);
                let mut s = Poly::ZERO;
                assert_eq!(
                    unpack_eta(eta, &bytes[..32 * width], &mut s),
                    code <= 2 * eta
                );
            }
        }
    }
}

#[test]
fn full_form_rejects_what_is_not_reduced() {
    let mut w = Poly(core::array::from_fn(|n| (n as i32 * 32_767) % Q));
    for (n, value, verdict) in [
        (0, Q - 1, true),
        (255, Q, false),
        (7, (1 << 24) - 1, false),
        (9, 0, true),
    ] {
        let kept = core::mem::replace(&mut w.0[n], value);
        let mut bytes = [0; FULL_POLY_LEN];
        pack_full(&w.0, &mut bytes);
        assert_eq!(bytes[3 * n..3 * n + 3], value.to_le_bytes()[..3]);
        let mut back = Poly::ZERO;
        assert_eq!(unpack_full(&bytes, &mut back.0), verdict);
        assert_eq!(back.0, w.0);
        w.0[n] = kept;
    }
}

#[test]
fn loops_for_every_width_are_those_of_each() {
    let w: [i32; 256] = core::array::from_fn(|n| (n as i32 * 40_503) % (1 << 17));
    let (mut bytes, mut any) = ([0; 640], [0; 640]);
    bit_pack::<18>(&w, &mut bytes, |a| (1 << 17) - a);
    pack_any(18, &w, &mut any, &|a| (1 << 17) - a);
    assert_eq!(any, bytes);
    let mut back = [0; 256];
    assert!(unpack_any(18, 1 << 17, &any[..576], &mut back) >= 0);
    assert_eq!(back, w);
    pack_any(23, &w, &mut bytes[..96], &|a| a);
    unpack_plain(23, &bytes[..96], &mut back[..33]);
    assert_eq!(back[..33], w[..33]);
    // The codes 5, 6 and 7 are not those of coefficients of s1.
    for code in 0..8 {
        let sign = unpack_any(3, 2, &[code, 0, 0], &mut back[..8]);
        assert_eq!(sign < 0, code > 4);
    }
}
