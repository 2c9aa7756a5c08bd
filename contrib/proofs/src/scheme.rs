//! Reference of the whole scheme: FIPS 204 by the numbers of its algorithms, on the functions of
//! `reference.rs`. Parameters, packing and the encodings of signatures are those of `mldsa-kat`.

use mldsa_kat::model::{Parts, decode, encode, hint_bit_pack, hint_bit_unpack, pack, unpack};
use mldsa_kat::set::Set;

use crate::reference::{
    Algebra, D, Module, Q, centred, decompose, inverse_ntt, linear_steps, make_hint, ntt,
    other_steps, power_2_round, use_hint,
};

/// Residues modulo q.
type Poly = Vec<u32>;

fn residue(value: i64) -> u32 {
    value.rem_euclid(Q.into()) as u32
}

struct Bits;

impl Algebra for Bits {
    type Bit = bool;
    fn xor(&mut self, a: bool, b: bool) -> bool {
        a ^ b
    }
    fn and_not(&mut self, not: bool, b: bool) -> bool {
        !not & b
    }
    fn not(&mut self, a: bool) -> bool {
        !a
    }
}

/// SHAKE of FIPS 202: algorithm 8 with the suffix 1111.
struct Xof {
    state: Vec<bool>,
    rate: usize,
    at: usize,
}

impl Xof {
    fn new(rate: usize, parts: &[&[u8]]) -> Self {
        let mut message = parts.concat();
        message.push(0x1f);
        message.resize(message.len().next_multiple_of(rate), 0);
        if let Some(last) = message.last_mut() {
            *last |= 0x80;
        }
        let mut xof = Self {
            state: vec![false; 1600],
            rate,
            at: 0,
        };
        for block in message.chunks(rate) {
            for (n, bit) in xof.state.iter_mut().enumerate().take(8 * rate) {
                *bit ^= block[n / 8] >> (n % 8) & 1 == 1;
            }
            xof.permute();
        }
        xof
    }

    fn permute(&mut self) {
        for round in 0..24 {
            let moved = linear_steps(&mut Bits, &self.state);
            self.state = other_steps(&mut Bits, &moved, round);
        }
        self.at = 0;
    }

    fn byte(&mut self) -> u8 {
        if self.at == self.rate {
            self.permute();
        }
        self.at += 1;
        let bits = &self.state[8 * (self.at - 1)..8 * self.at];
        bits.iter()
            .rev()
            .fold(0, |byte, &bit| byte << 1 | u8::from(bit))
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }
}

fn h(parts: &[&[u8]], len: usize) -> Vec<u8> {
    Xof::new(136, parts).bytes(len)
}

/// Algorithm 16 or 17: fields of `of(w)`.
fn bit_pack(w: &[u32], width: usize, of: impl Fn(u32) -> i64) -> Vec<u8> {
    pack(width, &core::array::from_fn(|n| of(w[n])))
}

/// Algorithm 19: `top` minus fields.
fn unpack_below(bytes: &[u8], top: i64, width: usize) -> Poly {
    unpack(width, bytes)
        .map(|field| residue(top - field))
        .into()
}

/// Algorithm 30, with algorithm 14 for each three bytes.
fn rej_ntt_poly(parts: &[&[u8]]) -> Poly {
    let mut xof = Xof::new(168, parts);
    let mut a = Poly::new();
    while a.len() < 256 {
        let [b0, b1, b2] = [(); 3].map(|()| u32::from(xof.byte()));
        let z = b0 | b1 << 8 | (b2 & 127) << 16;
        if z < Q {
            a.push(z);
        }
    }
    a
}

/// Algorithm 31, with algorithm 15 for each half-byte.
fn rej_bounded_poly(eta: i64, parts: &[&[u8]]) -> Poly {
    let mut xof = Xof::new(136, parts);
    let mut a = Poly::new();
    while a.len() < 256 {
        let z = xof.byte();
        for b in [i64::from(z & 15), i64::from(z >> 4)] {
            let value = match eta {
                2 if b < 15 => Some(2 - b % 5),
                4 if b < 9 => Some(4 - b),
                _ => None,
            };
            if let Some(value) = value.filter(|_| a.len() < 256) {
                a.push(residue(value));
            }
        }
    }
    a
}

/// Algorithm 29.
fn sample_in_ball(set: &Set, seed: &[u8]) -> Poly {
    let mut xof = Xof::new(136, &[seed]);
    let signs = u64::from_le_bytes(core::array::from_fn(|_| xof.byte()));
    let mut c = vec![0; 256];
    for i in 256 - set.tau..256 {
        let mut j = usize::from(xof.byte());
        while j > i {
            j = xof.byte().into();
        }
        c[i] = c[j];
        c[j] = residue(if signs >> (i + set.tau - 256) & 1 == 1 {
            -1
        } else {
            1
        });
    }
    c
}

fn multiply(a: &[u32], b: &[u32]) -> Poly {
    a.iter().zip(b).map(|(a, &b)| a.scaled(b)).collect()
}

fn plus(a: &[u32], b: &[u32], factor: u32) -> Poly {
    a.iter()
        .zip(b)
        .map(|(a, b)| a.add_scaled(b, factor))
        .collect()
}

/// Algorithm 32, and algorithm 48 with it: `NTT^-1(A v_hat)`.
fn matrix_product(set: &Set, rho: &[u8], v_hat: &[Poly]) -> Vec<Poly> {
    let row = |r: usize| {
        let mut sum = vec![0; 256];
        for (s, v) in v_hat.iter().enumerate() {
            let a = rej_ntt_poly(&[rho, &[s as u8, r as u8]]);
            sum = plus(&sum, &multiply(&a, v), 1);
        }
        sum
    };
    (0..set.k).map(row).collect()
}

fn all(polys: &[Poly], f: impl Fn(&[u32]) -> Poly) -> Vec<Poly> {
    polys.iter().map(|p| f(p)).collect()
}

const fn eta_width(set: &Set) -> usize {
    if set.eta == 2 { 3 } else { 4 }
}

const fn w1_width(set: &Set) -> usize {
    if set.gamma2 == 95_232 { 6 } else { 4 }
}

/// Algorithm 6: public and private key.
pub(crate) fn keygen(set: &Set, xi: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let seed = h(&[xi, &[set.k as u8, set.l as u8]], 128);
    let (rho, rho_p, key) = (&seed[..32], &seed[32..96], &seed[96..]);
    // Algorithm 33.
    let s: Vec<Poly> = (0..set.l + set.k)
        .map(|r| rej_bounded_poly(set.eta, &[rho_p, &(r as u16).to_le_bytes()]))
        .collect();
    let s1_hat = all(&s[..set.l], ntt);
    let product = matrix_product(set, rho, &s1_hat);
    let (mut pk, mut t0_bytes) = (rho.to_vec(), Vec::new());
    for (p, s2) in product.iter().zip(&s[set.l..]) {
        let t = plus(&inverse_ntt(p), s2, 1);
        pk.extend(bit_pack(&t, 10, |t| power_2_round(t).0));
        let low = |t| (1 << (D - 1)) - power_2_round(t).1;
        t0_bytes.extend(bit_pack(&t, 13, low));
    }
    let tr = h(&[&pk], 64);
    // Algorithm 24.
    let mut sk = [rho, key, &tr].concat();
    for s in &s {
        sk.extend(bit_pack(s, eta_width(set), |s| set.eta - centred(s)));
    }
    sk.extend(t0_bytes);
    (pk, sk)
}

/// Whether each field of s1 and s2 of a private key is in its range (algorithm 25).
pub(crate) fn in_range(set: &Set, sk: &[u8]) -> bool {
    let width = eta_width(set);
    sk.len() == set.sk_len
        && sk[128..]
            .chunks(32 * width)
            .take(set.k + set.l)
            .flat_map(|bytes| unpack(width, bytes))
            .all(|field| field <= 2 * set.eta)
}

/// Algorithm 7 with mu, without the bound on the number of attempts.
pub(crate) fn sign(set: &Set, sk: &[u8], mu: &[u8], rnd: &[u8]) -> Vec<u8> {
    // Algorithm 25.
    let (rho, key) = (&sk[..32], &sk[32..64]);
    let small = 32 * eta_width(set);
    let (s, t0) = sk[128..].split_at(small * (set.k + set.l));
    let s_hat: Vec<Poly> = s
        .chunks(small)
        .map(|bytes| ntt(&unpack_below(bytes, set.eta, eta_width(set))))
        .collect();
    let (s1_hat, s2_hat) = s_hat.split_at(set.l);
    let t0_hat: Vec<Poly> = t0
        .chunks(416)
        .map(|bytes| ntt(&unpack_below(bytes, 1 << (D - 1), 13)))
        .collect();
    let rho_pp = h(&[key, rnd, mu], 64);
    let (width, beta) = (set.gamma1_bits + 1, set.tau as i64 * set.eta);
    let norm = |p: &[u32]| p.iter().map(|&a| centred(a).abs()).max().unwrap_or(0);
    let mut kappa = 0u16;
    loop {
        // Algorithm 34.
        let y: Vec<Poly> = (0..set.l as u16)
            .map(|r| {
                let bytes = h(&[&rho_pp, &(kappa + r).to_le_bytes()], 32 * width);
                unpack_below(&bytes, set.gamma1(), width)
            })
            .collect();
        kappa += set.l as u16;
        let w = all(&matrix_product(set, rho, &all(&y, ntt)), inverse_ntt);
        // Algorithm 28.
        let high = |w: &Poly| bit_pack(w, w1_width(set), |w| decompose(w, set.gamma2).0);
        let w1: Vec<u8> = w.iter().flat_map(high).collect();
        let c_tilde = h(&[mu, &w1], set.c_tilde_len());
        let c_hat = ntt(&sample_in_ball(set, &c_tilde));
        let times_c = |p: &[u32]| inverse_ntt(&multiply(&c_hat, p));
        let z: Vec<Poly> = y
            .iter()
            .zip(s1_hat)
            .map(|(y, s)| plus(y, &times_c(s), 1))
            .collect();
        let r: Vec<Poly> = w
            .iter()
            .zip(s2_hat)
            .map(|(w, s)| plus(w, &times_c(s), Q - 1))
            .collect();
        let low = |r: &u32| decompose(*r, set.gamma2).1.abs();
        if z.iter().any(|z| norm(z) > set.z_max())
            || r.iter().flatten().map(low).max() >= Some(set.gamma2 - beta)
        {
            continue;
        }
        let ct0 = all(&t0_hat, times_c);
        let hint = |ct0: u32, r: u32| make_hint((Q - ct0) % Q, r.add_scaled(&ct0, 1), set.gamma2);
        let row = |(ct0, r): (&Poly, &Poly)| core::array::from_fn(|n| hint(ct0[n], r[n]));
        let hints: Vec<[bool; 256]> = ct0.iter().zip(&r).map(row).collect();
        if ct0.iter().any(|p| norm(p) >= set.gamma2)
            || hints.iter().flatten().filter(|&&hint| hint).count() > set.omega
        {
            continue;
        }
        // Algorithms 26 and 20.
        let centred = |z: &Poly| core::array::from_fn(|n| centred(z[n]));
        let z = z.iter().map(centred).collect();
        let hint = hint_bit_pack(set, &hints);
        return encode(set, &Parts { c_tilde, z, hint });
    }
}

/// Algorithm 8 with mu.
pub(crate) fn verify(set: &Set, pk: &[u8], mu: &[u8], sig: &[u8]) -> bool {
    if pk.len() != set.pk_len || sig.len() != set.sig_len {
        return false;
    }
    let Parts { c_tilde, z, hint } = decode(set, sig);
    let Some(hint) = hint_bit_unpack(set, &hint) else {
        return false;
    };
    if z.iter().flatten().any(|z| z.abs() > set.z_max()) {
        return false;
    }
    let z_hat: Vec<_> = z.iter().map(|z| ntt(&z.map(residue))).collect();
    let c_hat = ntt(&sample_in_ball(set, &c_tilde));
    let (rho, t1) = pk.split_at(32);
    let product = matrix_product(set, rho, &z_hat);
    let mut w1 = Vec::new();
    for ((row, t1), hint) in product.iter().zip(t1.chunks(320)).zip(&hint) {
        let t1 = unpack(10, t1).map(|t| residue(t << D));
        let w = inverse_ntt(&plus(row, &multiply(&c_hat, &ntt(&t1)), Q - 1));
        let high = core::array::from_fn(|n| use_hint(hint[n], w[n], set.gamma2));
        w1.extend(pack(w1_width(set), &high));
    }
    h(&[mu, &w1], set.c_tilde_len()) == c_tilde
}

/// Lines 6 and 7 of algorithm 7: mu of a formatted message.
pub(crate) fn mu(tr: &[u8], message: &[u8]) -> Vec<u8> {
    h(&[tr, message], 64)
}

/// The hash of a public key.
pub(crate) fn tr(pk: &[u8]) -> Vec<u8> {
    h(&[pk], 64)
}
