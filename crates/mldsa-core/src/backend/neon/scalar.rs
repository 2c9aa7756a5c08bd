//! Keccak on one state for cores whose logical instructions rotate an operand for nothing:
//! no word is rotated on its own.
//!
//! Each word is kept rotated right by a constant, and what is added to it is rotated by
//! the difference. Theta takes a word to the rotation of the effect, rho adds its own, and
//! chi leaves the rotation of its second next word: [`KEPT`] is what all rounds agree on.

use crate::hash::keccak::ROUND_CONSTANTS;

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

/// Rotation of the effect on column x: that of the parity on its left.
const fn of_effect(x: usize) -> u32 {
    let left = (x + 4) % 5;
    KEPT[left + 5 * FIRST[left]]
}

/// Rotation of word x + 5 y between pi and chi.
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
    let mut a = kept(state);
    for n in &ROUND_CONSTANTS {
        let (mut parities, mut moved) = ([0; 5], [0; 25]);
        (0..5).for_each(|x| parities[x] = parity(&a, x));
        (0..5).for_each(|x| spread(&column(&a, &parities, x), x, &mut moved));
        (0..5).for_each(|y| a[5 * y..][..5].copy_from_slice(&row(&moved, y)));
        a[0] ^= constant(*n);
    }
    *state = plain(&a);
}

/// A state as it is kept between rounds.
#[inline(always)]
pub(super) fn kept(state: &[u64; 25]) -> [u64; 25] {
    let mut a = *state;
    for (word, kept) in a.iter_mut().zip(KEPT) {
        *word = turned(*word, 0, kept);
    }
    a
}

/// The state that is kept so.
#[inline(always)]
pub(super) fn plain(a: &[u64; 25]) -> [u64; 25] {
    let mut state = *a;
    for (word, kept) in state.iter_mut().zip(KEPT) {
        *word = turned(*word, kept, 0);
    }
    state
}

/// Parity of column x, which theta uses.
#[inline(always)]
pub(super) fn parity(a: &[u64; 25], x: usize) -> u64 {
    let first = x + 5 * FIRST[x];
    (1..5).fold(a[first], |parity, y| {
        let at = x + 5 * ((FIRST[x] + y) % 5);
        parity ^ turned(a[at], KEPT[at], KEPT[first])
    })
}

/// Theta and rho on column x.
#[inline(always)]
pub(super) fn column(a: &[u64; 25], parities: &[u64; 5], x: usize) -> [u64; 5] {
    let (left, right) = ((x + 4) % 5, (x + 1) % 5);
    // The parity on the right is rotated as the effect on the column after it.
    let of_right = of_effect((x + 2) % 5) + 1;
    let effect = parities[left] ^ turned(parities[right], of_right, of_effect(x));
    let mut column = [0; 5];
    for (y, word) in column.iter_mut().enumerate() {
        *word = effect ^ turned(a[x + 5 * y], KEPT[x + 5 * y], of_effect(x));
    }
    column
}

/// Pi on column x.
#[inline(always)]
pub(super) fn spread(column: &[u64; 5], x: usize, moved: &mut [u64; 25]) {
    for (y, word) in column.iter().enumerate() {
        moved[y + 5 * ((2 * x + 3 * y) % 5)] = *word;
    }
}

/// Chi on row y.
#[inline(always)]
pub(super) fn row(moved: &[u64; 25], y: usize) -> [u64; 5] {
    let mut row = [0; 5];
    for (x, word) in row.iter_mut().enumerate() {
        let [c, d] = [(x + 1) % 5, (x + 2) % 5];
        let turned = |x: usize| turned(moved[x + 5 * y], of_moved(x, y), of_moved(d, y));
        *word = turned(x) ^ (!turned(c) & turned(d));
    }
    row
}

/// Iota's constant as its word is kept.
#[inline(always)]
pub(super) fn constant(constant: u64) -> u64 {
    turned(constant, 0, KEPT[0])
}
