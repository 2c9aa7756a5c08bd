//! Words of 256 bits that hold one coefficient of several polynomials, and where
//! each set puts which.

use mldsa_core::internals::{Params, Q};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use ruint::aliases::U256;

/// q as a word.
pub const Q256: U256 = U256::from_limbs([Q as u64, 0, 0, 0]);

/// The same value in `count` lanes of `width` bits.
pub fn repeat(value: impl TryInto<U256>, count: usize, width: usize) -> U256 {
    let Ok(value) = value.try_into() else {
        panic!("value out of range");
    };
    (0..count).fold(U256::ZERO, |word, lane| word | (value << (lane * width)))
}

/// 2^bits - 1.
pub fn ones(bits: usize) -> U256 {
    if bits == 256 {
        U256::MAX
    } else {
        (U256::ONE << bits) - U256::ONE
    }
}

/// A word as a Yul literal.
pub fn literal(word: U256) -> String {
    format!("0x{word:x}")
}

/// Layout of the lanes of one direction of the transform in a word.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// Polynomials in a word.
    pub count: usize,
    /// Bits of a lane.
    pub width: usize,
    /// Shoup's quotient has this many bits of fraction.
    pub shoup: usize,
    /// Bits kept of a quotient.
    pub quotient: usize,
}

/// Everything that differs between the sets.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// 44, 65 or 87.
    pub name: u8,
    /// The numbers of the set.
    pub p: Params,
    /// Lanes of z and c. Column j of A with its -t1 2^13 is in lane
    /// `j % count` of group `j / count` of the matrix, and in the mirrored lane of
    /// the vector.
    pub forward: Lanes,
    /// Lanes of w, and rows of A that are multiplied together.
    pub inverse: Lanes,
    /// Multiple of q that keeps z non-negative through the forward transform; with
    /// `tight`, of the first layers only.
    pub start_bias: u64,
    /// Whether lanes are so narrow that every layer adds a bias and stages begin
    /// with a reduction.
    pub tight: bool,
    /// Matrix words of one step of an inverse group. A step serves one coefficient
    /// of w, or, where a group has 128 steps, coefficients j and j + 128.
    pub words: usize,
    /// Steps of a group: 128 or 256.
    pub steps: usize,
    /// Bits between sub-slots of a lane of a matrix word.
    pub spacing: usize,
}

impl Layout {
    /// The three of them.
    pub fn all() -> [Self; 3] {
        let shoup32 = |count, width| Lanes {
            count,
            width,
            shoup: 32,
            quotient: 32,
        };
        [
            Self {
                name: 44,
                p: MlDsa44::PARAMS,
                forward: Lanes {
                    count: 5,
                    width: 51,
                    shoup: 25,
                    quotient: 26,
                },
                inverse: shoup32(4, 64),
                start_bias: 1,
                tight: true,
                words: 4,
                steps: 128,
                spacing: 25,
            },
            Self {
                name: 65,
                p: MlDsa65::PARAMS,
                forward: shoup32(3, 85),
                inverse: shoup32(3, 85),
                start_bias: 10,
                tight: false,
                words: 2,
                steps: 256,
                spacing: 28,
            },
            Self {
                name: 87,
                p: MlDsa87::PARAMS,
                forward: shoup32(4, 64),
                inverse: shoup32(4, 64),
                start_bias: 10,
                tight: false,
                words: 4,
                steps: 256,
                spacing: 32,
            },
        ]
    }

    /// The layout of 44, 65 or 87.
    pub fn of(name: u8) -> Self {
        let found = Self::all().into_iter().find(|layout| layout.name == name);
        found.unwrap_or_else(|| panic!("no set {name}"))
    }

    /// Columns of a row with its t1, l + 1; the last is t1 in the matrix and c in
    /// the vector.
    pub fn columns(&self) -> usize {
        self.p.l + 1
    }

    /// Words for one coefficient of z and c.
    pub fn forward_groups(&self) -> usize {
        self.columns() / self.forward.count
    }

    /// Words for one coefficient of w.
    pub fn inverse_groups(&self) -> usize {
        self.p.k / self.inverse.count
    }

    /// Position of column j in the vector: its group and its shift.
    pub fn vector_place(&self, column: usize) -> (usize, usize) {
        let Lanes { count, width, .. } = self.forward;
        (column / count, (count - 1 - column % count) * width)
    }

    /// Left shift of the matrix words. It drops the bits above the sum from the word.
    pub fn lift(&self) -> usize {
        256 - self.forward.count * self.forward.width
    }

    /// First bit of the sum in the product of a matrix and a vector word.
    pub fn sum_shift(&self) -> usize {
        (self.forward.count - 1) * self.forward.width + self.lift()
    }

    /// For each word of a step, what its sub-slots hold: (row of the inverse
    /// group, forward group, which of the coefficients of the step).
    pub fn slots(&self) -> Vec<Vec<(usize, usize, usize)>> {
        let all: Vec<_> = (0..self.inverse.count)
            .flat_map(|row| {
                (0..self.forward_groups()).flat_map(move |group| {
                    (0..256 / self.steps).map(move |half| (row, group, half))
                })
            })
            .collect();
        let slots = all.len() / self.words;
        all.chunks(slots).map(<[_]>::to_vec).collect()
    }

    /// Bytes of the words of an inverse group.
    pub fn group_len(&self) -> usize {
        32 * self.words * self.steps
    }

    /// Bytes of all matrix words.
    pub fn words_len(&self) -> usize {
        self.inverse_groups() * self.group_len()
    }

    /// Bits of a packed coefficient of w1.
    pub fn w1_bits(&self) -> usize {
        self.p.w1_poly_len() * 8 / 256
    }

    /// Lanes of 64 bits of a packed polynomial of w1.
    pub fn w1_lanes(&self) -> usize {
        4 * self.w1_bits()
    }

    /// HighBits takes this many values.
    pub fn w1_values(&self) -> u64 {
        (Q as u64 - 1) / (2 * self.p.gamma2 as u64)
    }
}
