//! Pseudorandom sampling (FIPS 204 section 7.3), portable bodies.

#[cfg(feature = "unstable-internals")]
use crate::coding::pack;
use crate::hash::keccak::Permutation;
use crate::hash::xof::{Shake128, Shake256};
use crate::memory::secret::{Secret, declassify};
#[cfg(any(feature = "unstable-internals", test))]
use crate::params::SMALL;
use crate::params::{N, Q, SEED_LEN};
use crate::ring::poly::{NttPoly, Poly};

/// Computes algorithm 14 CoeffFromThreeBytes: a candidate below 2^23, kept if below q.
#[allow(
    dead_code,
    reason = "the vector backends and the streams of single coefficients use it"
)]
#[inline(always)]
pub const fn coeff_from_three_bytes_vartime(bytes: [u8; 3]) -> Option<i32> {
    let z = i32::from_le_bytes([bytes[0], bytes[1], bytes[2] & 0x7f, 0]);
    if z < Q { Some(z) } else { None }
}

/// Computes algorithm 15 CoeffFromHalfByte: whether the half-byte is accepted, and the value
/// if it is.
///
/// FIPS 204 lets out which half-bytes are rejected; the value is used in arithmetic only.
/// Bounds: 0 <= b < 16, |out| <= eta for an accepted half-byte.
#[inline(always)]
pub fn coeff_from_half_byte(eta: i32, b: i32) -> (bool, i32) {
    let (accepted, value) = if eta == 2 {
        // b mod 5 by a reciprocal: 205 / 2^10 is 1/5 from above, exact below 16.
        (b < 15, 2 - (b - ((b * 205) >> 10) * 5))
    } else {
        (b < 9, 4 - b)
    };
    let accepted = declassify(accepted, "ExpandS: which half-bytes were rejected");
    (accepted, value)
}

/// Bytes in a block of SHAKE128.
const RATE_128: usize = 168;

/// Returns the eight candidates of [`coeff_from_three_bytes_vartime`] in three words of the stream.
#[inline(always)]
fn eight_candidates([a, b, c]: [u64; 3]) -> [i32; 8] {
    // The parts of a candidate in two words are masked before they are joined: the compiler
    // would make a double shift of the whole words, which takes many CPUs several cycles.
    [
        a & 0x7f_ffff,
        (a >> 24) & 0x7f_ffff,
        (a >> 48) | (b & 0x7f) << 16,
        (b >> 8) & 0x7f_ffff,
        (b >> 32) & 0x7f_ffff,
        (b >> 56) | (c & 0x7fff) << 8,
        (c >> 16) & 0x7f_ffff,
        (c >> 40) & 0x7f_ffff,
    ]
    .map(|z| z as i32)
}

/// Returns whether all candidates are below q, which is so in 99 % of the cases. One sign says it:
/// that of z - q, if all have the same.
#[inline(always)]
fn all_accepted(candidates: &[i32; 8]) -> bool {
    candidates.iter().fold(-1, |all, z| all & (z - Q)) < 0
}

/// The candidates at word `n` of a block. A frame of its own.
#[cfg(any(feature = "unstable-internals", test))]
#[inline(never)]
fn next_candidates(xof: &Shake128, n: usize, out: &mut [i32; 8]) {
    if SMALL {
        candidates_in_a_loop(xof.three_words(n), out);
    } else {
        *out = eight_candidates(xof.three_words(n));
    }
}

/// [`eight_candidates`], one after the other.
#[cfg(any(feature = "unstable-internals", test))]
#[inline(always)]
fn candidates_in_a_loop(words: [u64; 3], out: &mut [i32; 8]) {
    let mut halves = [0u32; 7];
    for (halves, word) in halves.as_chunks_mut().0.iter_mut().zip(words) {
        *halves = [word as u32, (word >> 32) as u32];
    }
    for (bit, z) in (0..).step_by(24).zip(out) {
        let (low, high) = (halves[bit / 32], halves[bit / 32 + 1]);
        let (right, left) = (bit % 32, 31 - bit % 32);
        *z = ((low >> right | high << 1 << left) & 0x7f_ffff) as i32;
    }
}

/// Feeds the coefficients of algorithm 30, one or eight at a time in order, to
/// `sink` until it rejects some: for callers that hold no polynomial.
///
/// Variable time: A is public.
#[cfg(any(feature = "unstable-internals", test))]
pub fn rej_ntt_poly_each_vartime(
    keccak: Permutation,
    rho: &[u8; SEED_LEN],
    s: u8,
    r: u8,
    mut sink: impl FnMut(&[i32]) -> bool,
) {
    let mut xof = Shake128::new(keccak);
    xof.absorb(rho);
    xof.absorb(&[s, r]);
    xof.finish();
    let mut candidates = [0; 8];
    loop {
        // Three words are eight candidates.
        xof.squeeze_block();
        for n in (0..RATE_128 / 8).step_by(3) {
            next_candidates(&xof, n, &mut candidates);
            if !SMALL && all_accepted(&candidates) {
                if !sink(&candidates) {
                    return;
                }
                continue;
            }
            for a in candidates {
                if a < Q && !sink(&[a]) {
                    return;
                }
            }
        }
    }
}

/// Computes algorithm 30 RejNTTPoly: the entry of A in row `r`, column `s`.
///
/// Variable time: A is public. Bounds: 0 <= out < q.
pub fn rej_ntt_poly_vartime(
    keccak: Permutation,
    rho: &[u8; SEED_LEN],
    s: u8,
    r: u8,
    out: &mut NttPoly,
) {
    let mut xof = Shake128::new(keccak);
    xof.absorb(rho);
    xof.absorb(&[s, r]);
    xof.finish();
    let mut filled = 0;
    while filled < N {
        xof.squeeze_block();
        for n in (0..RATE_128 / 8).step_by(3) {
            let candidates = eight_candidates(xof.three_words(n));
            if let Some(slots) = out.0.get_mut(filled..filled + 8)
                && all_accepted(&candidates)
            {
                slots.copy_from_slice(&candidates);
                filled += 8;
                continue;
            }
            for a in candidates {
                if a < Q
                    && let Some(slot) = out.0.get_mut(filled)
                {
                    *slot = a;
                    filled += 1;
                }
            }
        }
    }
}

/// Appends the accepted candidates of `bytes` to `out[filled..]` and returns the
/// new fill, at most 256.
#[allow(dead_code, reason = "the vector backends use it")]
#[inline(always)]
pub fn rej_ntt_block_vartime(bytes: &[u8], out: &mut [i32; N], mut filled: usize) -> usize {
    for &candidate in bytes.as_chunks::<3>().0 {
        if let Some(a) = coeff_from_three_bytes_vartime(candidate)
            && let Some(slot) = out.get_mut(filled)
        {
            *slot = a;
            filled += 1;
        }
    }
    filled
}

/// Computes algorithm 31 RejBoundedPoly, from the 64-byte `rho_p` and the 16-bit `nonce`.
///
/// Constant time except for the positions of rejected half-bytes. |out| <= eta.
pub fn rej_bounded_poly(
    keccak: Permutation,
    eta: i32,
    rho_p: &[u8; 64],
    nonce: u16,
    out: &mut Poly,
) {
    let mut xof = Shake256::new(keccak);
    xof.absorb(rho_p);
    xof.absorb(&nonce.to_le_bytes());
    xof.finish();
    let mut block = Secret::<[u8; 136]>::zeroed();
    let mut filled = 0;
    while filled < N {
        xof.squeeze(block.expose_mut());
        filled = rej_bounded_block(eta, block.expose(), &mut out.0, filled);
    }
}

/// Appends the coefficients of the accepted half-bytes of `bytes` to
/// `out[filled..]` and returns the new fill, at most 256.
///
/// Constant time except for the positions of rejected half-bytes.
#[inline(always)]
pub fn rej_bounded_block(eta: i32, bytes: &[u8], out: &mut [i32; N], mut filled: usize) -> usize {
    for &byte in bytes {
        for half in [byte & 15, byte >> 4] {
            let Some(slot) = out.get_mut(filled) else {
                return filled;
            };
            // A value that is rejected is overwritten by the next one: a branch on acceptance
            // would be mispredicted.
            let (accepted, value) = coeff_from_half_byte(eta, i32::from(half));
            *slot = value;
            filled += usize::from(accepted);
        }
    }
    filled
}

/// Computes [`rej_bounded_poly`] in its packed form, 96 or 128 bytes, without a
/// polynomial in between.
///
/// Constant time except for the positions of rejected half-bytes.
#[cfg(feature = "unstable-internals")]
#[inline(never)]
pub fn rej_bounded_packed(
    keccak: Permutation,
    eta: i32,
    rho_p: &[u8; 64],
    nonce: u16,
    out: &mut [u8],
) {
    let mut xof = Shake256::new(keccak);
    xof.absorb(rho_p);
    xof.absorb(&nonce.to_le_bytes());
    xof.finish();
    let bits = if eta == 2 { 3 } else { 4 };
    let mut bytes = Secret::<[u8; 8]>::zeroed();
    let mut group = Secret::<[i32; pack::GROUP]>::zeroed();
    let (bytes, group) = (bytes.expose_mut(), group.expose_mut());
    let mut halves = 0;
    for n in (0..N).step_by(pack::GROUP) {
        let slot = pack::part_mut(out, bits, n, pack::GROUP);
        let mut filled = 0;
        while let Some(place) = group.get_mut(filled) {
            if halves == 0 {
                xof.squeeze(bytes);
                halves = 16;
            }
            let at = (16 - halves) / 2;
            let half = i32::from(bytes[at] & 15);
            bytes[at] >>= 4;
            halves -= 1;
            let (accepted, value) = coeff_from_half_byte(eta, half);
            *place = value;
            filled += usize::from(accepted);
        }
        pack::pack_eta_part(eta, group, slot);
    }
}

/// Computes algorithm 32 ExpandA, the entries `first..first + out.len()` in row order.
pub fn expand_a(rho: &[u8; SEED_LEN], l: usize, first: usize, out: &mut [NttPoly]) {
    for (n, entry) in out.iter_mut().enumerate() {
        let (r, s) = ((first + n) / l, (first + n) % l);
        rej_ntt_poly_vartime(Permutation::PORTABLE, rho, s as u8, r as u8, entry);
    }
}

/// Computes algorithm 33 ExpandS, the polynomials `first..first + out.len()` of s1, s2.
pub fn expand_s(rho_p: &[u8; 64], eta: i32, first: usize, out: &mut [Poly]) {
    for (n, s) in out.iter_mut().enumerate() {
        rej_bounded_poly(Permutation::PORTABLE, eta, rho_p, (first + n) as u16, s);
    }
}

/// Computes algorithm 34 ExpandMask, the polynomial of counter `kappa` in its packed form,
/// which is also the packed form of z: 576 or 640 bytes of H(rho_pp || kappa).
/// Constant time.
pub fn expand_mask_packed(keccak: Permutation, rho_pp: &[u8; 64], kappa: u16, out: &mut [u8]) {
    Shake256::digest(keccak, &[rho_pp, &kappa.to_le_bytes()], out);
}

/// Computes one polynomial of algorithm 34 in coefficient form, a few bytes at a time.
///
/// Constant time. Bounds: -gamma1 < out <= gamma1.
#[cfg(feature = "unstable-internals")]
#[inline(never)]
pub fn expand_mask_poly(
    keccak: Permutation,
    rho_pp: &[u8; 64],
    kappa: u16,
    gamma1_bits: u32,
    out: &mut [i32; N],
) {
    let mut xof = Shake256::new(keccak);
    xof.absorb(rho_pp);
    xof.absorb(&kappa.to_le_bytes());
    xof.finish();
    let mut bytes = Secret::<[u8; 80]>::zeroed();
    let bytes = &mut bytes.expose_mut()[..4 * (1 + gamma1_bits as usize)];
    for part in out.chunks_exact_mut(4 * pack::GROUP) {
        xof.squeeze(bytes);
        pack::unpack_z_part(gamma1_bits, bytes, part);
    }
}

/// A challenge polynomial as algorithm 29 makes it: tau positions with signs.
/// 256 bytes, coefficients in {-1, 0, 1}.
#[derive(Debug)]
pub struct Challenge(pub [i8; N]);

impl Challenge {
    /// Computes algorithm 29 SampleInBall, from all bytes of `c_tilde`.
    ///
    /// Variable time: the challenge of an attempt is public.
    pub fn sample_in_ball_vartime(keccak: Permutation, tau: usize, c_tilde: &[u8]) -> Self {
        let mut xof = Shake256::new(keccak);
        xof.absorb(c_tilde);
        xof.finish();
        Self::from_stream(tau, || {
            let mut byte = [0u8; 1];
            xof.squeeze(&mut byte);
            byte[0]
        })
    }

    /// Samples the same from the bytes of another generator.
    pub fn from_stream(tau: usize, mut next: impl FnMut() -> u8) -> Self {
        let mut c = Self([0; N]);
        // A byte that always comes never runs out.
        let _ = c.fill(tau, || Some(next()));
        c
    }

    /// The same from the first block that SHAKE256 squeezes after `c_tilde`;
    /// `None` if 136 bytes are not enough, which is too improbable to occur.
    pub(crate) fn from_block(tau: usize, block: &[u8; 136]) -> Option<Self> {
        let mut bytes = block.iter();
        let mut c = Self([0; N]);
        c.fill(tau, || bytes.next().copied())?;
        Some(c)
    }

    fn fill(&mut self, tau: usize, next: impl FnMut() -> Option<u8>) -> Option<()> {
        sample_in_ball_steps_vartime(tau, next, |i, j, negative| {
            self.0[usize::from(i)] = self.0[usize::from(j)];
            self.0[usize::from(j)] = if negative { -1 } else { 1 };
        })
    }

    /// Writes the same as a polynomial.
    pub fn to_poly(&self, out: &mut Poly) {
        for (a, &c) in out.0.iter_mut().zip(&self.0) {
            *a = i32::from(c);
        }
    }
}

/// The steps of algorithm 29: `step(i, j, negative)` is
/// `c[i] = c[j]; c[j] = +-1`, tau times. `None` if `next` runs out of bytes.
#[inline(always)]
pub(crate) fn sample_in_ball_steps_vartime(
    tau: usize,
    mut next: impl FnMut() -> Option<u8>,
    mut step: impl FnMut(u8, u8, bool),
) -> Option<()> {
    let mut sign_bytes = [0u8; 8];
    for byte in &mut sign_bytes {
        *byte = next()?;
    }
    let mut signs = u64::from_le_bytes(sign_bytes);
    for i in N - tau..N {
        let j = loop {
            let j = next()?;
            if usize::from(j) <= i {
                break j;
            }
        };
        step(i as u8, j, signs & 1 == 1);
        signs >>= 1;
    }
    Some(())
}

impl Drop for Challenge {
    fn drop(&mut self) {
        for c in &mut self.0 {
            *c = 0;
        }
        zeroize::optimization_barrier(self);
    }
}

#[cfg(test)]
mod tests;
