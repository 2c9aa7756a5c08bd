//! The Keccak-f[1600] permutation (FIPS 202 section 3), one body for every
//! word: a `u64` is one state, a vector of them is one state per lane.

/// What the permutation needs of its words. One implementation per vector type.
pub trait Word: Copy {
    /// What theta adds to a column: two parities, combined as early (one word) or
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
    /// `self` rotated left by `BITS`.
    fn rotl<const BITS: u32>(self) -> Self;
    /// `value` in every lane.
    fn splat(value: u64) -> Self;
    /// `left ^ right`, the effect of two column parities.
    fn effect(left: Self, right: Self) -> Self::Effect;
    /// `self ^ effect`.
    fn apply(self, effect: Self::Effect) -> Self;
}

impl Word for u64 {
    type Effect = Self;

    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        self ^ b
    }

    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        self ^ (!b & c)
    }

    #[inline(always)]
    fn rotl<const BITS: u32>(self) -> Self {
        self.rotate_left(BITS)
    }

    #[inline(always)]
    fn splat(value: u64) -> Self {
        value
    }

    #[inline(always)]
    fn effect(left: Self, right: Self) -> Self {
        left ^ right
    }

    #[inline(always)]
    fn apply(self, effect: Self) -> Self {
        self ^ effect
    }
}

/// Round constants of iota, computed by the compiler from the LFSR of FIPS 202
/// algorithm 5.
pub const ROUND_CONSTANTS: [u64; 24] = {
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
///
/// Named words instead of index loops: the loop form leaves array copies in
/// vector builds.
#[inline(always)]
#[rustfmt::skip]
pub fn keccak_f1600<W: Word>(state: &mut [W; 25]) {
    let [mut a00, mut a01, mut a02, mut a03, mut a04, mut a05, mut a06, mut a07, mut a08, mut a09, mut a10, mut a11, mut a12,
         mut a13, mut a14, mut a15, mut a16, mut a17, mut a18, mut a19, mut a20, mut a21, mut a22, mut a23, mut a24] = *state;
    for constant in ROUND_CONSTANTS {
        // theta
        let c0 = a00.xor3(a05, a10).xor3(a15, a20);
        let c1 = a01.xor3(a06, a11).xor3(a16, a21);
        let c2 = a02.xor3(a07, a12).xor3(a17, a22);
        let c3 = a03.xor3(a08, a13).xor3(a18, a23);
        let c4 = a04.xor3(a09, a14).xor3(a19, a24);
        let d0 = W::effect(c4, c1.rotl::<1>());
        let d1 = W::effect(c0, c2.rotl::<1>());
        let d2 = W::effect(c1, c3.rotl::<1>());
        let d3 = W::effect(c2, c4.rotl::<1>());
        let d4 = W::effect(c3, c0.rotl::<1>());
        // rho and pi: word (x, y) goes to (y, 2x + 3y)
        let b00 = a00.apply(d0);
        let b10 = a01.apply(d1).rotl::<1>();
        let b20 = a02.apply(d2).rotl::<62>();
        let b05 = a03.apply(d3).rotl::<28>();
        let b15 = a04.apply(d4).rotl::<27>();
        let b16 = a05.apply(d0).rotl::<36>();
        let b01 = a06.apply(d1).rotl::<44>();
        let b11 = a07.apply(d2).rotl::<6>();
        let b21 = a08.apply(d3).rotl::<55>();
        let b06 = a09.apply(d4).rotl::<20>();
        let b07 = a10.apply(d0).rotl::<3>();
        let b17 = a11.apply(d1).rotl::<10>();
        let b02 = a12.apply(d2).rotl::<43>();
        let b12 = a13.apply(d3).rotl::<25>();
        let b22 = a14.apply(d4).rotl::<39>();
        let b23 = a15.apply(d0).rotl::<41>();
        let b08 = a16.apply(d1).rotl::<45>();
        let b18 = a17.apply(d2).rotl::<15>();
        let b03 = a18.apply(d3).rotl::<21>();
        let b13 = a19.apply(d4).rotl::<8>();
        let b14 = a20.apply(d0).rotl::<18>();
        let b24 = a21.apply(d1).rotl::<2>();
        let b09 = a22.apply(d2).rotl::<61>();
        let b19 = a23.apply(d3).rotl::<56>();
        let b04 = a24.apply(d4).rotl::<14>();
        // chi, and iota on word 0
        a00 = b00.chi(b01, b02).xor(W::splat(constant));
        a01 = b01.chi(b02, b03);
        a02 = b02.chi(b03, b04);
        a03 = b03.chi(b04, b00);
        a04 = b04.chi(b00, b01);
        a05 = b05.chi(b06, b07);
        a06 = b06.chi(b07, b08);
        a07 = b07.chi(b08, b09);
        a08 = b08.chi(b09, b05);
        a09 = b09.chi(b05, b06);
        a10 = b10.chi(b11, b12);
        a11 = b11.chi(b12, b13);
        a12 = b12.chi(b13, b14);
        a13 = b13.chi(b14, b10);
        a14 = b14.chi(b10, b11);
        a15 = b15.chi(b16, b17);
        a16 = b16.chi(b17, b18);
        a17 = b17.chi(b18, b19);
        a18 = b18.chi(b19, b15);
        a19 = b19.chi(b15, b16);
        a20 = b20.chi(b21, b22);
        a21 = b21.chi(b22, b23);
        a22 = b22.chi(b23, b24);
        a23 = b23.chi(b24, b20);
        a24 = b24.chi(b20, b21);
    }
    *state = [a00, a01, a02, a03, a04, a05, a06, a07, a08, a09, a10, a11, a12,
              a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24];
}

/// The same permutation as a compact loop over the state: a smaller frame and
/// less code, for targets whose registers cannot hold the state anyway.
pub fn keccak_f1600_compact(a: &mut [u64; 25]) {
    for constant in ROUND_CONSTANTS {
        let mut c = [0u64; 5];
        for (x, c) in c.iter_mut().enumerate() {
            *c = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        }
        for x in 0..5 {
            let d = c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1);
            for y in 0..5 {
                a[x + 5 * y] ^= d;
            }
        }
        // rho and pi along the one cycle of 24 words that pi has.
        let mut carried = a[1];
        for (&at, &bits) in PI_CYCLE.iter().zip(&RHO_ALONG_PI) {
            let next = a[usize::from(at)];
            a[usize::from(at)] = carried.rotate_left(u32::from(bits));
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

/// Where pi carries the word that starts at (1, 0), step by step.
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
    fn compact_form_is_the_same_permutation() {
        let mut a: [u64; 25] =
            core::array::from_fn(|n| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(n as u64 + 1));
        let mut b = a;
        for _ in 0..100 {
            keccak_f1600(&mut a);
            keccak_f1600_compact(&mut b);
            assert_eq!(a, b);
        }
    }
}
