//! A slow model of ML-DSA verification: plain integers, FIPS 204 line by line,
//! transforms by their definition. It shares nothing with the crates under
//! test, says which rule a signature breaks, and can build the signatures of
//! the crafted cases.

use crate::hash::{Source, shake256};
use crate::scheme::{Message, Reason, Verifier};
use crate::set::Set;

/// The modulus.
pub const Q: i64 = 8_380_417;
const N: usize = 256;
const ZETA: i64 = 1753;

/// A polynomial; coefficients in any range unless a function says more.
pub type Poly = [i64; N];

/// A signature in parts; the hint as the bytes it is encoded in.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Commitment hash.
    pub c_tilde: Vec<u8>,
    /// Response.
    pub z: Vec<Poly>,
    /// Encoded hint, `omega + k` bytes.
    pub hint: Vec<u8>,
}

/// The model as a verifier.
#[derive(Debug, Clone, Copy)]
pub struct Model(pub &'static Set);

impl Verifier for Model {
    fn name(&self) -> String {
        format!("model {}", self.0.name)
    }

    fn set(&self) -> &'static Set {
        self.0
    }

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason> {
        if pk.len() != self.0.pk_len {
            return Err(Reason::KeyLength);
        }
        verify_mu(self.0, pk, &mu(pk, message)?, sig)
    }
}

/// The message representative (Algorithm 7, line 6).
///
/// # Errors
/// As [`format_message`].
pub fn mu(pk: &[u8], message: Message<'_>) -> Result<[u8; 64], Reason> {
    if let Message::Mu(mu) = message {
        return Ok(*mu);
    }
    let tr = shake256(&[pk], 64);
    Ok(shake256(&[&tr, &format_message(message)?], 64)
        .try_into()
        .expect("64 bytes"))
}

/// `M'` (Algorithms 2 and 4).
///
/// # Errors
/// Context of more than 255 bytes, digest of a wrong length, and `mu`, which
/// has no `M'`.
pub fn format_message(message: Message<'_>) -> Result<Vec<u8>, Reason> {
    let prefix = |domain: u8, ctx: &[u8]| match u8::try_from(ctx.len()) {
        Ok(len) => Ok([&[domain, len], ctx].concat()),
        Err(_) => Err(Reason::Context),
    };
    match message {
        Message::Mu(_) => Err(Reason::Unsupported),
        Message::Formatted(m_prime) => Ok(m_prime.to_vec()),
        Message::Pure { ctx, msg } => Ok([&prefix(0, ctx)?, msg].concat()),
        Message::PreHashed { digest, hash, .. } if digest.len() != hash.len => Err(Reason::Digest),
        Message::PreHashed { ctx, hash, digest } => {
            Ok([&prefix(1, ctx)?, &hash.oid[..], digest].concat())
        }
    }
}

/// Algorithm 8 from line 8 on, with a class for every reason to reject.
fn verify_mu(set: &Set, pk: &[u8], mu: &[u8; 64], sig: &[u8]) -> Result<(), Reason> {
    if sig.len() != set.sig_len {
        return Err(Reason::SignatureLength);
    }
    let parts = decode(set, sig);
    let hint = hint_bit_unpack(set, &parts.hint).ok_or(Reason::HintEncoding)?;
    if parts.z.iter().flatten().any(|z| z.abs() > set.z_max()) {
        return Err(Reason::ResponseNorm);
    }
    let w_approx = w_approx(set, pk, &parts.c_tilde, &parts.z);
    if parts.c_tilde != commitment_hash(set, mu, &w_approx, &hint) {
        return Err(Reason::ChallengeMismatch);
    }
    Ok(())
}

/// Algorithm 26, sigEncode.
#[must_use]
pub fn encode(set: &Set, parts: &Parts) -> Vec<u8> {
    let mut sig = parts.c_tilde.clone();
    for z in &parts.z {
        sig.extend(pack(set.gamma1_bits + 1, &z.map(|z| set.gamma1() - z)));
    }
    sig.extend_from_slice(&parts.hint);
    sig
}

/// Algorithm 27, sigDecode, without a look at the hint.
///
/// # Panics
/// When the length is wrong.
#[must_use]
pub fn decode(set: &Set, sig: &[u8]) -> Parts {
    let (c_tilde, rest) = sig.split_at(set.c_tilde_len());
    let (z, hint) = rest.split_at(set.z_len());
    let z = z
        .chunks(set.z_len() / set.l)
        .map(|bytes| unpack(set.gamma1_bits + 1, bytes).map(|code| set.gamma1() - code))
        .collect();
    Parts {
        c_tilde: c_tilde.to_vec(),
        z,
        hint: hint.to_vec(),
    }
}

/// The commitment that a verifier reconstructs: `A z - c t1 2^13`,
/// coefficients in `[0, q)`.
#[must_use]
pub fn w_approx(set: &Set, pk: &[u8], c_tilde: &[u8], z: &[Poly]) -> Vec<Poly> {
    let (rho, t1) = pk.split_at(32);
    let c_hat = ntt(&sample_in_ball(set, c_tilde));
    let z_hat: Vec<Poly> = z.iter().map(ntt).collect();
    t1.chunks(320)
        .enumerate()
        .map(|(r, bytes)| {
            let t1_hat = ntt(&unpack(10, bytes).map(|t1| t1 << 13));
            let mut w_hat: Poly = core::array::from_fn(|n| -c_hat[n] * t1_hat[n]);
            for (s, z_hat) in z_hat.iter().enumerate() {
                let a_hat = rej_ntt_poly(rho, s, r);
                for n in 0..N {
                    w_hat[n] = (w_hat[n] + a_hat[n] * z_hat[n]).rem_euclid(Q);
                }
            }
            inv_ntt(&w_hat.map(|w| w.rem_euclid(Q)))
        })
        .collect()
}

/// Lines 10 and 12 of Algorithm 8: the hash over `mu` and the high bits.
#[must_use]
pub fn commitment_hash(set: &Set, mu: &[u8; 64], w_approx: &[Poly], hint: &[[bool; N]]) -> Vec<u8> {
    let width = if set.w1_values() == 44 { 6 } else { 4 };
    let mut w1 = Vec::new();
    for (w, h) in w_approx.iter().zip(hint) {
        let high: Poly = core::array::from_fn(|n| use_hint(set.gamma2, h[n], w[n]));
        w1.extend(pack(width, &high));
    }
    shake256(&[mu, &w1], set.c_tilde_len())
}

/// Algorithm 20, HintBitPack.
///
/// # Panics
/// When there are more than `omega` ones.
#[must_use]
pub fn hint_bit_pack(set: &Set, hint: &[[bool; N]]) -> Vec<u8> {
    let mut bytes = vec![0; set.omega + set.k];
    let mut index = 0;
    for (i, h) in hint.iter().enumerate() {
        for (j, _) in h.iter().enumerate().filter(|(_, bit)| **bit) {
            assert!(index < set.omega, "hint weight");
            bytes[index] = j as u8;
            index += 1;
        }
        bytes[set.omega + i] = index as u8;
    }
    bytes
}

/// Algorithm 21, HintBitUnpack.
#[must_use]
pub fn hint_bit_unpack(set: &Set, bytes: &[u8]) -> Option<Vec<[bool; N]>> {
    let (indices, counts) = bytes.split_at(set.omega);
    let mut hint = vec![[false; N]; set.k];
    let mut index = 0;
    for (h, count) in hint.iter_mut().zip(counts) {
        let end = usize::from(*count);
        if end < index || end > set.omega {
            return None;
        }
        let own = &indices[index..end];
        if own.windows(2).any(|pair| pair[0] >= pair[1]) {
            return None;
        }
        own.iter().for_each(|j| h[usize::from(*j)] = true);
        index = end;
    }
    indices[index..]
        .iter()
        .all(|byte| *byte == 0)
        .then_some(hint)
}

/// Algorithm 35, Power2Round.
#[must_use]
pub fn power2round(r: i64) -> (i64, i64) {
    let r = r.rem_euclid(Q);
    let r0 = centered(r, 1 << 13);
    ((r - r0) >> 13, r0)
}

/// Algorithm 36, Decompose.
#[must_use]
pub fn decompose(gamma2: i64, r: i64) -> (i64, i64) {
    let r = r.rem_euclid(Q);
    let r0 = centered(r, 2 * gamma2);
    if r - r0 == Q - 1 {
        (0, r0 - 1)
    } else {
        ((r - r0) / (2 * gamma2), r0)
    }
}

/// Algorithm 40, UseHint.
#[must_use]
pub fn use_hint(gamma2: i64, hint: bool, r: i64) -> i64 {
    let m = (Q - 1) / (2 * gamma2);
    match (hint, decompose(gamma2, r)) {
        (false, (r1, _)) => r1,
        (true, (r1, r0)) if r0 > 0 => (r1 + 1).rem_euclid(m),
        (true, (r1, _)) => (r1 - 1).rem_euclid(m),
    }
}

/// `r mod± alpha`: the representative in `(-alpha/2, alpha/2]`.
#[must_use]
pub fn centered(r: i64, alpha: i64) -> i64 {
    let r = r.rem_euclid(alpha);
    if r > alpha / 2 { r - alpha } else { r }
}

/// Algorithm 29, SampleInBall.
fn sample_in_ball(set: &Set, seed: &[u8]) -> Poly {
    // Eight sign bytes, then at most one byte per try; 2048 tries for at most
    // 60 places fail with a chance far below 2^-128.
    let stream = shake256(&[seed], 8 + 2048);
    let signs = u64::from_le_bytes(stream[..8].try_into().expect("8 bytes"));
    let mut tries = stream[8..].iter().map(|byte| usize::from(*byte));
    let mut c = [0; N];
    for (bit, i) in (N - set.tau..N).enumerate() {
        let j = tries.find(|j| *j <= i).expect("enough bytes");
        c[i] = c[j];
        c[j] = if signs >> bit & 1 == 1 { -1 } else { 1 };
    }
    c
}

/// Algorithm 30, RejNTTPoly, for column `s` and row `r` of the matrix.
fn rej_ntt_poly(rho: &[u8], s: usize, r: usize) -> Poly {
    let mut source = Source::new(&[rho, &[s as u8, r as u8]].concat());
    core::array::from_fn(|_| {
        loop {
            let bytes = source.bytes(3);
            let value =
                i64::from(bytes[0]) | i64::from(bytes[1]) << 8 | i64::from(bytes[2] & 0x7f) << 16;
            if value < Q {
                return value;
            }
        }
    })
}

/// The transform by its definition (256 products below `q^2` fit): entry `i` is the value of the polynomial
/// at `zeta^(2 BitRev8(i) + 1)` (FIPS 204, section 2.5).
fn ntt(a: &Poly) -> Poly {
    let (a, powers) = (a.map(|a| a.rem_euclid(Q)), zeta_powers());
    core::array::from_fn(|i| {
        let sum: i64 = (0..N).map(|j| a[j] * powers[exponent(i) * j % 512]).sum();
        sum % Q
    })
}

/// The inverse, by its definition.
fn inv_ntt(a_hat: &Poly) -> Poly {
    const N_INVERSE: i64 = 8_347_681; // 256^-1 mod q
    let powers = zeta_powers();
    core::array::from_fn(|j| {
        let sum: i64 = (0..N)
            .map(|i| a_hat[i] * powers[exponent(i) * (512 - j) % 512])
            .sum();
        sum % Q * N_INVERSE % Q
    })
}

fn exponent(i: usize) -> usize {
    2 * usize::from((i as u8).reverse_bits()) + 1
}

fn zeta_powers() -> [i64; 512] {
    let mut powers = [1; 512];
    for i in 1..512 {
        powers[i] = powers[i - 1] * ZETA % Q;
    }
    powers
}

/// Integers of `width` bits each, lowest bit first (Algorithms 16 to 19).
#[must_use]
pub fn unpack(width: usize, bytes: &[u8]) -> Poly {
    let bit = |i: usize| i64::from(bytes[i / 8] >> (i % 8) & 1);
    core::array::from_fn(|n| (0..width).map(|b| bit(n * width + b) << b).sum())
}

/// The reverse of [`unpack`].
#[must_use]
pub fn pack(width: usize, values: &Poly) -> Vec<u8> {
    let mut bytes = vec![0; 32 * width];
    for i in 0..N * width {
        bytes[i / 8] |= ((values[i / width] >> (i % width) & 1) as u8) << (i % 8);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{N, Poly, Q, inv_ntt, ntt, pack, unpack};

    /// The transform turns products in the ring into products of entries.
    #[test]
    fn transform_multiplies_in_the_ring() {
        let a: Poly = core::array::from_fn(|n| (n as i64 * 7919 + 13) % Q);
        let b: Poly = core::array::from_fn(|n| (n as i64 * n as i64 * 104_729 + 5) % Q);
        let mut product = [0; N];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                let sign = if i + j < N { 1 } else { -1 };
                let n = (i + j) % N;
                product[n] = (product[n] + sign * a * b % Q).rem_euclid(Q);
            }
        }
        let (a_hat, b_hat) = (ntt(&a), ntt(&b));
        let entries = core::array::from_fn(|n| a_hat[n] * b_hat[n] % Q);
        assert_eq!(inv_ntt(&entries), product);
        assert_eq!(inv_ntt(&a_hat), a);
    }

    #[test]
    fn packing_is_reversible() {
        for width in [3, 4, 6, 10, 13, 18, 20] {
            let values: Poly = core::array::from_fn(|n| (n as i64 * 48_271) % (1 << width));
            assert_eq!(unpack(width, &pack(width, &values)), values);
        }
    }
}
