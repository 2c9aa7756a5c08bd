//! One Keccak state in five registers of five words: little more than a third of
//! the instructions of a permutation word by word.
//!
//! Theta adds up columns (all y of one x), chi combines rows (neighbouring x of one
//! y), and pi moves words between the two. Instead of transposing in every round,
//! the layout drifts: word (x, y) is in register `a x + b y mod 5`. Where neither a
//! nor b is 0, each register has one word of every column and one of every row, so
//! either coordinate can name the lane. At the beginning of a round x does: theta
//! adds whole registers. After pi y does: the three words that chi needs are in
//! the same lane of three registers. The lane is `step` times that coordinate
//! mod 5, with steps for which going from one naming to the other only rotates
//! a register.
//!
//! Pi itself moves no word between registers: it makes (a, b) into (a + b, 3 a).
//! Where a or b is 0, registers are rows or columns, and chi or theta has to work
//! inside them. After six rounds a is 0 again, and row y is in register 2 y.
//!
//! | round | a, b at its beginning | |
//! |---|---|---|
//! | 0 | 0, 1 | pi makes columns: lanes stay named by y |
//! | 1 | 1, 0 | theta works inside registers |
//! | 2, 3, 4 | 1, 3; 4, 3; 2, 2 | |
//! | 5 | 4, 1 | pi makes rows: chi works inside registers |

use core::arch::x86_64::*;

use super::registers::Aligned;
use super::word::X8;
use crate::hash::keccak::{RHO, ROUND_CONSTANTS, Word};
use crate::lanes::sponge::Block;
use crate::params::CRH_LEN;

/// Words in lanes 0 to 4; the others are zero and stay so.
type State = [X8; 5];

/// The lanes in use.
const PLANE: __mmask8 = 0x1f;

/// One permutation. Constant time.
#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(super) fn permute_x1(state: &mut [u64; 25]) {
    let planes = permute(load(state));
    for (plane, words) in planes.iter().zip(state.as_chunks_mut::<5>().0) {
        // SAFETY: the mask lets exactly the five words be written.
        unsafe { _mm512_mask_storeu_epi64(words.as_mut_ptr().cast(), PLANE, plane.0) };
    }
}

/// Absorbs the last, padded blocks of SHAKE256 into a state, which stays in registers, and
/// squeezes. The data is public: registers are not cleared.
#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(super) fn digest(state: &[u64; 25], blocks: &[Block]) -> [u8; CRH_LEN] {
    let mut planes = load(state);
    for block in blocks {
        for (n, plane) in planes.iter_mut().enumerate().take(4) {
            // A block is three planes and two words.
            let mask = if n < 3 { PLANE } else { 0x03 };
            let words = block[40 * n..].as_ptr().cast();
            // SAFETY: the mask lets only words of the block be read: 5, 5, 5 and 2.
            let words = unsafe { _mm512_maskz_loadu_epi64(mask, words) };
            *plane = plane.xor(X8(words));
        }
        planes = permute(planes);
    }
    let mut digest = [0; CRH_LEN];
    let (first, second) = digest.split_at_mut(40);
    // SAFETY: the masks let five and three words be written.
    unsafe {
        _mm512_mask_storeu_epi64(first.as_mut_ptr().cast(), PLANE, planes[0].0);
        _mm512_mask_storeu_epi64(second.as_mut_ptr().cast(), 0x07, planes[1].0);
    }
    digest
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(state: &[u64; 25]) -> State {
    let mut planes = [X8::splat(0); 5];
    for (plane, words) in planes.iter_mut().zip(state.as_chunks::<5>().0) {
        // SAFETY: the mask lets exactly the five words be read.
        *plane = X8(unsafe { _mm512_maskz_loadu_epi64(PLANE, words.as_ptr().cast()) });
    }
    planes
}

// From here on everything is inlined in every profile, which functions with features of
// their own cannot be made to be: a call would pass the registers through memory. The
// two entries above have the features.

#[inline(always)]
fn permute(mut r: State) -> State {
    for constants in ROUND_CONSTANTS.as_chunks::<6>().0 {
        r = round::<0>(r, constants[0]);
        r = round::<1>(r, constants[1]);
        r = round::<2>(r, constants[2]);
        r = round::<3>(r, constants[3]);
        r = round::<4>(r, constants[4]);
        r = round::<5>(r, constants[5]);
        // Row y is in register 2 y now.
        r = [r[0], r[2], r[4], r[1], r[3]];
    }
    r
}

/// Round number `N` of six. Where nothing is optimised, six of them in one frame would
/// take 100 KiB.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
fn round<const N: usize>(r: State, constant: u64) -> State {
    let (now, pi, next) = const { LAYOUTS[N] };
    let mut r = match now.b {
        0 => theta_inside(r, now.a),
        _ => theta_across(r, now.step),
    };
    for (r, rho) in r.iter_mut().zip(&ROTATIONS[N]) {
        *r = rotate(*r, rho);
    }
    let mut out = r;
    if pi.a == 0 {
        // Word (x, y) comes from where x + 3 y was.
        for (n, (out, r)) in out.iter_mut().zip(r).enumerate() {
            let first = 3 * n * inverse(pi.b);
            let word = |offset| move_lanes(r, now.step, now.step * (first + offset));
            *out = word(0).chi(word(1), word(2));
        }
        out[0] = iota(out[0], constant);
        return out;
    }
    for (n, r) in r.iter_mut().enumerate() {
        *r = move_lanes(*r, 1, now.step * n * inverse(pi.a));
    }
    for (n, out) in out.iter_mut().enumerate() {
        // Iota before chi waits for nothing.
        let first = if n == 0 { iota(r[0], constant) } else { r[n] };
        *out = first.chi(r[(n + pi.a) % 5], r[(n + 2 * pi.a) % 5]);
    }
    if next.b != 0 {
        for (n, out) in out.iter_mut().enumerate() {
            *out = move_lanes(*out, 1, pi.step * n * inverse(next.b));
        }
    }
    out
}

/// Theta where x is in lane `step x`.
#[inline(always)]
fn theta_across(mut r: State, step: usize) -> State {
    let parity = r[0].xor3(r[1], r[2]).xor3(r[3], r[4]);
    let right = move_lanes(parity, 1, step).rotl::<1>();
    let left = move_lanes(parity, 1, 4 * step);
    for r in &mut r {
        *r = r.xor3(left, right);
    }
    r
}

/// Theta where a register is a column, number `a x`.
#[inline(always)]
fn theta_inside(r: State, a: usize) -> State {
    let mut parity = r;
    for r in &mut parity {
        let pairs = r.xor(move_lanes(*r, 1, 1));
        *r = pairs.xor3(move_lanes(pairs, 1, 2), move_lanes(*r, 1, 4));
    }
    let mut out = r;
    for n in 0..5 {
        let right = parity[(n + a) % 5].rotl::<1>();
        out[n] = r[n].xor3(parity[(n + 4 * a) % 5], right);
    }
    out
}

/// Every lane rotated to the left by its own number of bits.
#[inline(always)]
fn rotate(v: X8, by: &Aligned<[i64; 8]>) -> X8 {
    // SAFETY: `v` is a register, which proves the features.
    X8(unsafe { _mm512_rolv_epi64(v.0, by.load()) })
}

/// The round constant to word (0, 0).
#[inline(always)]
fn iota(v: X8, constant: u64) -> X8 {
    // SAFETY: `v` is a register, which proves the features.
    X8(unsafe { _mm512_mask_xor_epi64(v.0, 1, v.0, _mm512_set1_epi64(constant as i64)) })
}

/// Lane `n` from lane `factor n + first mod 5`.
#[inline(always)]
fn move_lanes(v: X8, factor: usize, first: usize) -> X8 {
    if (factor % 5, first % 5) == (1, 0) {
        return v;
    }
    let order = &MOVES[factor % 5][first % 5];
    // SAFETY: `v` is a register, which proves the features.
    X8(unsafe { _mm512_permutexvar_epi64(order.load(), v.0) })
}

/// Word (x, y) is in register `a x + b y mod 5`. Its lane is `step` times x at the
/// beginning of a round and where registers are rows, `step` times y after pi and
/// where registers are columns, mod 5.
#[derive(Clone, Copy)]
struct Layout {
    a: usize,
    b: usize,
    step: usize,
}

/// Of each round: at its beginning, after pi, and at its end.
///
/// Pi puts word (x, y) to (y, 2 x + 3 y): what is at (x, y) then was at
/// (x + 3 y, x). Steps are such that words only rotate inside their register, and
/// not at all in register 0.
const LAYOUTS: [(Layout, Layout, Layout); 6] = {
    let mut layouts = [(START, START, START); 6];
    let mut now = START;
    let mut round = 0;
    while round < 6 {
        let (a, b) = ((now.a + now.b) % 5, 3 * now.a % 5);
        // x is (n - b y) / a in register n: y moves lanes by -b / a of what x does,
        // and by 3 more where lanes counted x + 3 y.
        let by_y = 5 - b * inverse(a) % 5 + if now.b == 0 { 0 } else { 3 };
        let pi = Layout {
            a,
            b,
            step: now.step * by_y % 5,
        };
        // y is (n - a x) / b.
        let by_x = 5 - a * inverse(b) % 5;
        let next = match (a, b) {
            (0, _) => Layout { a, b, step: 1 },
            (_, 0) => pi,
            _ => Layout {
                a,
                b,
                step: pi.step * by_x % 5,
            },
        };
        layouts[round] = (now, pi, next);
        now = next;
        round += 1;
    }
    layouts
};

/// Registers are rows, lanes columns.
const START: Layout = Layout {
    a: 0,
    b: 1,
    step: 1,
};

/// `1 / n mod 5`.
const fn inverse(n: usize) -> usize {
    [0, 1, 3, 2, 4][n]
}

/// The index vectors of [`move_lanes`].
static MOVES: [[Aligned<[i64; 8]>; 5]; 5] = {
    let mut moves = [[Aligned([5, 5, 5, 5, 5, 5, 6, 7]); 5]; 5];
    let mut n = 0;
    while n < 125 {
        let (factor, first, lane) = (n / 25, n / 5 % 5, n % 5);
        moves[factor][first].0[lane] = ((factor * lane + first) % 5) as i64;
        n += 1;
    }
    moves
};

/// The rotations of rho in the layout of each round.
static ROTATIONS: [[Aligned<[i64; 8]>; 5]; 6] = {
    let mut rotations = [[Aligned([0; 8]); 5]; 6];
    let mut n = 0;
    while n < 150 {
        let (round, x, y) = (n / 25, n / 5 % 5, n % 5);
        let now = LAYOUTS[round].0;
        let counted = if now.b == 0 { y } else { x };
        let register = (now.a * x + now.b * y) % 5;
        rotations[round][register].0[now.step * counted % 5] = RHO[x + 5 * y] as i64;
        n += 1;
    }
    rotations
};
