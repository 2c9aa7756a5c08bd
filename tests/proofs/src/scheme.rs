//! Reference of the whole scheme: FIPS 204 by the numbers of its algorithms, on the functions of
//! `reference.rs`.

use crate::reference::{
    Algebra, D, Module, Q, centred, decompose, inverse_ntt, linear_steps, make_hint, ntt,
    other_steps, power_2_round, use_hint,
};

/// FIPS 204 table 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    pub(crate) name: &'static str,
    tau: usize,
    lambda: usize,
    gamma1_bits: usize,
    gamma2: i64,
    pub(crate) k: usize,
    l: usize,
    eta: i64,
    pub(crate) omega: usize,
}

#[rustfmt::skip] // One line for each set.
pub(crate) const SETS: [Set; 3] = [
    Set { name: "ML-DSA-44", tau: 39, lambda: 128, gamma1_bits: 17, gamma2: 95_232, k: 4, l: 4, eta: 2, omega: 80 },
    Set { name: "ML-DSA-65", tau: 49, lambda: 192, gamma1_bits: 19, gamma2: 261_888, k: 6, l: 5, eta: 4, omega: 55 },
    Set { name: "ML-DSA-87", tau: 60, lambda: 256, gamma1_bits: 19, gamma2: 261_888, k: 8, l: 7, eta: 2, omega: 75 },
];

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

/// Algorithms 16 and 17 on values that are not negative.
fn bit_pack(values: impl Iterator<Item = i64>, width: usize) -> Vec<u8> {
    let bits: Vec<u8> = values
        .flat_map(|v| (0..width).map(move |i| (v >> i & 1) as u8))
        .collect();
    bits.chunks(8)
        .map(|byte| byte.iter().rev().fold(0, |all, bit| all << 1 | bit))
        .collect()
}

/// Algorithms 18 and 19.
fn bit_unpack(bytes: &[u8], width: usize) -> Vec<i64> {
    let bit = |n: usize| i64::from(bytes[n / 8] >> (n % 8) & 1);
    (0..256)
        .map(|n| (0..width).fold(0, |v, i| v | bit(width * n + i) << i))
        .collect()
}

/// Algorithm 17 with b = `top`: fields of `top - w`.
fn pack_below(w: &[u32], top: i64, width: usize) -> Vec<u8> {
    bit_pack(w.iter().map(|&w| top - centred(w)), width)
}

fn unpack_below(bytes: &[u8], top: i64, width: usize) -> Poly {
    let fields = bit_unpack(bytes, width).into_iter();
    fields.map(|field| residue(top - field)).collect()
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

impl Set {
    const fn eta_width(&self) -> usize {
        if self.eta == 2 { 3 } else { 4 }
    }

    fn beta(&self) -> i64 {
        self.tau as i64 * self.eta
    }

    /// Algorithm 28.
    fn w1_encode(&self, w: &[Poly]) -> Vec<u8> {
        let width = if self.gamma2 == 95_232 { 6 } else { 4 };
        let high = |w: &u32| decompose(*w, self.gamma2).0;
        w.iter()
            .flat_map(|w| bit_pack(w.iter().map(high), width))
            .collect()
    }

    /// Algorithm 6: public and private key.
    pub(crate) fn keygen(&self, xi: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let seed = h(&[xi, &[self.k as u8, self.l as u8]], 128);
        let (rho, rho_p, key) = (&seed[..32], &seed[32..96], &seed[96..]);
        // Algorithm 33.
        let s: Vec<Poly> = (0..self.l + self.k)
            .map(|r| rej_bounded_poly(self.eta, &[rho_p, &(r as u16).to_le_bytes()]))
            .collect();
        let s1_hat = all(&s[..self.l], ntt);
        let product = matrix_product(self, rho, &s1_hat);
        let (mut pk, mut t0_bytes) = (rho.to_vec(), Vec::new());
        for (p, s2) in product.iter().zip(&s[self.l..]) {
            let t = plus(&inverse_ntt(p), s2, 1);
            let halves: Vec<_> = t.iter().map(|&t| power_2_round(t)).collect();
            pk.extend(bit_pack(halves.iter().map(|t| t.0), 10));
            t0_bytes.extend(bit_pack(halves.iter().map(|t| (1 << (D - 1)) - t.1), 13));
        }
        let tr = h(&[&pk], 64);
        // Algorithm 24.
        let mut sk = [rho, key, &tr].concat();
        for s in &s {
            sk.extend(pack_below(s, self.eta, self.eta_width()));
        }
        sk.extend(t0_bytes);
        (pk, sk)
    }

    pub(crate) fn private_key_len(&self) -> usize {
        128 + 32 * (self.eta_width() * (self.k + self.l) + 13 * self.k)
    }

    fn public_key_len(&self) -> usize {
        32 + 320 * self.k
    }

    fn signature_len(&self) -> usize {
        self.lambda / 4 + 32 * (self.gamma1_bits + 1) * self.l + self.omega + self.k
    }

    /// Whether each field of s1 and s2 of a private key is in its range (algorithm 25).
    pub(crate) fn is_valid(&self, sk: &[u8]) -> bool {
        let len = 32 * self.eta_width();
        sk.len() == self.private_key_len()
            && sk[128..]
                .chunks(len)
                .take(self.k + self.l)
                .flat_map(|bytes| bit_unpack(bytes, self.eta_width()))
                .all(|field| field <= 2 * self.eta)
    }

    /// Algorithm 7 with mu, without the bound on the number of attempts.
    pub(crate) fn sign(&self, sk: &[u8], mu: &[u8], rnd: &[u8]) -> Vec<u8> {
        // Algorithm 25.
        let (rho, key) = (&sk[..32], &sk[32..64]);
        let small = 32 * self.eta_width();
        let (s, t0) = sk[128..].split_at(small * (self.k + self.l));
        let s_hat: Vec<Poly> = s
            .chunks(small)
            .map(|bytes| ntt(&unpack_below(bytes, self.eta, self.eta_width())))
            .collect();
        let (s1_hat, s2_hat) = s_hat.split_at(self.l);
        let t0_hat: Vec<Poly> = t0
            .chunks(416)
            .map(|bytes| ntt(&unpack_below(bytes, 1 << (D - 1), 13)))
            .collect();
        let rho_pp = h(&[key, rnd, mu], 64);
        let (gamma1, width) = (1i64 << self.gamma1_bits, self.gamma1_bits + 1);
        let norm = |p: &[u32]| p.iter().map(|&a| centred(a).abs()).max().unwrap_or(0);
        let mut kappa = 0u16;
        loop {
            // Algorithm 34.
            let y: Vec<Poly> = (0..self.l as u16)
                .map(|r| {
                    let bytes = h(&[&rho_pp, &(kappa + r).to_le_bytes()], 32 * width);
                    unpack_below(&bytes, gamma1, width)
                })
                .collect();
            kappa += self.l as u16;
            let w = all(&matrix_product(self, rho, &all(&y, ntt)), |p| {
                inverse_ntt(p)
            });
            let c_tilde = h(&[mu, &self.w1_encode(&w)], self.lambda / 4);
            let c_hat = ntt(&sample_in_ball(self, &c_tilde));
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
            let low = |r: &u32| decompose(*r, self.gamma2).1.abs();
            if z.iter().any(|z| norm(z) >= gamma1 - self.beta())
                || r.iter().flatten().map(low).max() >= Some(self.gamma2 - self.beta())
            {
                continue;
            }
            let ct0 = all(&t0_hat, times_c);
            let hints: Vec<Vec<bool>> = ct0
                .iter()
                .zip(&r)
                .map(|(ct0, r)| {
                    let pairs = ct0.iter().zip(r);
                    pairs
                        .map(|(&ct0, &r)| {
                            make_hint((Q - ct0) % Q, r.add_scaled(&ct0, 1), self.gamma2)
                        })
                        .collect()
                })
                .collect();
            if ct0.iter().any(|p| norm(p) >= self.gamma2)
                || hints.iter().flatten().filter(|&&hint| hint).count() > self.omega
            {
                continue;
            }
            // Algorithms 26 and 20.
            let mut sig = c_tilde;
            z.iter()
                .for_each(|z| sig.extend(pack_below(z, gamma1, width)));
            let mut places = vec![0; self.omega + self.k];
            let mut index = 0;
            for (i, row) in hints.iter().enumerate() {
                for (j, _) in row.iter().enumerate().filter(|(_, hint)| **hint) {
                    places[index] = j as u8;
                    index += 1;
                }
                places[self.omega + i] = index as u8;
            }
            sig.extend(places);
            return sig;
        }
    }

    /// Algorithm 21: the positions of each row.
    pub(crate) fn hint_bit_unpack(&self, y: &[u8]) -> Option<Vec<Vec<u8>>> {
        let (mut rows, mut index) = (Vec::new(), 0);
        for i in 0..self.k {
            let end = usize::from(y[self.omega + i]);
            if end < index || end > self.omega {
                return None;
            }
            let row = y[index..end].to_vec();
            if row.windows(2).any(|pair| pair[0] >= pair[1]) {
                return None;
            }
            rows.push(row);
            index = end;
        }
        y[index..self.omega].iter().all(|&b| b == 0).then_some(rows)
    }

    /// Algorithm 8 with mu.
    pub(crate) fn verify(&self, pk: &[u8], mu: &[u8], sig: &[u8]) -> bool {
        if pk.len() != self.public_key_len() || sig.len() != self.signature_len() {
            return false;
        }
        let width = self.gamma1_bits + 1;
        let gamma1 = 1i64 << self.gamma1_bits;
        let (c_tilde, rest) = sig.split_at(self.lambda / 4);
        let (z_bytes, hint) = rest.split_at(32 * width * self.l);
        let Some(hint) = self.hint_bit_unpack(hint) else {
            return false;
        };
        let z: Vec<Poly> = z_bytes
            .chunks(32 * width)
            .map(|bytes| unpack_below(bytes, gamma1, width))
            .collect();
        if z.iter()
            .flatten()
            .any(|&z| centred(z).abs() >= gamma1 - self.beta())
        {
            return false;
        }
        let c_hat = ntt(&sample_in_ball(self, c_tilde));
        let product = matrix_product(self, &pk[..32], &all(&z, ntt));
        let width = if self.gamma2 == 95_232 { 6 } else { 4 };
        let mut w1 = Vec::new();
        for (i, row) in product.iter().enumerate() {
            let t1 = bit_unpack(&pk[32 + 320 * i..352 + 320 * i], 10);
            let t1: Poly = t1.iter().map(|&t| residue(t << D)).collect();
            let w = inverse_ntt(&plus(row, &multiply(&c_hat, &ntt(&t1)), Q - 1));
            let high = w.iter().enumerate().map(|(n, &w)| {
                let hinted = hint[i].iter().any(|&place| usize::from(place) == n);
                use_hint(hinted, w, self.gamma2)
            });
            w1.extend(bit_pack(high, width));
        }
        h(&[mu, &w1], self.lambda / 4) == c_tilde
    }
}

/// Lines 6 and 7 of algorithm 7: mu of a formatted message.
pub(crate) fn mu(tr: &[u8], message: &[u8]) -> Vec<u8> {
    h(&[tr, message], 64)
}

/// The hash of a public key.
pub(crate) fn tr(pk: &[u8]) -> Vec<u8> {
    h(&[pk], 64)
}
