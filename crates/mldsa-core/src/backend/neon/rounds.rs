//! All rounds of Keccak on two states that never leave the 32 registers, which the
//! compiler does not find: of the generic round it spills some words and moves others.
//!
//! Word x + 5 y is in register x + 5 y before and after every round, the others hold
//! parities and effects. Rho and pi go along two paths through all registers, each word
//! to the place that the one before has left, so that after them two words of every row
//! are where those of the next row belong. Chi gives these to their own places, and
//! leaves the places that the next row needs.

use core::arch::aarch64::uint64x2_t;
use core::arch::asm;

use super::scalar::constant;
use crate::hash::keccak::ROUND_CONSTANTS;

/// The text of part 0 to 14 of a round, with the instructions of a set: `plain`; `sha3`, those for
/// SHA-3; `one_unit`, for cores that have these on one vector unit, of which the others take what
/// is no rotation. Iota is not among the parts.
///
/// `rho` takes: to, from, effect; left and right rotation. `chi` takes: to, to; the row from the
/// first of these words on.
macro_rules! vector_part {
    ($set:ident 0) => { parity!($set 25, 0 5 10 15 20) };
    ($set:ident 1) => { parity!($set 26, 1 6 11 16 21) };
    ($set:ident 2) => { parity!($set 27, 2 7 12 17 22) };
    ($set:ident 3) => { parity!($set 28, 3 8 13 18 23) };
    ($set:ident 4) => {
        concat!(
            parity!($set 29, 4 9 14 19 24),
            // Of the columns 1, 3, 0, 2 and 4.
            effect!($set 30, 25 27),
            effect!($set 31, 27 29),
            effect!($set 27, 29 26),
            effect!($set 29, 26 28),
            effect!($set 26, 28 25),
        )
    };
    ($set:ident 5) => {
        concat!(
            rho!($set 25 21 30, 2 62),
            rho!($set 28 2 29, 62 2),
            rho!($set 21 8 31, 55 9),
            rho!($set 2 12 29, 43 21),
            rho!($set 8 16 30, 45 19),
        )
    };
    ($set:ident 6) => {
        concat!(
            free_rho!($set 12 10 27, 3 61),
            rho!($set 16 5 27, 36 28),
            rho!($set 10 1 30, 1 63),
            rho!($set 5 3 31, 28 36),
            rho!($set 1 6 30, 44 20),
        )
    };
    ($set:ident 7) => {
        concat!(
            rho!($set 3 18 31, 21 43),
            free_rho!($set 6 24 26, 14 50),
            rho!($set 18 17 29, 15 49),
            rho!($set 24 23 31, 56 8),
            rho!($set 17 11 30, 10 54),
        )
    };
    ($set:ident 8) => {
        concat!(
            rho!($set 23 15 27, 41 23),
            rho!($set 11 9 26, 20 44),
            free_rho!($set 15 13 31, 25 39),
            rho!($set 9 22 29, 61 3),
            rho!($set 13 19 26, 8 56),
        )
    };
    ($set:ident 9) => {
        concat!(
            rho!($set 22 14 26, 39 25),
            rho!($set 19 7 29, 6 58),
            rho!($set 14 20 27, 18 46),
            "eor v7.16b, v0.16b, v27.16b\n",
            free_rho!($set 20 4 26, 27 37),
        )
    };
    ($set:ident 10) => { chi!($set 4 0, 6 7 1 2 3) };
    ($set:ident 11) => { chi!($set 6 7, 11 12 8 9 5) };
    ($set:ident 12) => { chi!($set 11 12, 19 15 13 14 10) };
    ($set:ident 13) => { chi!($set 19 15, 24 20 16 17 18) };
    ($set:ident 14) => { chi!($set 24 20, 25 28 21 22 23) };
}

/// The text of a round except for iota.
macro_rules! round {
    ($set:ident) => {
        concat!(
            vector_part!($set 0), vector_part!($set 1), vector_part!($set 2),
            vector_part!($set 3), vector_part!($set 4), vector_part!($set 5),
            vector_part!($set 6), vector_part!($set 7), vector_part!($set 8),
            vector_part!($set 9), vector_part!($set 10), vector_part!($set 11),
            vector_part!($set 12), vector_part!($set 13), vector_part!($set 14),
        )
    };
}

/// `op to, a, b` on whole registers.
macro_rules! three {
    ($op:literal, $to:literal $a:literal $b:literal) => {
        concat!($op, " v", $to, ".16b, v", $a, ".16b, v", $b, ".16b\n")
    };
}

/// `op to, a, b, c` on whole registers.
macro_rules! four {
    ($op:literal, $to:literal $a:literal $b:literal $c:literal) => {
        concat!(
            $op, " v", $to, ".16b, v", $a, ".16b, v", $b, ".16b, v", $c, ".16b\n"
        )
    };
}

/// Of two words to another register: rotated left by `left`, which is 64 - `right`.
macro_rules! rotate {
    ($to:literal $a:literal, $left:literal $right:literal) => {
        concat!(
            "shl v", $to, ".2d, v", $a, ".2d, #", $left, "\n", "sri v", $to, ".2d, v", $a,
            ".2d, #", $right, "\n"
        )
    };
}

macro_rules! parity {
    (sha3 $to:literal, $a:literal $b:literal $c:literal $d:literal $e:literal) => {
        concat!(
            four!("eor3", $to $a $b $c),
            four!("eor3", $to $to $d $e),
        )
    };
    ($set:ident $to:literal, $a:literal $b:literal $c:literal $d:literal $e:literal) => {
        concat!(
            three!("eor", $to $a $b),
            three!("eor", $to $to $c),
            three!("eor", $to $to $d),
            three!("eor", $to $to $e),
        )
    };
}

macro_rules! effect {
    (plain $to:literal, $left:literal $right:literal) => {
        concat!(
            rotate!($to $right, 1 63),
            three!("eor", $to $to $left),
        )
    };
    ($set:ident $to:literal, $left:literal $right:literal) => {
        concat!("rax1 v", $to, ".2d, v", $left, ".2d, v", $right, ".2d\n")
    };
}

macro_rules! rho {
    (plain $to:literal $from:literal $effect:literal, $left:literal $right:literal) => {
        concat!(
            three!("eor", $from $from $effect),
            rotate!($to $from, $left $right),
        )
    };
    ($set:ident $to:literal $from:literal $effect:literal, $left:literal $right:literal) => {
        concat!(
            "xar v", $to, ".2d, v", $from, ".2d, v", $effect, ".2d, #", $right, "\n"
        )
    };
}

/// One of the four steps of rho that a core with one unit for SHA-3 makes on the others.
macro_rules! free_rho {
    (sha3 $($step:tt)*) => { rho!(sha3 $($step)*) };
    ($set:ident $($step:tt)*) => { rho!(plain $($step)*) };
}

macro_rules! chi {
    (sha3 $d:literal $e:literal, $v:literal $w:literal $x:literal $y:literal $z:literal) => {
        concat!(
            four!("bcax", $d $v $x $w),
            four!("bcax", $e $w $y $x),
            four!("bcax", $x $x $z $y),
            four!("bcax", $y $y $v $z),
            four!("bcax", $z $z $w $v),
        )
    };
    ($set:ident $d:literal $e:literal, $v:literal $w:literal $x:literal $y:literal $z:literal) => {
        concat!(
            three!("bic", $d $x $w),
            three!("bic", $e $y $x),
            three!("bic", 29 $z $y),
            three!("bic", 30 $v $z),
            three!("bic", 31 $w $v),
            three!("eor", $d $d $v),
            three!("eor", $e $e $w),
            three!("eor", $x $x 29),
            three!("eor", $y $y 30),
            three!("eor", $z $z 31),
        )
    };
}

/// The register of each word of two states, for another macro.
macro_rules! with_words {
    ($each:ident; $($rest:tt)*) => {
        $each!($($rest)* [
            "v0" 0, "v1" 1, "v2" 2, "v3" 3, "v4" 4, "v5" 5, "v6" 6, "v7" 7, "v8" 8, "v9" 9,
            "v10" 10, "v11" 11, "v12" 12, "v13" 13, "v14" 14, "v15" 15, "v16" 16, "v17" 17,
            "v18" 18, "v19" 19, "v20" 20, "v21" 21, "v22" 22, "v23" 23, "v24" 24
        ])
    };
}

macro_rules! permute {
    ($state:ident, $round:expr, [$($name:tt $n:tt),*]) => {
        // SAFETY: changes registers that are named, and reads 24 constants.
        unsafe {
            asm!(
                "2:",
                $round,
                "ld1r {{v31.2d}}, [{constant}], #8",
                "subs {left:w}, {left:w}, #1",
                "eor v0.16b, v0.16b, v31.16b",
                "b.ne 2b",
                constant = inout(reg) ROUND_CONSTANTS.as_ptr() => _,
                left = inout(reg) ROUND_CONSTANTS.len() => _,
                $(inout($name) $state[$n],)*
                out("v25") _, out("v26") _, out("v27") _, out("v28") _, out("v29") _,
                out("v30") _, out("v31") _,
                options(nostack, readonly),
            );
        }
    };
    ($state:ident, $round:expr) => {
        with_words!(permute; $state, $round,);
    };
}

/// Keccak-f[1600] on the states of both lanes. Constant time.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn permute(state: &mut [uint64x2_t; 25]) {
    permute!(state, round!(plain));
}

/// The same with the instructions for SHA-3. Constant time.
#[inline]
#[target_feature(enable = "neon,sha3")]
pub(super) fn permute_sha3(state: &mut [uint64x2_t; 25]) {
    permute!(state, round!(sha3));
}

/// The same for cores that have these instructions on one vector unit: the others take what is
/// no rotation. Constant time.
#[inline]
#[target_feature(enable = "neon,sha3")]
pub(super) fn permute_on_one_unit(state: &mut [uint64x2_t; 25]) {
    permute!(state, round!(one_unit));
}

/// Iota of all rounds: of the second scalar round, of the first, and of the vectors, which take
/// one round while a scalar state takes two.
static CONSTANTS: [[u64; 3]; 24] = {
    let mut constants = [[0; 3]; 24];
    let mut round = 0;
    while round < 24 {
        let first = 2 * round % 24;
        constants[round] = [constant(first + 1), constant(first), ROUND_CONSTANTS[round]];
        round += 1;
    }
    constants
};

/// A round on vectors in parallel with two on words: the parts in turns, and iota of the first of
/// the two.
macro_rules! round_with_words {
    ($set:ident) => {
        concat!(
            vector_part!($set 0), word_part!(0), word_part!(1),
            vector_part!($set 1), word_part!(2), word_part!(3),
            vector_part!($set 2), word_part!(4), word_part!(5),
            vector_part!($set 3), word_part!(6), word_part!(7),
            vector_part!($set 4), word_part!(8), word_part!(9),
            vector_part!($set 5), word_part!(10), word_part!(11),
            vector_part!($set 6), word_part!(12), word_part!(13),
            vector_part!($set 7), word_part!(14),
            "ldr x25, [sp, #16]\nldr x27, [x25, #8]\neor x0, x0, x27\n",
            word_part!(0),
            vector_part!($set 8), word_part!(1), word_part!(2),
            vector_part!($set 9), word_part!(3), word_part!(4),
            vector_part!($set 10), word_part!(5), word_part!(6),
            vector_part!($set 11), word_part!(7), word_part!(8),
            vector_part!($set 12), word_part!(9), word_part!(10),
            vector_part!($set 13), word_part!(11), word_part!(12),
            vector_part!($set 14), word_part!(13), word_part!(14),
        )
    };
}

macro_rules! permute_with_words {
    ($state:ident, $first:ident, $second:ident, $round:expr, [$($name:tt $n:tt),*]) => {
        // Both scalar states take half the rounds of the vectors.
        let half = CONSTANTS.as_ptr_range().start.wrapping_add(12);
        // SAFETY: reads the constants, and reads and writes the two states; changes registers
        // that are named, and x19 for as long as it runs.
        unsafe {
            asm!(
                word_frame!(),
                "3:",
                load_words!(),
                "2:",
                $round,
                "ldr x25, [sp, #16]",
                "ldr x26, [sp, #24]",
                "ldr x27, [x25], #16",
                "ld1r {{v31.2d}}, [x25], #8",
                "str x25, [sp, #16]",
                "eor x0, x0, x27",
                "eor v0.16b, v0.16b, v31.16b",
                "cmp x25, x26",
                "b.ne 2b",
                store_words!(),
                // The second state, of which there is no other.
                "ldr x27, [sp, #40]",
                "ldr x26, [sp, #24]",
                "stp x27, xzr, [sp, #32]",
                "add x26, x26, #288",
                "str x26, [sp, #24]",
                "cbnz x27, 3b",
                end_of_word_frame!(),
                inout("x0") $first.as_mut_ptr() => _, inout("x1") $second.as_mut_ptr() => _,
                inout("x2") CONSTANTS.as_ptr() => _, inout("x3") half => _,
                $(inout($name) $state[$n],)*
                out("v25") _, out("v26") _, out("v27") _, out("v28") _, out("v29") _,
                out("v30") _, out("v31") _,
                out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _, out("x9") _,
                out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _,
                out("x15") _, out("x16") _, out("x17") _, out("x20") _, out("x21") _,
                out("x22") _, out("x23") _, out("x24") _, out("x25") _, out("x26") _,
                out("x27") _, out("x28") _, out("x30") _,
            );
        }
    };
    ($state:ident, $first:ident, $second:ident, $round:expr) => {
        with_words!(permute_with_words; $state, $first, $second, $round,);
    };
}

/// The same as [`permute`], and on two more states in scalar registers, one after the other.
/// Constant time.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn permute_with_words(
    state: &mut [uint64x2_t; 25],
    first: &mut [u64; 25],
    second: &mut [u64; 25],
) {
    permute_with_words!(state, first, second, round_with_words!(plain));
}

/// The same as [`permute_on_one_unit`], and on two more states in scalar registers, one after
/// the other. Constant time.
#[inline]
#[target_feature(enable = "neon,sha3")]
pub(super) fn permute_with_words_sha3(
    state: &mut [uint64x2_t; 25],
    first: &mut [u64; 25],
    second: &mut [u64; 25],
) {
    permute_with_words!(state, first, second, round_with_words!(one_unit));
}
