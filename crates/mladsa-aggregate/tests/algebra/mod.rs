//! Computations of an attacker on published polynomials.
#![allow(unreachable_pub, dead_code, reason = "a module of several programs")]

use mladsa_aggregate::steps::Message;
use mldsa_core::internals::ntt::{inv_ntt, ntt};
use mldsa_core::internals::pack::{FULL_POLY_LEN, unpack_full, unpack_signed};
use mldsa_core::internals::sample::Challenge as Ball;
use mldsa_core::internals::vectors;
use mldsa_core::internals::{Element, N, NttPoly, Params, Poly, Q};
use mldsa_core::{Backend, MlDsa87, ParameterSet};

pub const P: &Params = &MlDsa87::PARAMS;
pub const K: usize = MlDsa87::K;
pub const L: usize = MlDsa87::L;

/// `s2 = t - (A z - w) / c`, for each coefficient of the transform.
pub fn s2_from(
    a_hat: &[NttPoly],
    c_hat: &NttPoly,
    t: &[Poly],
    w: &[Poly],
    z: &[Poly],
) -> Vec<Poly> {
    let az = product(a_hat, z, &polys(K));
    t.iter()
        .zip(w)
        .zip(&az)
        .map(|((t, w), az)| {
            let difference = Poly(core::array::from_fn(|n| az.0[n] - w.0[n]));
            let (t_hat, d_hat) = (transform(t), transform(&difference));
            inverse(&NttPoly(core::array::from_fn(|n| {
                let quotient = mul(d_hat.0[n], invert(c_hat.0[n]));
                reduce(i64::from(t_hat.0[n]) - i64::from(quotient))
            })))
        })
        .collect()
}

/// s1 from `A s1 = t - s2`: 256 systems of 8 equations in 7 unknowns.
pub fn solve(a_hat: &[NttPoly], t: &[Poly], s2: &[Poly]) -> Vec<Poly> {
    let right: Vec<NttPoly> = t
        .iter()
        .zip(s2)
        .map(|(t, s2)| transform(&Poly(core::array::from_fn(|n| t.0[n] - s2.0[n]))))
        .collect();
    let mut s1_hat = ntt_polys(L);
    for n in 0..N {
        let mut rows: Vec<[i32; L + 1]> = (0..K)
            .map(|i| {
                core::array::from_fn(|j| {
                    if j < L {
                        a_hat[i * L + j].0[n]
                    } else {
                        right[i].0[n]
                    }
                })
            })
            .collect();
        for j in 0..L {
            let pivot = (j..K).find(|&i| rows[i][j] != 0).expect("A has full rank");
            rows.swap(j, pivot);
            let scale = invert(rows[j][j]);
            rows[j] = rows[j].map(|a| mul(a, scale));
            let row = rows[j];
            for (i, other) in rows.iter_mut().enumerate() {
                let factor = other[j];
                if i != j {
                    for (a, &b) in other.iter_mut().zip(&row) {
                        *a = reduce(i64::from(*a) - i64::from(mul(factor, b)));
                    }
                }
            }
        }
        for (s1_hat, row) in s1_hat.iter_mut().zip(&rows) {
            s1_hat.0[n] = row[L];
        }
    }
    s1_hat.iter().map(inverse).collect()
}

/// `t - A s1`, centred.
pub fn rest(a_hat: &[NttPoly], s1: &[Poly], t: &[Poly]) -> Vec<Poly> {
    product(a_hat, s1, &polys(K))
        .iter()
        .zip(t)
        .map(|(a, t)| Poly(core::array::from_fn(|n| centre(t.0[n] - a.0[n]))))
        .collect()
}

pub fn is_key(a_hat: &[NttPoly], s1: &[Poly], s2: &[Poly], t: &[Poly]) -> bool {
    rest(a_hat, s1, t).iter().zip(s2).all(|(a, b)| a.0 == b.0)
}

pub fn assert_small(s1: &[Poly], s2: &[Poly]) {
    assert!(vectors::norm(s1) <= 2 && vectors::norm(s2) <= 2);
}

/// `A x + add`.
pub fn product(a_hat: &[NttPoly], x: &[Poly], add: &[Poly]) -> Vec<Poly> {
    let mut x_hat = ntt_polys(L);
    vectors::ntt(Backend::detect(), x, &mut x_hat);
    let mut out = polys(K);
    vectors::full_t(Backend::detect(), a_hat, &x_hat, add, &mut out);
    out
}

pub fn matrix(rho: &[u8; 32]) -> Vec<NttPoly> {
    let mut a_hat = ntt_polys(K * L);
    vectors::expand_a(Backend::detect(), P, rho, &mut a_hat);
    a_hat
}

pub fn challenge_of(c_tilde: &[u8; 64]) -> NttPoly {
    let mut c = Poly::ZERO;
    Ball::sample_in_ball_vartime(Backend::PORTABLE.permutation(), P.tau, c_tilde).to_poly(&mut c);
    transform(&c)
}

/// The transform with coefficients in [0, q).
pub fn transform(a: &Poly) -> NttPoly {
    let mut out = NttPoly::ZERO;
    ntt(a, &mut out);
    out.0 = out.0.map(|a| a.rem_euclid(Q));
    out
}

/// The centred inverse transform, without the factor 2^32 of the core's products.
pub fn inverse(a: &NttPoly) -> Poly {
    let scale = invert(reduce(1 << 32));
    let mut out = Poly::ZERO;
    inv_ntt(&NttPoly(a.0.map(|a| mul(a, scale))), &mut out);
    out.0 = out.0.map(centre);
    out
}

pub fn reduce(a: i64) -> i32 {
    a.rem_euclid(i64::from(Q)) as i32
}

pub fn mul(a: i32, b: i32) -> i32 {
    reduce(i64::from(a) * i64::from(b))
}

pub fn invert(a: i32) -> i32 {
    let (mut power, mut base, mut exponent) = (1, a, Q - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = mul(power, base);
        }
        base = mul(base, base);
        exponent >>= 1;
    }
    power
}

pub fn centre(a: i32) -> i32 {
    let a = a.rem_euclid(Q);
    if a > Q / 2 { a - Q } else { a }
}

pub fn polys(len: usize) -> Vec<Poly> {
    (0..len).map(|_| Poly::ZERO).collect()
}

pub fn ntt_polys(len: usize) -> Vec<NttPoly> {
    (0..len).map(|_| NttPoly::ZERO).collect()
}

pub fn read_vec(bytes: &[u8]) -> Vec<Poly> {
    let mut out = polys(K);
    for (bytes, poly) in bytes.as_chunks::<FULL_POLY_LEN>().0.iter().zip(&mut out) {
        unpack_full(bytes, &mut poly.0);
    }
    out
}

pub fn write_vec(polys: &[Poly]) -> Vec<u8> {
    polys
        .iter()
        .flat_map(|poly| {
            poly.0
                .iter()
                .flat_map(|a| [*a as u8, (a >> 8) as u8, (a >> 16) as u8])
        })
        .collect()
}

pub fn read_response(response: &Message) -> Vec<Poly> {
    let mut out = polys(L);
    for (bytes, poly) in response.body().chunks(384).zip(&mut out) {
        unpack_signed::<12>(bytes, poly);
    }
    out
}
