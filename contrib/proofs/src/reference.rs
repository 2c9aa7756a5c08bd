//! Reference: FIPS 204 and FIPS 202 by the numbers of their algorithms, in the plainest form.
//!
//! Shares no code with the library.

/// FIPS 204 table 1.
pub(crate) const Q: u32 = 8_380_417;
pub(crate) const ZETA: u32 = 1753;
pub(crate) const D: u32 = 13;

pub(crate) fn power(base: u32, mut exponent: u32) -> u32 {
    let q = u64::from(Q);
    let (mut result, mut base) = (1, u64::from(base) % q);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % q;
        }
        base = base * base % q;
        exponent >>= 1;
    }
    result as u32
}

pub(crate) fn inverse(value: u32) -> u32 {
    power(value, Q - 2)
}

/// `BitRev8`, algorithm 43.
fn bit_rev_8(m: u32) -> u32 {
    (m as u8).reverse_bits().into()
}

/// Values that the transforms compute with.
pub(crate) trait Module: Clone {
    /// `self + factor other`.
    fn add_scaled(&self, other: &Self, factor: u32) -> Self;
    fn scaled(&self, factor: u32) -> Self;
}

/// Algorithm 41.
pub(crate) fn ntt<M: Module>(w: &[M]) -> Vec<M> {
    let mut w = w.to_vec();
    let (mut m, mut len) = (0, 128);
    while len >= 1 {
        for start in (0..256).step_by(2 * len) {
            m += 1;
            let z = power(ZETA, bit_rev_8(m));
            for j in start..start + len {
                let (a, b) = (w[j].clone(), w[j + len].clone());
                w[j + len] = a.add_scaled(&b, Q - z);
                w[j] = a.add_scaled(&b, z);
            }
        }
        len /= 2;
    }
    w
}

/// Algorithm 42.
pub(crate) fn inverse_ntt<M: Module>(w_hat: &[M]) -> Vec<M> {
    let mut w = w_hat.to_vec();
    let (mut m, mut len) = (256, 1);
    while len < 256 {
        for start in (0..256).step_by(2 * len) {
            m -= 1;
            let z = Q - power(ZETA, bit_rev_8(m));
            for j in start..start + len {
                let t = w[j].clone();
                w[j] = t.add_scaled(&w[j + len], 1);
                w[j + len] = t.add_scaled(&w[j + len], Q - 1).scaled(z);
            }
        }
        len *= 2;
    }
    let f = inverse(256);
    w.iter().map(|w| w.scaled(f)).collect()
}

impl Module for u32 {
    fn add_scaled(&self, other: &Self, factor: u32) -> Self {
        ((u64::from(*self) + u64::from(*other) * u64::from(factor)) % u64::from(Q)) as Self
    }

    fn scaled(&self, factor: u32) -> Self {
        0.add_scaled(self, factor)
    }
}

/// `r mod+- m`.
fn mod_plus_minus(r: i64, m: i64) -> i64 {
    let r = r.rem_euclid(m);
    if r > m / 2 { r - m } else { r }
}

/// Algorithm 35: (r1, r0).
pub(crate) fn power_2_round(r: u32) -> (i64, i64) {
    let r = i64::from(r);
    let r0 = mod_plus_minus(r, 1 << D);
    ((r - r0) >> D, r0)
}

/// Algorithm 36: (r1, r0).
pub(crate) fn decompose(r: u32, gamma2: i64) -> (i64, i64) {
    let r = i64::from(r);
    let r0 = mod_plus_minus(r, 2 * gamma2);
    if r - r0 == i64::from(Q) - 1 {
        (0, r0 - 1)
    } else {
        ((r - r0) / (2 * gamma2), r0)
    }
}

/// Algorithm 39 with z given modulo q.
pub(crate) fn make_hint(z: u32, r: u32, gamma2: i64) -> bool {
    decompose(r, gamma2).0 != decompose((r + z) % Q, gamma2).0
}

/// Algorithm 40.
pub(crate) fn use_hint(hint: bool, r: u32, gamma2: i64) -> i64 {
    let m = i64::from(Q - 1) / (2 * gamma2);
    let (r1, r0) = decompose(r, gamma2);
    match (hint, r0 > 0) {
        (false, _) => r1,
        (true, true) => (r1 + 1).rem_euclid(m),
        (true, false) => (r1 - 1).rem_euclid(m),
    }
}

/// The representative of the smallest magnitude.
pub(crate) fn centred(r: u32) -> i64 {
    mod_plus_minus(r.into(), Q.into())
}

/// Boolean algebra that the permutation is computed in.
pub(crate) trait Algebra {
    type Bit: Copy;
    fn xor(&mut self, a: Self::Bit, b: Self::Bit) -> Self::Bit;
    fn and_not(&mut self, not: Self::Bit, b: Self::Bit) -> Self::Bit;
    fn not(&mut self, a: Self::Bit) -> Self::Bit;
}

fn lane(x: usize, y: usize, z: usize) -> usize {
    64 * (x % 5 + 5 * (y % 5)) + z % 64
}

/// FIPS 202 algorithms 1 to 3: theta, rho, pi, on bits `64 (x + 5 y) + z`.
pub(crate) fn linear_steps<A: Algebra>(algebra: &mut A, a: &[A::Bit]) -> Vec<A::Bit> {
    let column = |algebra: &mut A, x: usize, z: usize| {
        (1..5).fold(a[lane(x, 0, z)], |sum, y| {
            algebra.xor(sum, a[lane(x, y, z)])
        })
    };
    let mut columns = Vec::with_capacity(320);
    for x in 0..5 {
        for z in 0..64 {
            columns.push(column(algebra, x, z));
        }
    }
    let mut theta = a.to_vec();
    for x in 0..5 {
        for z in 0..64 {
            let d = algebra.xor(
                columns[64 * ((x + 4) % 5) + z],
                columns[64 * ((x + 1) % 5) + (z + 63) % 64],
            );
            for y in 0..5 {
                theta[lane(x, y, z)] = algebra.xor(theta[lane(x, y, z)], d);
            }
        }
    }
    let mut rho = theta.clone();
    let (mut x, mut y) = (1, 0);
    for t in 0..24 {
        for z in 0..64 {
            rho[lane(x, y, z)] = theta[lane(x, y, z + 64 * 6 - (t + 1) * (t + 2) / 2)];
        }
        (x, y) = (y, (2 * x + 3 * y) % 5);
    }
    let mut pi = rho.clone();
    for x in 0..5 {
        for y in 0..5 {
            for z in 0..64 {
                pi[lane(x, y, z)] = rho[lane(x + 3 * y, x, z)];
            }
        }
    }
    pi
}

/// FIPS 202 algorithms 4 and 6: chi and iota.
pub(crate) fn other_steps<A: Algebra>(algebra: &mut A, a: &[A::Bit], round: usize) -> Vec<A::Bit> {
    let mut out = a.to_vec();
    let constant = round_constant(round);
    for x in 0..5 {
        for y in 0..5 {
            for z in 0..64 {
                let term = algebra.and_not(a[lane(x + 1, y, z)], a[lane(x + 2, y, z)]);
                out[lane(x, y, z)] = algebra.xor(a[lane(x, y, z)], term);
            }
        }
    }
    for (z, bit) in out.iter_mut().enumerate().take(64) {
        if constant >> z & 1 == 1 {
            *bit = algebra.not(*bit);
        }
    }
    out
}

/// FIPS 202 algorithms 5 and 6.
pub(crate) fn round_constant(round: usize) -> u64 {
    let rc = |t: usize| {
        let mut r: u16 = 1;
        for _ in 0..t % 255 {
            r = r << 1 ^ if r & 0x80 != 0 { 0x171 } else { 0 };
        }
        u64::from(r & 1)
    };
    (0..=6).fold(0, |constant, j| {
        constant | rc(j + 7 * round) << ((1 << j) - 1)
    })
}
