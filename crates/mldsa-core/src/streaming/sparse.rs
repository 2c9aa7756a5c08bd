//! Products with the challenge in coefficient form, for callers without memory
//! for its transform: tau shifted additions, many coefficients to a word.
//!
//! The places of the challenge are addresses; they are public (the challenge of
//! an attempt is). The other factor only ever feeds additions.

use crate::coding::pack::{
    GROUP, part, unpack_eta_part, unpack_signed_part, unpack_t0_part, unpack_t1_part,
};
use crate::hash::keccak::Permutation;
use crate::hash::xof::Shake256;
use crate::memory::array::{Wipe, Zeroed};
use crate::memory::secret::Secret;
use crate::params::{N, SMALL};
use crate::sample::sample_in_ball_steps_vartime;

/// Coefficients of a product made at once by [`SparseChallenge::times_secret`].
pub const CHUNK: usize = if SMALL { GROUP } else { 16 };

/// The challenge as its tau places, those with coefficient 1 first: 66 bytes.
#[derive(Debug)]
pub struct SparseChallenge {
    places: [u8; 64],
    positive: u8,
    tau: u8,
}

impl SparseChallenge {
    /// Creates a challenge that is zero.
    #[inline(always)]
    #[must_use]
    pub fn empty() -> Self {
        Self {
            places: Zeroed::zeroed(),
            positive: 0,
            tau: 0,
        }
    }

    /// Computes algorithm 29 in an empty challenge, from all bytes of `c_tilde`.
    ///
    /// Variable time: the challenge of an attempt is public.
    #[inline(never)]
    pub fn sample_in_ball_vartime(&mut self, keccak: Permutation, tau: usize, c_tilde: &[u8]) {
        self.tau = tau as u8;
        let mut minus_at = tau;
        let mut xof = Shake256::new(keccak);
        xof.absorb(c_tilde);
        xof.finish();
        let next = || {
            let mut byte = [0u8; 1];
            xof.squeeze(&mut byte);
            Some(byte[0])
        };
        // A byte that always comes never runs out.
        let _ = sample_in_ball_steps_vartime(tau, next, |i, j, negative| {
            // c[i] = c[j], then c[j] = +-1: the value at j moves to i, with its sign.
            let plus_at = usize::from(self.positive);
            let taken = self.places.iter_mut().enumerate();
            let mut taken = taken.filter(|(n, _)| *n < plus_at || (minus_at..tau).contains(n));
            if let Some((_, place)) = taken.find(|(_, place)| **place == j) {
                *place = i;
            }
            if negative {
                minus_at -= 1;
            } else {
                self.positive += 1;
            }
            let at = if negative { minus_at } else { plus_at };
            if let Some(slot) = self.places.get_mut(at) {
                *slot = j;
            }
        });
    }

    fn signed_places(&self) -> (&[u8], &[u8]) {
        let (positive, rest) = self.places.split_at(usize::from(self.positive) % 65);
        (
            positive,
            &rest[..usize::from(self.tau.saturating_sub(self.positive)).min(rest.len())],
        )
    }

    /// Computes `c s` for a packed row of s1 or s2, blocks of [`CHUNK`] coefficients in order:
    /// `emit(n, block)`.
    ///
    /// Bounds: code words in range, so |out| <= tau eta. Constant time in `s`.
    #[inline(always)]
    pub fn times_secret(&self, eta: i32, s: &[u8], mut emit: impl FnMut(usize, &mut [i32; CHUNK])) {
        if SMALL {
            let mut row = Secret::<[i16; N]>::zeroed();
            let row = row.expose_mut();
            let bits = if eta == 2 { 3 } else { 4 };
            unpack_row(row, bits, s);
            return self.times_row(row, emit);
        }
        let mut codes = Secret::<[u8; CHUNK + N]>::zeroed();
        let codes = codes.expose_mut();
        code_words(eta, s, codes);
        let lanes = if eta == 2 { 63 } else { 31 };
        let (positive, negative) = self.signed_places();
        let mut block = Secret::<[i32; CHUNK]>::zeroed();
        let block = block.expose_mut();
        for n in (0..N).step_by(CHUNK) {
            // sum of (eta - b) over 1s, less the same over -1s
            *block = [eta * (positive.len() as i32 - negative.len() as i32); CHUNK];
            for places in positive.chunks(lanes) {
                for (out, sum) in block.iter_mut().zip(sum_codes(codes, eta, n, places)) {
                    *out -= i32::from(sum);
                }
            }
            for places in negative.chunks(lanes) {
                for (out, sum) in block.iter_mut().zip(sum_codes(codes, eta, n, places)) {
                    *out += i32::from(sum);
                }
            }
            emit(n, block);
        }
    }

    /// Computes `c t1` for a packed row of t1, blocks of [`CHUNK`] coefficients in order.
    ///
    /// Bounds: 32 code words of at most 2046 are below 2^16. Public data.
    #[inline(always)]
    pub fn times_t1(&self, t1: &[u8], mut emit: impl FnMut(usize, &mut [i32; CHUNK])) {
        if SMALL {
            let mut row = Zeroed::zeroed();
            unpack_row(&mut row, 10, t1);
            return self.times_row(&row, emit);
        }
        let mut codes = [0; CHUNK + N];
        t1_code_words(t1, &mut codes);
        let (positive, negative) = self.signed_places();
        for n in (0..N).step_by(CHUNK) {
            let mut block = [1023 * (negative.len() as i32 - positive.len() as i32); CHUNK];
            for places in positive.chunks(32) {
                for (out, sum) in block.iter_mut().zip(sum_pairs(&codes, n, places)) {
                    *out += i32::from(sum);
                }
            }
            for places in negative.chunks(32) {
                for (out, sum) in block.iter_mut().zip(sum_pairs(&codes, n, places)) {
                    *out -= i32::from(sum);
                }
            }
            emit(n, &mut block);
        }
    }

    /// Computes `c t` for a row of 16-bit coefficients, blocks of `LEN` in order.
    ///
    /// Bounds: |t| <= 2^13 gives |out| < 2^19. Constant time in `t`.
    #[inline(always)]
    pub fn times_row<const LEN: usize>(
        &self,
        t: &[i16; N],
        mut emit: impl FnMut(usize, &mut [i32; LEN]),
    ) {
        let mut block = Secret::<[i32; LEN]>::zeroed();
        let block = block.expose_mut();
        for n in (0..N).step_by(LEN) {
            *block = Zeroed::zeroed();
            if SMALL {
                self.add_block(t, n, block);
            } else {
                let (positive, negative) = self.signed_places();
                add_shifted(t, n, positive, block);
                for a in block.iter_mut() {
                    *a = -*a;
                }
                add_shifted(t, n, negative, block);
                for a in block.iter_mut() {
                    *a = -*a;
                }
            }
            emit(n, block);
        }
    }

    /// Adds one group of [`Self::times_row`], coefficient by coefficient.
    #[inline(never)]
    fn add_block(&self, t: &[i16; N], n: usize, block: &mut [i32]) {
        for (at, &place) in self.places.iter().take(self.tau.into()).enumerate() {
            for (k, a) in block.iter_mut().enumerate() {
                let from = (n + k).wrapping_sub(place.into());
                let negative = (from >= N) != (at >= self.positive.into());
                let t = i32::from(t[from % N]);
                *a += if negative { -t } else { t };
            }
        }
    }
}

/// Unpacks a row of s1, s2, t0 or t1: the number of bits tells which.
#[cfg_attr(mldsa_small, inline(never))]
#[cfg_attr(not(mldsa_small), inline(always))]
pub(crate) fn unpack_row(row: &mut [i16; N], bits: usize, packed: &[u8]) {
    let mut group = Secret::<[i32; GROUP]>::zeroed();
    let group = group.expose_mut();
    for (n, out) in (0..).step_by(GROUP).zip(row.as_chunks_mut::<GROUP>().0) {
        let packed = part(packed, bits, n, GROUP);
        match bits {
            10 => unpack_t1_part(packed, group),
            13 => unpack_t0_part(packed, group),
            _ => unpack_signed_part(bits, packed, group),
        }
        for (out, &a) in out.iter_mut().zip(&*group) {
            *out = a as i16;
        }
    }
}

impl Drop for SparseChallenge {
    fn drop(&mut self) {
        self.places.wipe();
    }
}

/// Code words b = eta - s of a packed row, and before them the last 16 of -s:
/// X^256 = -1. Four lanes of a word add up to 252 without carry.
#[inline(never)]
fn code_words(eta: i32, s: &[u8], codes: &mut [u8; CHUNK + N]) {
    let mut group = Secret::<[i32; GROUP]>::zeroed();
    let group = group.expose_mut();
    let bits = if eta == 2 { 3 } else { 4 };
    for (n, codes) in (0..)
        .step_by(GROUP)
        .zip(codes[CHUNK..].chunks_exact_mut(GROUP))
    {
        unpack_eta_part(eta, part(s, bits, n, GROUP), group);
        for (code, &s) in codes.iter_mut().zip(&*group) {
            *code = (eta - s) as u8;
        }
    }
    let (wrapped, plain) = codes.split_at_mut(CHUNK);
    for (wrapped, &code) in wrapped.iter_mut().zip(&plain[N - CHUNK..]) {
        *wrapped = 2 * eta as u8 - code;
    }
}

/// Code words 1023 + t of a packed row of t1, and before them the last 16 of -t.
#[inline(never)]
fn t1_code_words(t1: &[u8], codes: &mut [u16; CHUNK + N]) {
    let mut group = [0; GROUP];
    for (n, codes) in (0..)
        .step_by(GROUP)
        .zip(codes[CHUNK..].chunks_exact_mut(GROUP))
    {
        unpack_t1_part(part(t1, 10, n, GROUP), &mut group);
        for (code, &t) in codes.iter_mut().zip(&group) {
            *code = 1023 + t as u16;
        }
    }
    let (wrapped, plain) = codes.split_at_mut(CHUNK);
    for (wrapped, &code) in wrapped.iter_mut().zip(&plain[N - CHUNK..]) {
        *wrapped = 2046 - code;
    }
}

/// [`sum_codes`] for the code words of t1.
// A call in debug builds, where inlining it takes kilobytes of stack.
#[cfg_attr(not(debug_assertions), inline(always))]
fn sum_pairs(codes: &[u16; CHUNK + N], n: usize, places: &[u8]) -> [u16; CHUNK] {
    let mut sums = [0u32; CHUNK / 2];
    for &place in places {
        let place = usize::from(place);
        let below = n + CHUNK < place;
        let at = if below { CHUNK + N } else { CHUNK } + n - place;
        if let Some(codes) = codes[at..].first_chunk::<CHUNK>() {
            for (sum, &[low, high]) in sums.iter_mut().zip(codes.as_chunks().0) {
                let pair = u32::from(low) | u32::from(high) << 16;
                // The code word of -t is 2046 - b, in both halves.
                *sum += if below { 0x07fe_07fe - pair } else { pair };
            }
        }
    }
    let mut out = [0; CHUNK];
    for (out, sum) in out.as_chunks_mut().0.iter_mut().zip(sums) {
        *out = [sum as u16, (sum >> 16) as u16];
    }
    out
}

/// The sums of the code words at `n - place`, for 16 `n` side by side; where that
/// is wholly below zero, of the code words of the negated coefficients.
// A call in debug builds, where inlining it takes kilobytes of stack.
#[cfg_attr(not(debug_assertions), inline(always))]
fn sum_codes(codes: &[u8; CHUNK + N], eta: i32, n: usize, places: &[u8]) -> [u8; CHUNK] {
    let mut sums = [0u32; CHUNK / 4];
    for &place in places {
        let place = usize::from(place);
        let below = n + CHUNK < place;
        let at = if below { CHUNK + N } else { CHUNK } + n - place;
        if let Some(bytes) = codes
            .get(at..)
            .and_then(|codes| codes.first_chunk::<CHUNK>())
        {
            for (sum, &word) in sums.iter_mut().zip(bytes.as_chunks::<4>().0) {
                let word = u32::from_le_bytes(word);
                // The code word of -s is 2 eta - b, in every lane.
                *sum = if below {
                    sum.wrapping_add((2 * eta as u32 * 0x0101_0101).wrapping_sub(word))
                } else {
                    sum.wrapping_add(word)
                };
            }
        }
    }
    let mut out = [0; CHUNK];
    for (out, sum) in out.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
        *out = sum.to_le_bytes();
    }
    out
}

/// Adds `sum over places of X^place t` at `n..n + 8` to `block`.
// A call in debug builds, where inlining it takes kilobytes of stack.
#[cfg_attr(not(debug_assertions), inline(always))]
fn add_shifted<const LEN: usize>(t: &[i16; N], n: usize, places: &[u8], block: &mut [i32; LEN]) {
    for &place in places {
        let place = usize::from(place);
        let at = n.wrapping_sub(place) % N;
        if let (Some(source), true) = (t[at..].first_chunk::<LEN>(), n >= place) {
            for (a, &t) in block.iter_mut().zip(source) {
                *a += i32::from(t);
            }
        } else if let (Some(source), true) = (t[at..].first_chunk::<LEN>(), n + LEN <= place) {
            for (a, &t) in block.iter_mut().zip(source) {
                *a -= i32::from(t);
            }
        } else {
            for (k, a) in block.iter_mut().enumerate() {
                let t = i32::from(t[(at + k) % N]);
                *a += if n + k >= place { t } else { -t };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::pack::{pack_eta, pack_t1};
    use crate::memory::array::Element;
    use crate::ring::poly::Poly;
    use crate::sample::Challenge;

    /// The schoolbook product in Z[X]/(X^256 + 1).
    fn plain(c: &[i8; N], t: &[i32; N]) -> [i32; N] {
        let mut out = [0; N];
        for i in 0..N {
            for j in 0..N {
                let product = i32::from(c[i]) * t[j];
                if i + j < N {
                    out[i + j] += product;
                } else {
                    out[i + j - N] -= product;
                }
            }
        }
        out
    }

    #[test]
    fn sparse_and_dense_challenges_agree() {
        for seed in 0..200u8 {
            for tau in [39, 49, 60] {
                let dense =
                    Challenge::sample_in_ball_vartime(Permutation::PORTABLE, tau, &[seed; 48]);
                let mut sparse = SparseChallenge::empty();
                sparse.sample_in_ball_vartime(Permutation::PORTABLE, tau, &[seed; 48]);
                let mut c = [0i8; N];
                let (positive, negative) = sparse.signed_places();
                positive
                    .iter()
                    .for_each(|&place| c[usize::from(place)] += 1);
                negative
                    .iter()
                    .for_each(|&place| c[usize::from(place)] -= 1);
                assert_eq!(c, dense.0);
                assert_eq!(positive.len() + negative.len(), tau);
            }
        }
    }

    #[test]
    fn products_are_schoolbook_products() {
        for seed in 0..40u8 {
            for (tau, eta) in [(39, 2), (49, 4), (60, 2)] {
                let c_tilde = [seed, 1, 2];
                let dense = Challenge::sample_in_ball_vartime(Permutation::PORTABLE, tau, &c_tilde);
                let mut c = SparseChallenge::empty();
                c.sample_in_ball_vartime(Permutation::PORTABLE, tau, &c_tilde);
                // Extremes in the first rounds, mixtures later.
                let s = Poly(core::array::from_fn(|n| match seed {
                    0 => eta,
                    1 => -eta,
                    _ => (n as i32 * 31 + i32::from(seed) * n as i32 / 3) % (2 * eta + 1) - eta,
                }));
                let mut packed = [0; 128];
                pack_eta(eta, &s, &mut packed);
                let mut out = Poly::ZERO;
                c.times_secret(eta, &packed, |n, block| {
                    out.0[n..n + CHUNK].copy_from_slice(block)
                });
                assert_eq!(out.0, plain(&dense.0, &s.0));

                let t = Poly(core::array::from_fn(|n| match seed {
                    0 => 1023,
                    1 => 0,
                    _ => (n as i32 * 7919 * i32::from(seed)) % 1024,
                }));
                let mut packed = [0; 320];
                pack_t1(&t, &mut packed);
                c.times_t1(&packed, |n, block| {
                    out.0[n..n + CHUNK].copy_from_slice(block)
                });
                assert_eq!(out.0, plain(&dense.0, &t.0));

                let t: [i16; N] = core::array::from_fn(|n| match seed {
                    0 => 4096,
                    1 => -4095,
                    _ => (n as i32 * 7919 * i32::from(seed) % 8192 - 4095) as i16,
                });
                c.times_row::<GROUP>(&t, |n, block| {
                    out.0[n..n + GROUP].copy_from_slice(block);
                    let mut other = [0; GROUP];
                    c.add_block(&t, n, &mut other);
                    assert_eq!(other, *block);
                });
                assert_eq!(out.0, plain(&dense.0, &t.map(i32::from)));
            }
        }
    }
}
