//! Keccak-f[1600] on memory words, one lane of the state a word.
//!
//! [`Copies::Same`]: a word holds one lane four times, so a rotation is one shift;
//! the valid window narrows by at most 57 bits a round, and after three rounds its
//! middle 64 bits are copied again. The middle is then 96 bits higher, so that all
//! lanes are rotated by 32. The round constants of every second triple are too.
//!
//! [`Copies::Four`]: a word holds a lane of four independent states.
//!
//! Some lanes are kept complemented, which spares most complements of chi.

use ruint::aliases::U256;

use crate::asm::{Asm, Op};
use crate::lanes::{ones, repeat};

/// Lanes that are kept complemented, by x + 5 y.
pub const COMPLEMENTED: [usize; 6] = [1, 2, 8, 12, 17, 20];

/// Lanes of a state.
pub const LANES: usize = 25;

/// Contents of the four quarters of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// The same lane.
    Same,
    /// The same lane of four states.
    Four,
}

/// One in each quarter.
pub fn quarters() -> U256 {
    repeat(1, 4, 64)
}

/// The 24 constants of iota.
pub fn round_constants() -> [u64; 24] {
    let mut lfsr = 1u16;
    core::array::from_fn(|_| {
        (0..7).fold(0, |constant, j| {
            let bit = u64::from(lfsr & 1) << ((1 << j) - 1);
            lfsr <<= 1;
            if lfsr & 0x100 != 0 {
                lfsr ^= 0x171;
            }
            constant | bit
        })
    })
}

/// The constants as words: as they are for [`Copies::Four`], rotated with the lanes
/// for [`Copies::Same`].
pub fn constant_words(copies: Copies) -> Vec<U256> {
    let rotated = |(round, c): (usize, u64)| match copies {
        Copies::Same if round / 3 % 2 == 1 => c.rotate_left(32),
        _ => c,
    };
    let constants = round_constants().into_iter().enumerate().map(rotated);
    constants.map(|c| U256::from(c) * quarters()).collect()
}

/// Left rotation of the lane (x, y) in rho.
fn rotation(x: usize, y: usize) -> usize {
    let (mut a, mut b) = (1, 0);
    for t in 0..24 {
        if (a, b) == (x, y) {
            return (t + 1) * (t + 2) / 2 % 64;
        }
        (a, b) = (b, (2 * a + 3 * b) % 5);
    }
    0
}

/// `rounds` rounds between the states at `s0` and `s1`, starting from `s0`; the
/// memory word at `constants` is the address of the round constants.
pub fn rounds(copies: Copies, rounds: usize, s0: usize, s1: usize, constants: usize) -> Asm {
    let mut a = Asm::new::<&str>([]);
    for round in 0..rounds {
        let (source, target) = if round % 2 == 0 { (s0, s1) } else { (s1, s0) };
        one_round(&mut a, copies, source, target, constants, round);
    }
    a
}

fn one_round(
    a: &mut Asm,
    copies: Copies,
    source: usize,
    target: usize,
    constants: usize,
    round: usize,
) {
    let complemented = |x: usize, y: usize| COMPLEMENTED.contains(&(x + 5 * y));
    let lane = |x: usize, y: usize| source + 32 * (x + 5 * y);
    // Theta.
    for x in 0..5 {
        a.push(lane(x, 0)).op(&[Op::Mload]);
        for y in 1..5 {
            a.push(lane(x, y)).op(&[Op::Mload, Op::Xor]);
        }
        a.name(format!("c{x}"));
    }
    for x in 0..5 {
        a.dup(&format!("c{}", (x + 1) % 5));
        rotate(a, copies, 1);
        a.dup(&format!("c{}", (x + 4) % 5)).op(&[Op::Xor]);
        a.name(format!("d{x}"));
    }
    let column = |x: usize| (0..5).filter(|&y| complemented(x, y)).count() % 2 == 1;
    let theta = |x: usize| column((x + 4) % 5) ^ column((x + 1) % 5);
    for row in 0..5 {
        // Rho and pi: (x, y) moves to (y, 2 x + 3 y).
        let mut polarity = [false; 5];
        for (to, polarity) in polarity.iter_mut().enumerate() {
            let (x, y) = ((to + 3 * row) % 5, to);
            a.push(lane(x, y)).op(&[Op::Mload]);
            a.dup(&format!("d{x}")).op(&[Op::Xor]);
            rotate(a, copies, rotation(x, y));
            a.name(format!("b{to}"));
            *polarity = complemented(x, y) ^ theta(x);
        }
        let finish = |a: &mut Asm, x: usize| {
            if (x, row) == (0, 0) {
                a.push(constants).op(&[Op::Mload]);
                a.push(32 * round).op(&[Op::Add, Op::Mload, Op::Xor]);
            }
            if copies == Copies::Same && round % 3 == 2 {
                a.push(96).op(&[Op::Shl]).push(192).op(&[Op::Shr]);
                a.push(quarters()).op(&[Op::Mul]);
            }
            a.push(target + 32 * (x + 5 * row)).op(&[Op::Mstore]);
        };
        let chi = |x: usize| Chi::of(polarity, x, complemented(x, row));
        for x in [0, 1, 3] {
            let chi = chi(x);
            a.dup(&format!("b{}", (x + 2) % 5));
            if chi.not_second {
                a.op(&[Op::Not]);
            }
            a.dup(&format!("b{}", (x + 1) % 5));
            if chi.not_first {
                a.op(&[Op::Not]);
            }
            a.op(&[chi.op]).dup(&format!("b{x}"));
            chi.merge(a);
            finish(a, x);
        }
        // The last two use up the row: b0 b1 b2 b3 b4, top last.
        let last = chi(2);
        a.dup_top().swap(2);
        last.combine_top(a);
        a.swap(1).swap(2);
        last.merge(a);
        finish(a, 2);
        // b0 b1 b4
        let last = chi(4);
        a.swap(2);
        last.combine_top(a);
        last.merge(a);
        finish(a, 4);
    }
    a.pop(10);
}

fn rotate(a: &mut Asm, copies: Copies, by: usize) {
    match (copies, by) {
        (_, 0) => {}
        (Copies::Same, 1..=28) => {
            a.push(by).op(&[Op::Shl]);
        }
        (Copies::Same, _) => {
            assert!(64 - by <= 29, "the window loses more than it has");
            a.push(64 - by).op(&[Op::Shr]);
        }
        (Copies::Four, _) => {
            let low = ones(by) * quarters();
            a.dup_top()
                .push(by)
                .op(&[Op::Shl])
                .push(!low)
                .op(&[Op::And]);
            a.swap(1).push(64 - by).op(&[Op::Shr]).push(low);
            a.op(&[Op::And, Op::Or]);
        }
    }
}

/// One lane of chi, `b0 ^ (not b1 and b2)`, on values that may be complemented, with
/// the fewest complements.
struct Chi {
    op: Op,
    not_first: bool,
    not_second: bool,
    not_own: bool,
}

impl Chi {
    fn of(polarity: [bool; 5], x: usize, result: bool) -> Self {
        let [own, first, second] = [x, (x + 1) % 5, (x + 2) % 5].map(|x| polarity[x]);
        // not b1 and b2 = not (b1 or not b2)
        let forms = [
            Self {
                op: Op::And,
                not_first: !first,
                not_second: second,
                not_own: own != result,
            },
            Self {
                op: Op::Or,
                not_first: first,
                not_second: !second,
                not_own: own == result,
            },
        ];
        let complements = |form: &Self| {
            u8::from(form.not_first) + u8::from(form.not_second) + u8::from(form.not_own)
        };
        let [and, or] = forms;
        if complements(&and) <= complements(&or) {
            and
        } else {
            or
        }
    }

    /// `op` on the top, which is b1, and on b2 below it.
    fn combine_top(&self, a: &mut Asm) {
        if self.not_first {
            a.op(&[Op::Not]);
        }
        if self.not_second {
            a.swap(1).op(&[Op::Not]);
        }
        a.op(&[self.op]);
    }

    /// The result from b0 and the result of `op`.
    fn merge(&self, a: &mut Asm) {
        a.op(&[Op::Xor]);
        if self.not_own {
            a.op(&[Op::Not]);
        }
    }
}
