//! A checksum of the secrets of a key: made when the key is made, compared before a signature is
//! released. The check that a signature is made of the masks of K reads the same K as signing did;
//! this one tells that K is still the K of the key.

use crate::memory::ct::difference;
use crate::memory::secret::Secret;
use crate::params::{CRH_LEN, SEED_LEN};
use crate::ring::poly::NttPoly;

/// A checksum of K, `tr`, s1 and s2. As secret as they are.
pub(crate) type Checksum = Secret<[u64; 1]>;

/// s1 and s2 of a key, as they are kept.
#[derive(Clone, Copy)]
pub(crate) enum Secrets<'a> {
    /// As they are encoded.
    Packed([&'a [u8]; 2]),
    /// Transformed.
    #[cfg_attr(
        not(feature = "alloc"),
        allow(dead_code, reason = "of prepared keys on the heap")
    )]
    Transformed([&'a [NttPoly]; 2]),
}

/// What the secrets of a key have to agree with before a signature is released.
#[derive(Clone, Copy)]
pub(crate) struct Seal<'a> {
    pub(crate) checksum: &'a Checksum,
    /// The one of the public key with which `mu` was computed.
    pub(crate) tr: &'a [u8; CRH_LEN],
    pub(crate) secrets: Secrets<'a>,
}

impl Seal<'_> {
    /// Returns zero if the secrets, K among them, are those of which the checksum was made.
    /// Constant time.
    pub(crate) fn difference(&self, k_seed: &[u8; SEED_LEN]) -> u8 {
        let mut now = Checksum::zeroed();
        checksum(k_seed, self.tr, self.secrets, &mut now);
        difference(
            &now.expose()[0].to_le_bytes(),
            &self.checksum.expose()[0].to_le_bytes(),
        )
    }
}

/// Returns zero if, and only if, all bytes of K are equal: K of zeros, for example, makes masks that anyone can
/// compute. Constant time.
#[must_use]
pub fn variation(k_seed: &[u8; SEED_LEN]) -> u8 {
    difference(&k_seed[1..], k_seed)
}

/// Computes the checksum of secrets. Constant time.
///
/// It is made for faults, not for forgers. Every step is a permutation of the state, so that a
/// change of one word is always seen. Changes of several words can cancel each other, unrelated
/// ones with a probability of about 2^-64. It has no multiplications, whose time depends on their
/// operands on some CPUs.
pub(crate) fn checksum(
    k_seed: &[u8; SEED_LEN],
    tr: &[u8; CRH_LEN],
    secrets: Secrets<'_>,
    out: &mut Checksum,
) {
    absorb_all(k_seed, tr, secrets, out);
    // Unoptimised code copies the words of the secrets to the frames below.
    zeroize::zeroize_stack::<2048>();
}

#[inline(never)]
fn absorb_all(
    k_seed: &[u8; SEED_LEN],
    tr: &[u8; CRH_LEN],
    secrets: Secrets<'_>,
    out: &mut Checksum,
) {
    let mut state = Secret::<[u64; 4]>::zeroed();
    let state = state.expose_mut();
    *state = [START; 4];
    absorb_bytes(state, k_seed);
    absorb_bytes(state, tr);
    match secrets {
        Secrets::Packed(vectors) => vectors.map(|rows| absorb_bytes(state, rows)),
        Secrets::Transformed(vectors) => vectors.map(|rows| {
            for row in rows {
                let (blocks, _) = row.0.as_chunks::<8>();
                for &[a, b, c, d, e, f, g, h] in blocks {
                    absorb(state, [(a, b), (c, d), (e, f), (g, h)].map(word));
                }
            }
        }),
    };
    let sum = state.iter().fold(START, |sum, lane| step(sum, *lane));
    out.expose_mut()[0] = sum;
}

/// A start that no key of zeros has as its checksum.
const START: u64 = 0x6d6c_6473_612d_6b65;

/// Absorbs bytes, whose number is a multiple of 32.
fn absorb_bytes(state: &mut [u64; 4], bytes: &[u8]) {
    let (blocks, rest) = bytes.as_chunks::<8>().0.as_chunks::<4>();
    debug_assert!(rest.is_empty());
    for block in blocks {
        absorb(state, block.map(u64::from_le_bytes));
    }
}

fn word((low, high): (i32, i32)) -> u64 {
    u64::from(low as u32) | u64::from(high as u32) << 32
}

#[inline(always)]
fn absorb(state: &mut [u64; 4], words: [u64; 4]) {
    for (lane, word) in state.iter_mut().zip(words) {
        *lane = step(*lane, word);
    }
}

#[inline(always)]
fn step(lane: u64, word: u64) -> u64 {
    let lane = lane ^ word;
    lane.wrapping_add(lane << 3).rotate_left(29)
}
