//! SHAKE128 and SHAKE256 (FIPS 202), the G and H of FIPS 204 section 3.7.

use core::fmt;

use crate::hash::keccak::Permutation;
use crate::hash::lane;
use crate::memory::array::{Wipe, Zeroed};
use crate::params::SMALL;

/// SHAKE128: the XOF G, from which A is sampled.
pub type Shake128 = Sponge<168>;
/// SHAKE256: the XOF H.
pub type Shake256 = Sponge<136>;

/// An incremental sponge with `RATE` bytes a block: absorb any number of
/// pieces, then squeeze any number of pieces. The state is wiped on drop.
///
/// Constant time in the data; lengths are public.
#[derive(Clone)]
pub struct Sponge<const RATE: usize> {
    state: [u64; 25],
    position: usize,
    keccak: Permutation,
}

impl<const RATE: usize> Sponge<RATE> {
    /// Creates an empty sponge.
    #[inline(always)]
    pub fn new(keccak: Permutation) -> Self {
        Self {
            state: Zeroed::zeroed(),
            position: 0,
            keccak,
        }
    }

    /// Absorbs `bytes`. Not to be called after [`Self::finish`].
    pub fn absorb(&mut self, mut bytes: &[u8]) {
        if SMALL {
            let (state, position) = (&mut self.state, &mut self.position);
            return absorb_bytes(self.keccak, RATE, state, position, bytes);
        }
        while !self.position.is_multiple_of(8) || bytes.len() < 8 {
            let Some((&byte, rest)) = bytes.split_first() else {
                return;
            };
            let value = u64::from(byte) << (self.position % 8 * 8);
            lane::add(&mut self.state, self.position / 8, value);
            self.advance(1);
            bytes = rest;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            lane::add(
                &mut self.state,
                self.position / 8,
                u64::from_le_bytes(*word),
            );
            self.advance(8);
        }
        if !rest.is_empty() {
            self.absorb(rest);
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.position += bytes;
        if self.position == RATE {
            self.keccak.permute(&mut self.state);
            self.position = 0;
        }
    }

    /// Ends the input: pads, and makes the sponge ready to squeeze.
    pub fn finish(&mut self) {
        self.finish_with(0x1f);
    }

    /// Finishes with another domain byte than that of SHAKE: 0x01 is the Keccak of
    /// Ethereum.
    pub fn finish_with(&mut self, domain: u8) {
        if SMALL {
            // The absorption of the last byte would permute, which is left to squeezing.
            let (state, position) = (&mut self.state, self.position);
            lane::add_byte(state, position, domain);
            lane::add_byte(state, RATE - 1, 0x80);
            self.position = RATE;
            return;
        }
        let value = u64::from(domain) << (self.position % 8 * 8);
        lane::add(&mut self.state, self.position / 8, value);
        lane::add(&mut self.state, RATE / 8 - 1, 1 << 63);
        self.position = RATE;
    }

    /// Squeezes `out.len()` bytes, continuing where the last call stopped. Only
    /// after [`Self::finish`].
    pub fn squeeze(&mut self, mut out: &mut [u8]) {
        if SMALL {
            let (state, position) = (&mut self.state, &mut self.position);
            return squeeze_bytes(self.keccak, RATE, state, position, out);
        }
        while !out.is_empty() {
            if self.position == RATE && out.len() >= RATE {
                let (block, rest) = out.split_at_mut(RATE);
                self.keccak.permute(&mut self.state);
                for (n, bytes) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    *bytes = lane::value(&self.state, n).to_le_bytes();
                }
                out = rest;
                continue;
            }
            if self.position == RATE {
                self.keccak.permute(&mut self.state);
                self.position = 0;
            }
            let word = lane::value(&self.state, self.position / 8).to_le_bytes();
            let word = &word[self.position % 8..];
            let take = word.len().min(out.len());
            let (head, tail) = out.split_at_mut(take);
            head.copy_from_slice(&word[..take]);
            self.position += take;
            out = tail;
        }
    }

    /// Squeezes a whole block, where the last one was used up, to be read by
    /// [`Self::three_words`]: without a copy.
    #[inline(always)]
    pub fn squeeze_block(&mut self) {
        self.keccak.permute(&mut self.state);
    }

    /// Returns three words of the block from word `n`.
    #[inline(always)]
    pub fn three_words(&self, n: usize) -> [u64; 3] {
        [
            lane::value(&self.state, n),
            lane::value(&self.state, n + 1),
            lane::value(&self.state, n + 2),
        ]
    }

    /// Absorbs `parts` as one string, pads, and fills `out`: H(parts, |out|).
    pub fn digest(keccak: Permutation, parts: &[&[u8]], out: &mut [u8]) {
        let mut sponge = Self::new(keccak);
        for part in parts {
            sponge.absorb(part);
        }
        sponge.finish();
        sponge.squeeze(out);
    }
}

/// Absorbs as [`Sponge::absorb`] does, for every rate, byte by byte.
#[inline(never)]
fn absorb_bytes(
    keccak: Permutation,
    rate: usize,
    state: &mut [u64; 25],
    position: &mut usize,
    bytes: &[u8],
) {
    for &byte in bytes {
        lane::add_byte(state, *position, byte);
        *position += 1;
        if *position == rate {
            keccak.permute(state);
            *position = 0;
        }
    }
}

/// Squeezes as [`Sponge::squeeze`] does, for every rate, byte by byte.
#[inline(never)]
fn squeeze_bytes(
    keccak: Permutation,
    rate: usize,
    state: &mut [u64; 25],
    position: &mut usize,
    out: &mut [u8],
) {
    for byte in out {
        if *position == rate {
            keccak.permute(state);
            *position = 0;
        }
        let word = lane::value(state, *position / 8);
        let half = if *position & 4 != 0 { word >> 32 } else { word };
        *byte = (half as u32 >> (*position % 4 * 8)) as u8;
        *position += 1;
    }
}

impl<const RATE: usize> Drop for Sponge<RATE> {
    fn drop(&mut self) {
        self.state.wipe();
    }
}

impl<const RATE: usize> fmt::Debug for Sponge<RATE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sponge(..)")
    }
}

/// A string in two parts, and the buffer that its SHAKE256 fills.
#[derive(Debug)]
pub struct LaneHash<'a> {
    /// Input: both parts as one string.
    pub input: [&'a [u8]; 2],
    /// Output buffer.
    pub output: &'a mut [u8],
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha3::digest::{ExtendableOutput, Update, XofReader};

    fn check<const RATE: usize, S: Default + Update + ExtendableOutput>() {
        let data: [u8; 700] = core::array::from_fn(|n| (n * 7 + n / 256) as u8);
        for len in (0..700).step_by(1) {
            let mut reference = S::default();
            reference.update(&data[..len]);
            let mut expected = [0u8; 500];
            reference.finalize_xof().read(&mut expected);

            // One piece in, one piece out.
            let mut out = [0u8; 500];
            Sponge::<RATE>::digest(Permutation::PORTABLE, &[&data[..len]], &mut out);
            assert_eq!(out, expected);

            // Byte by byte.
            let (mut state, mut position) = ([0; 25], 0);
            let (keccak, at) = (Permutation::PORTABLE, &mut position);
            absorb_bytes(keccak, RATE, &mut state, at, &data[..len]);
            lane::add_byte(&mut state, *at, 0x1f);
            lane::add_byte(&mut state, RATE - 1, 0x80);
            *at = RATE;
            squeeze_bytes(keccak, RATE, &mut state, at, &mut out);
            assert_eq!(out, expected);

            // Uneven pieces in and out.
            let mut sponge = Sponge::<RATE>::new(Permutation::PORTABLE);
            for piece in data[..len].chunks(1 + len % 37) {
                sponge.absorb(piece);
            }
            sponge.finish();
            for piece in out.chunks_mut(1 + len % 41) {
                sponge.squeeze(piece);
            }
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn equal_to_an_independent_implementation_at_every_length() {
        check::<168, sha3::Shake128>();
        check::<136, sha3::Shake256>();
    }
}
