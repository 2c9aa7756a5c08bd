//! Keccak on one state for cores whose logical instructions rotate an operand for nothing:
//! no word is rotated on its own.
//!
//! Each word is kept rotated right by a constant, and what is added to it is rotated by
//! the difference. Theta takes a word to the rotation of the effect, rho adds its own, and
//! chi leaves the rotation of its second next word: [`KEPT`] is what all rounds agree on.

/// By how much word x + 5 y is kept rotated right between rounds.
const KEPT: [u32; 25] = [
    20, 35, 14, 0, 0, //
    3, 1, 38, 42, 20, //
    39, 8, 18, 21, 47, //
    30, 56, 6, 27, 36, //
    39, 41, 22, 39, 5,
];

/// The row whose word the parity of column x begins with, and so what it is rotated by.
const FIRST: [usize; 5] = [0, 4, 0, 0, 0];

/// What the effect on column x is rotated by: as the parity on its left.
const fn of_effect(x: usize) -> u32 {
    let left = (x + 4) % 5;
    KEPT[left + 5 * FIRST[left]]
}

/// What word x + 5 y is rotated by between pi and chi.
const fn of_moved(x: usize, y: usize) -> u32 {
    KEPT[(x + 3) % 5 + 5 * y]
}

/// A word that is kept rotated right by `from`, rotated right by `to`.
#[inline(always)]
fn turned(word: u64, from: u32, to: u32) -> u64 {
    word.rotate_left((64 + from - to) % 64)
}

/// Keccak-f[1600]. Constant time.
#[inline(always)]
pub(super) fn permute(state: &mut [u64; 25]) {
    let mut a = *state;
    for (word, kept) in a.iter_mut().zip(KEPT) {
        *word = turned(*word, 0, kept);
    }
    for constant in &crate::hash::keccak::ROUND_CONSTANTS {
        a = round(&a);
        a[0] ^= turned(*constant, 0, KEPT[0]);
    }
    for (word, kept) in a.iter_mut().zip(KEPT) {
        *word = turned(*word, kept, 0);
    }
    *state = a;
}

/// All of a round but iota.
#[inline(always)]
fn round(a: &[u64; 25]) -> [u64; 25] {
    let mut parity = [0; 5];
    for x in 0..5 {
        let first = x + 5 * FIRST[x];
        parity[x] = a[first];
        for y in 1..5 {
            let at = x + 5 * ((FIRST[x] + y) % 5);
            parity[x] ^= turned(a[at], KEPT[at], KEPT[first]);
        }
    }
    let mut moved = [0; 25];
    for x in 0..5 {
        let (left, right) = ((x + 4) % 5, (x + 1) % 5);
        // The parity on the right is rotated as the effect on the column behind it.
        let of_right = of_effect((x + 2) % 5) + 1;
        let effect = parity[left] ^ turned(parity[right], of_right, of_effect(x));
        for y in 0..5 {
            let at = x + 5 * y;
            moved[y + 5 * ((2 * x + 3 * y) % 5)] = effect ^ turned(a[at], KEPT[at], of_effect(x));
        }
    }
    let mut next = [0; 25];
    for y in 0..5 {
        for x in 0..5 {
            let [c, d] = [(x + 1) % 5, (x + 2) % 5];
            let turned = |x: usize| turned(moved[x + 5 * y], of_moved(x, y), of_moved(d, y));
            next[x + 5 * y] = turned(x) ^ (!turned(c) & turned(d));
        }
    }
    next
}
