//! Collisions of challenges, with the hash of the challenge cut to 20 bits.

use std::collections::HashSet;

use mldsa_core::internals::{NttPoly, Poly, Shake256, vectors};
use mldsa_core::{Backend, Context, Mu, MuBuilder};

use crate::algebra::*;

/// Width of the offsets of two signers.
const WIDTH: i32 = 4096;

/// Polynomials with coefficients from -bound to bound that `label` determines.
fn small(label: &str, len: usize, bound: i32) -> Vec<Poly> {
    let mut bytes = vec![0; len * 1024];
    let permutation = Backend::detect().permutation();
    Shake256::digest(permutation, &[label.as_bytes()], &mut bytes);
    let polys = bytes.chunks(1024).map(|bytes| {
        let mut words = bytes.as_chunks::<4>().0.iter().copied();
        Poly(core::array::from_fn(|_| {
            let word = u32::from_le_bytes(words.next().unwrap());
            (word % (2 * bound as u32 + 1)) as i32 - bound
        }))
    });
    polys.collect()
}

fn copy(polys: &[Poly]) -> Vec<Poly> {
    polys.iter().map(|poly| Poly(poly.0)).collect()
}

fn sum(a: &[Poly], b: &[Poly]) -> Vec<Poly> {
    let mut sum = copy(a);
    vectors::add(&mut sum, b);
    sum
}

fn mu(message: &[u8]) -> Mu {
    let mut mu = MuBuilder::from_tr(&[7; 64], Context::new(b"TEST").unwrap());
    mu.update(message);
    mu.finish()
}

fn other_message(n: u32) -> Mu {
    mu(&[&b"pay mallory "[..], &n.to_le_bytes()].concat())
}

/// The cut hash of the challenge.
fn challenge(mu: &Mu, w: &[Poly]) -> [u8; 64] {
    let (mut w, mut c_tilde) = (copy(w), [0; 64]);
    vectors::commitment_hash(Backend::detect(), P, mu, &mut w, &mut c_tilde);
    c_tilde[2] &= 15;
    c_tilde[3..].fill(0);
    c_tilde
}

/// `c` times each polynomial.
fn times(c_hat: &NttPoly, polys: &[Poly]) -> Vec<Poly> {
    let products = polys.iter().map(|poly| {
        let poly = transform(poly);
        inverse(&NttPoly(core::array::from_fn(|n| {
            mul(c_hat.0[n], poly.0[n])
        })))
    });
    products.collect()
}

/// A member that commits after it has seen the commitment of the other one has `choices`
/// commitments; one that has published its hash has one. Searches, with a number of trials, for
/// another message with the challenge of one of them, and checks that the answer of the honest
/// member signs that message too. Returns the number of trials.
fn forge(choices: usize, trials: u32) -> Option<u32> {
    let a_hat = matrix(b"rho of a committee for the tests");
    let secret = |label| (small(label, L, 2), small(&format!("{label} 2"), K, 2));
    let (honest, mallory) = (secret("honest"), secret("mallory"));
    let t = sum(
        &product(&a_hat, &honest.0, &honest.1),
        &product(&a_hat, &mallory.0, &mallory.1),
    );
    // The honest commitment: w and an offset.
    let y = small("y", L, 360);
    let seen = sum(&product(&a_hat, &y, &polys(K)), &small("r", K, WIDTH));
    let agreed = mu(b"what the honest member signs");
    let mut step = polys(L);
    step[0].0[0] = 1;
    let step = product(&a_hat, &step, &polys(K));
    let own = product(&a_hat, &small("own y", L, 200), &polys(K));
    let mut w = sum(&seen, &own);
    let mut found = HashSet::new();
    for _ in 0..choices {
        found.insert(challenge(&agreed, &w));
        vectors::add(&mut w, &step);
    }
    let other = small("other y", L, 360);
    let w = sum(&seen, &product(&a_hat, &other, &polys(K)));
    let n = (0..trials).find(|&n| found.contains(&challenge(&other_message(n), &w)))?;
    // The response of the honest member to this challenge, with mallory's to its other nonce.
    let c_hat = challenge_of(&challenge(&other_message(n), &w));
    let z = sum(
        &sum(&y, &times(&c_hat, &honest.0)),
        &sum(&other, &times(&c_hat, &mallory.0)),
    );
    let difference = product(&a_hat, &z, &polys(K));
    let expected = sum(&w, &times(&c_hat, &t));
    for (a, b) in difference.iter().zip(&expected) {
        let distance = a.0.iter().zip(&b.0).map(|(a, b)| centre(a - b).abs());
        assert!(distance.max().unwrap() <= WIDTH + 2 * 120);
    }
    Some(n)
}

/// With commitments that are chosen after those of the others, a collision of challenges takes the
/// square root of the number of challenges, and is a signature of another message. A published hash
/// leaves one commitment, and a second preimage takes the number of challenges.
#[test]
fn hash_round_prevents_forgeries_by_collision() {
    let trials = 1 << 13;
    assert!(forge(1 << 10, trials).is_some());
    assert_eq!(forge(1, trials), None);
}
