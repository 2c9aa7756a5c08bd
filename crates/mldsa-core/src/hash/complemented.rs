//! The permutation of one state with few inversions.

use crate::hash::keccak::{Word, keccak_f1600};

/// A word of a state that has the words [`COMPLEMENTED`] inverted. Then chi needs eight
/// inversions a round instead of 25, which on most CPUs are instructions of their own.
#[derive(Clone, Copy)]
struct Complemented(u64);

/// Indices of the inverted words, before and after each round.
const COMPLEMENTED: [usize; 6] = [1, 2, 8, 12, 17, 20];

impl Word for Complemented {
    type Effect = u64;

    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        Self(self.0 ^ b.0)
    }

    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        Self(self.0 ^ (!b.0 & c.0))
    }

    /// Which operands are inverted follows from where pi takes the inverted words: by De
    /// Morgan's laws `!b & c` of inverted words is an `or`.
    #[inline(always)]
    fn chi_row<const ROW: usize>(b0: Self, b1: Self, b2: Self, b3: Self, b4: Self) -> [Self; 5] {
        let (a, b, c, d, e) = (b0.0, b1.0, b2.0, b3.0, b4.0);
        let row = match ROW {
            0 => [
                a ^ (b | c),
                b ^ (!c | d),
                c ^ (d & e),
                d ^ (e | a),
                e ^ (a & b),
            ],
            1 => [
                a ^ (b | c),
                b ^ (c & d),
                c ^ (d | !e),
                d ^ (e | a),
                e ^ (a & b),
            ],
            2 => [
                a ^ (b | c),
                b ^ (c & d),
                c ^ (!d & e),
                !d ^ (e | a),
                e ^ (a & b),
            ],
            3 => [
                a ^ (b & c),
                b ^ (c | d),
                c ^ (!d | e),
                !d ^ (e & a),
                e ^ (a | b),
            ],
            _ => [
                a ^ (!b & c),
                !b ^ (c | d),
                c ^ (d & e),
                d ^ (e | a),
                e ^ (a & b),
            ],
        };
        row.map(Self)
    }

    #[inline(always)]
    fn rotl<const BITS: u32>(self) -> Self {
        Self(self.0.rotate_left(BITS))
    }

    #[inline(always)]
    fn xor_constant(self, value: u64) -> Self {
        Self(self.0 ^ value)
    }

    #[inline(always)]
    fn effect(left: Self, right: Self) -> u64 {
        left.0 ^ right.0
    }

    #[inline(always)]
    fn apply(self, effect: u64) -> Self {
        Self(self.0 ^ effect)
    }
}

/// [`keccak_f1600`] on a state with inverted words. Constant time.
#[inline(always)]
pub(crate) fn keccak_f1600_complemented(state: &mut [u64; 25]) {
    for n in COMPLEMENTED {
        state[n] = !state[n];
    }
    let mut words = state.map(Complemented);
    keccak_f1600(&mut words);
    *state = words.map(|word| word.0);
    for n in COMPLEMENTED {
        state[n] = !state[n];
    }
}
