//! Keccak on one state in scalar registers, for cores whose logical instructions rotate an
//! operand for nothing: no word is rotated on its own.
//!
//! Each word is kept rotated right by a constant, and what is added to it is rotated by
//! the difference. Theta takes a word to the rotation of the effect, rho adds its own, and
//! chi leaves the rotation of its second next word: [`kept!`] has these rotations, the same in all rounds.
//!
//! The text is written out because the compiler keeps twelve words of such a round in memory.
//! Here there are 29 registers, all but x18 and x29, which systems reserve. Word x + 5 y is in
//! register x + 5 y between rounds, word 18 in x30. Rho and pi go along one path through all
//! places: x27 takes the first word, and each place the one that pi moves there. Words 24 and
//! 21, the last of the path, are in memory too, so that their registers hold effects until then.

use core::arch::asm;

use crate::hash::keccak::ROUND_CONSTANTS;

/// `a ^ b`, b rotated right.
macro_rules! word_xor {
    ($to:literal $a:literal $b:literal $right:literal) => {
        concat!("eor x", $to, ", x", $a, ", x", $b, ", ror #", $right, "\n")
    };
}

/// `a & !b`, b rotated right.
macro_rules! word_clear {
    ($to:literal $a:literal $b:literal $right:literal) => {
        concat!("bic x", $to, ", x", $a, ", x", $b, ", ror #", $right, "\n")
    };
}

/// Parity of a column.
macro_rules! word_parity {
    ($to:literal, $first:literal; $b:literal $of_b:literal, $($c:literal $of_c:literal),*) => {
        concat!(
            word_xor!($to $first $b $of_b),
            $( word_xor!($to $to $c $of_c), )*
        )
    };
}

/// Chi of a row: free registers; for each word its place, the register that it is in, the
/// rotation of the next word for its product and its own for the sum.
macro_rules! word_chi {
    ($t:literal $u:literal $s:literal; $home:literal from
        $v:literal $v0:literal $v1:literal, $w:literal $w0:literal $w1:literal,
        $x:literal $x0:literal $x1:literal, $y:literal $y0:literal $y1:literal,
        $z:literal $z0:literal $z1:literal
    ) => {
        concat!(
            word_clear!($t $x $w $v0),
            word_clear!($u $v $z $y0),
            word_clear!($s $w $v $z0),
            word_xor!($home $t $v $v1),
            word_clear!($t $y $x $w0),
            word_xor!($w $t $w $w1),
            word_clear!($t $z $y $x0),
            word_xor!($x $t $x $x1),
            word_xor!($y $u $y $y1),
            word_xor!($z $s $z $z1),
        )
    };
}

/// The text of part 0 to 14 of a round. Iota is not among them. Of `word_xor` in rho: to, effect,
/// from; rotation of the word.
macro_rules! word_part {
    (0) => { word_parity!(25, 21; 1 6, 6 40, 11 33, 16 49) };
    (1) => { word_parity!(26, 4; 9 44, 14 17, 19 28, 24 59) };
    (2) => { word_parity!(27, 0; 5 17, 10 45, 15 54, 20 45) };
    (3) => { word_parity!(28, 2; 7 40, 12 60, 17 8, 22 56) };
    (4) => {
        concat!(
            word_parity!(21, 3; 8 22, 13 43, 30 37, 23 25),
            // Effects on the columns 2, 0, 3, 1 and 4.
            word_xor!(24 25 21 40),
            word_xor!(25 26 25 22),
            word_xor!(26 28 26 13),
            word_xor!(28 27 28 5),
            word_xor!(21 21 27 43),
        )
    };
    (5) => {
        concat!(
            word_xor!(27 26 8 36),
            word_xor!(8 28 16 28),
            word_xor!(16 25 5 61),
            word_xor!(5 26 3 14),
            word_xor!(3 26 30 51),
        )
    };
    (6) => {
        concat!(
            word_xor!(30 24 17 35),
            word_xor!(17 28 11 12),
            word_xor!(11 24 7 3),
            word_xor!(7 25 10 25),
            word_xor!(10 28 1 49),
        )
    };
    (7) => {
        concat!(
            word_xor!(0 25 0 44),
            word_xor!(1 28 6 19),
            word_xor!(6 21 9 44),
            word_xor!(9 24 22 19),
            word_xor!(22 21 14 17),
        )
    };
    (8) => {
        concat!(
            word_xor!(14 25 20 25),
            word_xor!(20 24 2 27),
            word_xor!(2 24 12 23),
            word_xor!(12 26 13 57),
            word_xor!(13 21 19 28),
        )
    };
    (9) => {
        concat!(
            word_xor!(19 26 23 39),
            word_xor!(23 25 15 34),
            word_xor!(15 21 4 0),
            "ldr x4, [sp]\n",
            word_xor!(4 21 4 59),
            "ldr x24, [sp, #8]\n",
            word_xor!(24 28 24 43),
        )
    };
    (10) => {
        concat!(
            word_chi!(25 26 28; 21 from 27 2 36, 22 45 47, 23 17 62, 24 30 47, 20 34 0),
            "stp x24, x21, [sp]\n",
        )
    };
    (11) => { word_chi!(25 26 28; 15 from 15 58 3, 16 26 20, 17 14 40, 30 21 35, 19 9 30) };
    (12) => { word_chi!(27 25 26; 10 from 10 56 18, 11 33 25, 12 10 43, 13 3 13, 14 26 29) };
    (13) => { word_chi!(28 27 25; 5 from 5 47 25, 6 62 45, 7 37 35, 8 4 41, 9 42 46) };
    (14) => { word_chi!(26 28 27; 0 from 0 20 20, 1 15 35, 2 43 58, 3 50 29, 4 0 50) };
}

/// By how much each word is kept rotated right, and left to be what it was, for another macro.
macro_rules! kept {
    ($each:ident) => {
        concat!(
            $each!(0 20 44), $each!(1 35 29), $each!(2 14 50), $each!(5 3 61), $each!(6 1 63),
            $each!(7 38 26), $each!(8 42 22), $each!(9 20 44), $each!(10 39 25), $each!(11 8 56),
            $each!(12 18 46), $each!(13 21 43), $each!(14 47 17), $each!(15 30 34),
            $each!(16 56 8), $each!(17 6 58), $each!(30 27 37), $each!(19 36 28),
            $each!(20 39 25), $each!(21 41 23), $each!(22 22 42), $each!(23 39 25),
            $each!(24 5 59),
        )
    };
}

/// Rotation of iota's constants, that of their word.
const OF_CONSTANTS: u32 = 20;

macro_rules! to_kept {
    ($word:literal $right:literal $left:literal) => {
        concat!("ror x", $word, ", x", $word, ", #", $right, "\n")
    };
}

macro_rules! from_kept {
    ($word:literal $right:literal $left:literal) => {
        concat!("ror x", $word, ", x", $word, ", #", $left, "\n")
    };
}

/// `op` on two words at an address.
macro_rules! word_pair {
    ($op:literal $at:literal, $a:literal $b:literal $offset:literal) => {
        concat!($op, " x", $a, ", x", $b, ", [", $at, ", #", $offset, "]\n")
    };
}

/// `op` on all words at an address except word 18.
macro_rules! word_pairs {
    ($op:literal, $at:literal) => {
        concat!(
            word_pair!($op $at, 0 1 0),
            word_pair!($op $at, 2 3 16),
            word_pair!($op $at, 4 5 32),
            word_pair!($op $at, 6 7 48),
            word_pair!($op $at, 8 9 64),
            word_pair!($op $at, 10 11 80),
            word_pair!($op $at, 12 13 96),
            word_pair!($op $at, 14 15 112),
            word_pair!($op $at, 16 17 128),
            word_pair!($op $at, 19 20 152),
            word_pair!($op $at, 21 22 168),
            word_pair!($op $at, 23 24 184),
        )
    };
}

// The stack holds words 24 and 21; the next constants and their end; the state, and a
// second one; x19, which is no operand of a block of assembly.

/// Makes room, and stores x0 to x3 there: state, second state, constants, their end.
macro_rules! word_frame {
    () => {
        "sub sp, sp, #64\nstp x2, x3, [sp, #16]\nstp x0, x1, [sp, #32]\nstr x19, [sp, #48]\n"
    };
}

macro_rules! end_of_word_frame {
    () => {
        "ldr x19, [sp, #48]\nadd sp, sp, #64\n"
    };
}

/// The words of the state.
macro_rules! load_words {
    () => {
        concat!(
            "ldr x30, [sp, #32]\n",
            word_pairs!("ldp", "x30"),
            "ldr x30, [x30, #144]\n",
            kept!(to_kept),
            "stp x24, x21, [sp]\n",
        )
    };
}

/// The words back to the state.
macro_rules! store_words {
    () => {
        concat!(
            kept!(from_kept),
            "ldr x27, [sp, #32]\n",
            word_pairs!("stp", "x27"),
            "str x30, [x27, #144]\n",
        )
    };
}

/// The constant of iota in every round.
static CONSTANTS: [u64; 24] = {
    let mut constants = ROUND_CONSTANTS;
    let mut round = 0;
    while round < 24 {
        constants[round] = constant(round);
        round += 1;
    }
    constants
};

/// Iota's constant as its word is kept.
pub(super) const fn constant(round: usize) -> u64 {
    ROUND_CONSTANTS[round].rotate_right(OF_CONSTANTS)
}

/// Keccak-f[1600]. Constant time.
#[inline(always)]
pub(super) fn permute(state: &mut [u64; 25]) {
    let constants = CONSTANTS.as_ptr_range();
    // SAFETY: reads the constants, and reads and writes the state; changes registers that are
    // named, and x19 for as long as it runs.
    unsafe {
        asm!(
            word_frame!(),
            load_words!(),
            "2:",
            word_part!(0),
            word_part!(1),
            word_part!(2),
            word_part!(3),
            word_part!(4),
            word_part!(5),
            word_part!(6),
            word_part!(7),
            word_part!(8),
            word_part!(9),
            word_part!(10),
            word_part!(11),
            word_part!(12),
            word_part!(13),
            word_part!(14),
            "ldr x25, [sp, #16]",
            "ldr x26, [sp, #24]",
            "ldr x27, [x25], #8",
            "str x25, [sp, #16]",
            "eor x0, x0, x27",
            "cmp x25, x26",
            "b.ne 2b",
            store_words!(),
            end_of_word_frame!(),
            inout("x0") state.as_mut_ptr() => _, inout("x1") 0_usize => _,
            inout("x2") constants.start => _, inout("x3") constants.end => _,
            out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _, out("x9") _,
            out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _, out("x15") _,
            out("x16") _, out("x17") _, out("x20") _, out("x21") _, out("x22") _, out("x23") _,
            out("x24") _, out("x25") _, out("x26") _, out("x27") _, out("x28") _, out("x30") _,
        );
    }
}
