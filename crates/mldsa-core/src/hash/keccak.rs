//! The Keccak-f[1600] permutation (FIPS 202 section 3), one body for every
//! word: a `u64` is one state, a vector of them is one state per lane.

use core::fmt;

use crate::hash::complemented::keccak_f1600_complemented;
use crate::hash::lane::{self, stored};

/// The code that permutes one state: all that a sponge needs of a backend.
#[derive(Clone, Copy)]
pub struct Permutation(Body);

// Where there is nothing to choose from, a handle is empty and calls are direct:
// less code, and the compiler sees that states do not escape.
#[cfg(mldsa_simd)]
type Body = fn(&mut [u64; 25]);
#[cfg(not(mldsa_simd))]
type Body = ();

impl Permutation {
    /// Plain Rust, on every target.
    #[cfg(mldsa_simd)]
    pub const PORTABLE: Self = Self(portable);
    /// Plain Rust, on every target.
    #[cfg(not(mldsa_simd))]
    pub const PORTABLE: Self = Self(());

    /// Bytes of stack that it takes more than the assembly of ARMv7-M.
    pub const MORE_STACK: usize = if cfg!(any(mldsa_interleaved, all(mldsa_thumb2, mldsa_halves))) {
        0
    } else {
        660
    };

    /// Makes a handle of a backend's permutation, or of one that counts calls in a test.
    #[cfg(mldsa_simd)]
    pub const fn new(body: fn(&mut [u64; 25])) -> Self {
        Self(body)
    }

    /// Permutes. Constant time.
    #[inline(always)]
    pub(crate) fn permute(self, state: &mut [u64; 25]) {
        #[cfg(mldsa_simd)]
        (self.0)(state);
        #[cfg(mldsa_interleaved)]
        crate::backend::armv7m::permute(state);
        #[cfg(all(mldsa_thumb2, mldsa_halves))]
        crate::backend::thumb2::permute(state);
        #[cfg(not(any(mldsa_simd, mldsa_interleaved, all(mldsa_thumb2, mldsa_halves))))]
        portable(state);
    }
}

impl fmt::Debug for Permutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permutation(..)")
    }
}

/// The unrolled round takes half the instructions of the compact one, on 32-bit CPUs too, and 300
/// bytes more stack there. Neither builds for debugging nor 32-bit ones for size gain from it. With
/// `--cfg mldsa_hardware_keccak` it is a function of the program.
#[inline(always)]
pub(crate) fn portable(state: &mut [u64; 25]) {
    if cfg!(mldsa_hardware_keccak) {
        #[cfg(mldsa_hardware_keccak)]
        crate::backend::hardware::permute(state);
    } else if cfg!(all(
        not(debug_assertions),
        any(
            target_pointer_width = "64",
            not(any(mldsa_opt_level = "s", mldsa_opt_level = "z"))
        )
    )) {
        keccak_f1600_complemented(state);
    } else {
        compact::<{ lane::HALVES }>(state);
    }
}

/// The word of the permutation, one implementation per vector type. A vector-typed value
/// proves that the CPU has the features, so every method takes one.
pub(crate) trait Word: Copy {
    /// Addend of theta for a column: two parities, combined as early (one word) or
    /// as late (both words, where a three-input exclusive or exists) as suits.
    type Effect: Copy;

    /// `self ^ b`.
    fn xor(self, b: Self) -> Self;
    /// `self ^ b ^ c`.
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b).xor(c)
    }
    /// `self ^ (!b & c)`.
    fn chi(self, b: Self, c: Self) -> Self;
    /// Chi on the row `y = ROW`.
    #[inline(always)]
    fn chi_row<const ROW: usize>(b0: Self, b1: Self, b2: Self, b3: Self, b4: Self) -> [Self; 5] {
        [
            b0.chi(b1, b2),
            b1.chi(b2, b3),
            b2.chi(b3, b4),
            b3.chi(b4, b0),
            b4.chi(b0, b1),
        ]
    }
    /// `self` rotated left by `BITS`.
    fn rotl<const BITS: u32>(self) -> Self;
    /// `self ^ value` in every lane.
    fn xor_constant(self, value: u64) -> Self;
    /// `left ^ right`, the effect of two column parities.
    fn effect(left: Self, right: Self) -> Self::Effect;
    /// The same of a word that has still to be rotated left by one.
    #[inline(always)]
    fn effect_of_rotated(left: Self, right: Self) -> Self::Effect {
        Self::effect(left, right.rotl::<1>())
    }
    /// `self ^ effect`.
    fn apply(self, effect: Self::Effect) -> Self;
    /// The same, rotated left by `BITS`.
    #[inline(always)]
    fn apply_rotl<const BITS: u32>(self, effect: Self::Effect) -> Self {
        self.apply(effect).rotl::<BITS>()
    }
}

impl Word for u64 {
    type Effect = Self;

    #[inline]
    fn xor(self, b: Self) -> Self {
        self ^ b
    }

    #[inline]
    fn chi(self, b: Self, c: Self) -> Self {
        self ^ (!b & c)
    }

    #[inline]
    fn rotl<const BITS: u32>(self) -> Self {
        self.rotate_left(BITS)
    }

    #[inline]
    fn xor_constant(self, value: u64) -> Self {
        self ^ value
    }

    #[inline]
    fn effect(left: Self, right: Self) -> Self {
        left ^ right
    }

    #[inline]
    fn apply(self, effect: Self) -> Self {
        self ^ effect
    }
}

/// A pair of words. Vector and scalar instructions use different ports,
/// so a scalar state in parallel with a vector costs a fraction of a call of its own.
#[cfg(all(mldsa_simd, target_arch = "x86_64"))]
impl<A: Word, B: Word> Word for (A, B) {
    type Effect = (A::Effect, B::Effect);

    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        (self.0.xor(b.0), self.1.xor(b.1))
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        (self.0.xor3(b.0, c.0), self.1.xor3(b.1, c.1))
    }

    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        (self.0.chi(b.0, c.0), self.1.chi(b.1, c.1))
    }

    #[inline(always)]
    fn rotl<const BITS: u32>(self) -> Self {
        (self.0.rotl::<BITS>(), self.1.rotl::<BITS>())
    }

    #[inline(always)]
    fn xor_constant(self, value: u64) -> Self {
        (self.0.xor_constant(value), self.1.xor_constant(value))
    }

    #[inline(always)]
    fn effect(left: Self, right: Self) -> Self::Effect {
        (A::effect(left.0, right.0), B::effect(left.1, right.1))
    }

    // This and `apply_rotl` finish one word before they begin the other: the defaults make the
    // compiler keep more words in memory.
    #[inline(always)]
    fn effect_of_rotated(left: Self, right: Self) -> Self::Effect {
        (
            A::effect_of_rotated(left.0, right.0),
            B::effect_of_rotated(left.1, right.1),
        )
    }

    #[inline(always)]
    fn apply(self, effect: Self::Effect) -> Self {
        (self.0.apply(effect.0), self.1.apply(effect.1))
    }

    #[inline(always)]
    fn apply_rotl<const BITS: u32>(self, effect: Self::Effect) -> Self {
        (
            self.0.apply_rotl::<BITS>(effect.0),
            self.1.apply_rotl::<BITS>(effect.1),
        )
    }
}

/// Round constants of iota, computed by the compiler from the LFSR of FIPS 202
/// algorithm 5.
pub(crate) const ROUND_CONSTANTS: [u64; 24] = {
    let mut constants = [0u64; 24];
    let mut lfsr = 1u8;
    let mut round = 0;
    while round < 24 {
        let mut j = 0;
        while j < 7 {
            if lfsr & 1 == 1 {
                constants[round] |= 1 << ((1 << j) - 1);
            }
            lfsr = (lfsr << 1) ^ if lfsr & 0x80 != 0 { 0x71 } else { 0 };
            j += 1;
        }
        round += 1;
    }
    constants
};

/// Keccak-f[1600] on the state `a[x + 5 y]`. Constant time.
#[inline(always)]
pub(crate) fn keccak_f1600<W: Word>(state: &mut [W; 25]) {
    let mut a = *state;
    for constant in ROUND_CONSTANTS {
        a = round(a, constant);
    }
    *state = a;
}

/// [`keccak_f1600`] on states in vectors and on one more. Not a function: of one that is
/// inlined the compiler puts the scalar state into vectors, too.
#[cfg(all(mldsa_simd, target_arch = "x86_64"))]
macro_rules! permute_interleaved {
    ($state:expr, $one:expr) => {{
        let (state, one) = ($state, $one);
        // In a loop: the library's functions on arrays are inlined only as the profile
        // likes, and take registers through memory otherwise.
        let mut both = [(state[0], 0); 25];
        for w in 0..25 {
            both[w] = (state[w], one[w]);
        }
        $crate::hash::keccak::keccak_f1600(&mut both);
        for w in 0..25 {
            (state[w], one[w]) = both[w];
        }
    }};
}
#[cfg(all(mldsa_simd, target_arch = "x86_64"))]
pub(crate) use permute_interleaved;

/// Theta, rho, pi, chi and iota, the result one row after the other: few words
/// live at a time, and a scalar state paired with a vector one stays scalar.
///
/// Named words instead of index loops: the loop form leaves array copies in
/// vector builds.
#[inline(always)]
#[rustfmt::skip]
fn round<W: Word>(a: [W; 25], rc: u64) -> [W; 25] {
    let [
        a00, a10, a20, a30, a40, //
        a01, a11, a21, a31, a41, //
        a02, a12, a22, a32, a42, //
        a03, a13, a23, a33, a43, //
        a04, a14, a24, a34, a44,
    ] = a;
    let c0 = a00.xor3(a01, a02).xor3(a03, a04);
    let c1 = a10.xor3(a11, a12).xor3(a13, a14);
    let c2 = a20.xor3(a21, a22).xor3(a23, a24);
    let c3 = a30.xor3(a31, a32).xor3(a33, a34);
    let c4 = a40.xor3(a41, a42).xor3(a43, a44);
    let d0 = W::effect_of_rotated(c4, c1);
    let d1 = W::effect_of_rotated(c0, c2);
    let d2 = W::effect_of_rotated(c1, c3);
    let d3 = W::effect_of_rotated(c2, c4);
    let d4 = W::effect_of_rotated(c3, c0);

    let (b0, b1, b2, b3, b4) = (
        a00.apply(d0),
        a11.apply_rotl::<44>(d1),
        a22.apply_rotl::<43>(d2),
        a33.apply_rotl::<21>(d3),
        a44.apply_rotl::<14>(d4),
    );
    let [e00, e10, e20, e30, e40] = W::chi_row::<0>(b0, b1, b2, b3, b4);
    let e00 = e00.xor_constant(rc);

    let (b0, b1, b2, b3, b4) = (
        a30.apply_rotl::<28>(d3),
        a41.apply_rotl::<20>(d4),
        a02.apply_rotl::<3>(d0),
        a13.apply_rotl::<45>(d1),
        a24.apply_rotl::<61>(d2),
    );
    let [e01, e11, e21, e31, e41] = W::chi_row::<1>(b0, b1, b2, b3, b4);

    let (b0, b1, b2, b3, b4) = (
        a10.apply_rotl::<1>(d1),
        a21.apply_rotl::<6>(d2),
        a32.apply_rotl::<25>(d3),
        a43.apply_rotl::<8>(d4),
        a04.apply_rotl::<18>(d0),
    );
    let [e02, e12, e22, e32, e42] = W::chi_row::<2>(b0, b1, b2, b3, b4);

    let (b0, b1, b2, b3, b4) = (
        a40.apply_rotl::<27>(d4),
        a01.apply_rotl::<36>(d0),
        a12.apply_rotl::<10>(d1),
        a23.apply_rotl::<15>(d2),
        a34.apply_rotl::<56>(d3),
    );
    let [e03, e13, e23, e33, e43] = W::chi_row::<3>(b0, b1, b2, b3, b4);

    let (b0, b1, b2, b3, b4) = (
        a20.apply_rotl::<62>(d2),
        a31.apply_rotl::<55>(d3),
        a42.apply_rotl::<39>(d4),
        a03.apply_rotl::<41>(d0),
        a14.apply_rotl::<2>(d1),
    );
    let [e04, e14, e24, e34, e44] = W::chi_row::<4>(b0, b1, b2, b3, b4);

    [
        e00, e10, e20, e30, e40, //
        e01, e11, e21, e31, e41, //
        e02, e12, e22, e32, e42, //
        e03, e13, e23, e33, e43, //
        e04, e14, e24, e34, e44,
    ]
}

/// The same permutation as a compact loop over the state: a smaller frame and
/// less code, for targets whose registers cannot hold the state anyway.
#[cfg(any(test, feature = "unstable-internals"))]
pub fn keccak_f1600_compact(a: &mut [u64; 25]) {
    compact::<false>(a);
}

/// Permutes as [`keccak_f1600_compact`] does, also lanes whose low half has the even bits and whose high half has
/// the odd bits: 32-bit CPUs rotate these in two instructions.
fn compact<const HALVES: bool>(a: &mut [u64; 25]) {
    let constants = if HALVES {
        &HALVES_OF_CONSTANTS
    } else {
        &ROUND_CONSTANTS
    };
    // By reference: by value the constants would be copied to the stack.
    for constant in constants {
        let mut c = [0u64; 5];
        for (x, c) in c.iter_mut().enumerate() {
            *c = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        }
        for x in 0..5 {
            let d = c[(x + 4) % 5] ^ rotated::<HALVES>(c[(x + 1) % 5], 1);
            for y in 0..5 {
                a[x + 5 * y] ^= d;
            }
        }
        // rho and pi along the one cycle of 24 words that pi has.
        let mut carried = a[1];
        for (&at, &bits) in PI_CYCLE.iter().zip(&RHO_ALONG_PI) {
            let next = a[usize::from(at)];
            a[usize::from(at)] = rotated::<HALVES>(carried, u32::from(bits));
            carried = next;
        }
        for row in a.chunks_exact_mut(5) {
            let first = [row[0], row[1]];
            let mut x = 0;
            while x < 3 {
                row[x] ^= !row[x + 1] & row[x + 2];
                x += 1;
            }
            row[3] ^= !row[4] & first[0];
            row[4] ^= !first[0] & first[1];
        }
        a[0] ^= constant;
    }
}

#[inline(always)]
fn rotated<const HALVES: bool>(lane: u64, bits: u32) -> u64 {
    if !HALVES {
        return lane.rotate_left(bits);
    }
    let (even, odd) = (lane as u32, (lane >> 32) as u32);
    let half = bits / 2;
    let (even, odd) = if bits.is_multiple_of(2) {
        (even.rotate_left(half), odd.rotate_left(half))
    } else {
        (odd.rotate_left(half + 1), even.rotate_left(half))
    };
    u64::from(even) | u64::from(odd) << 32
}

/// [`ROUND_CONSTANTS`] as [`compact`] wants them.
const HALVES_OF_CONSTANTS: [u64; 24] = {
    let mut constants = ROUND_CONSTANTS;
    let mut n = 0;
    while n < 24 {
        constants[n] = stored(constants[n], [0, 0]);
        n += 1;
    }
    constants
};

/// Positions to which pi moves the word that starts at (1, 0), step by step.
const PI_CYCLE: [u8; 24] = {
    let mut cycle = [0; 24];
    let (mut x, mut y) = (1, 0);
    let mut step = 0;
    while step < 24 {
        (x, y) = (y, (2 * x + 3 * y) % 5);
        cycle[step] = (x + 5 * y) as u8;
        step += 1;
    }
    cycle
};

/// The rotation of word `x + 5 y` in rho.
#[cfg(all(mldsa_simd, target_arch = "x86_64"))]
pub(crate) const RHO: [u8; 25] = {
    let mut rotations = [0; 25];
    let (mut at, mut step) = (1, 0);
    while step < 24 {
        rotations[at] = RHO_ALONG_PI[step];
        at = PI_CYCLE[step] as usize;
        step += 1;
    }
    rotations
};

/// The rotation of the word at each step: triangular numbers mod 64.
const RHO_ALONG_PI: [u8; 24] = {
    let mut bits = [0; 24];
    let mut step = 0;
    while step < 24 {
        bits[step] = ((step + 1) * (step + 2) / 2 % 64) as u8;
        step += 1;
    }
    bits
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutation_of_the_zero_state() {
        // First and last word of Keccak-f[1600](0), from the Keccak team's
        // published intermediate values.
        let mut state = [0u64; 25];
        keccak_f1600(&mut state);
        assert_eq!(state[0], 0xf125_8f79_40e1_dde7);
        assert_eq!(state[24], 0xeaf1_ff7b_5cec_a249);
    }

    #[test]
    fn other_forms_are_the_same_permutation() {
        let mut a: [u64; 25] =
            core::array::from_fn(|n| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(n as u64 + 1));
        let (mut b, mut c) = (a, a);
        let mut d = a.map(|lane| stored(lane, [0, 0]));
        for _ in 0..100 {
            keccak_f1600(&mut a);
            keccak_f1600_compact(&mut b);
            assert_eq!(a, b);
            keccak_f1600_complemented(&mut c);
            assert_eq!(a, c);
            compact::<true>(&mut d);
            assert_eq!(a.map(|lane| stored(lane, [0, 0])), d);
        }
    }
}
