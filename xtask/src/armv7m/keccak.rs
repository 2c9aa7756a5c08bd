//! Keccak-f\[1600\] for ARMv7-M, bit-interleaved: a lane is a word of its even bits and one of its odd
//! bits.
//!
//! A word is stored rotated by a constant of its own. A rotation is folded into the second operand
//! of `eor` and `bic`, so that a result has the rotation of its first operand. First operands (of the
//! column parities and of chi) are chosen such that the rotations are the same before every
//! round: no instruction rotates, and a loop may be short.
//!
//! Results replace inputs: word (x, y) of a row goes to the cell of lane (2x + y, 2x + 3y). That is an
//! involution, so lanes are in their own cells after two rounds. The halves of eight lanes are
//! then exchanged: a loop of two rounds swaps them, after four rounds nothing is to swap.
//!
//! Each half of the state is computed row by row; the column parities of the next round are added
//! up in five registers meanwhile. The ten addends of theta are on the stack, except that of one
//! half of column 0.

use core::fmt::Write;

mod schedule;
pub(super) mod small;

use schedule::{HALVES, LANES, Lane, Schedule, Source, Word};

type Register = u8;

/// Parities of the half in progress.
const A: [Register; 5] = [1, 2, 3, 4, 5];
/// Inputs of a row; between rounds parities of the even half.
const B: [Register; 5] = [6, 7, 8, 9, 10];
const T0: Register = 11;
const T1: Register = 12;
/// The addend of theta that stays in a register.
const HELD: Register = 14;
/// Column of that addend.
const HELD_COLUMN: usize = 0;

/// Offsets in the frame: addends of theta, parities of the even half, address of constants.
const PARITIES: usize = 40;
const CONSTANTS: usize = 60;
const FRAME: usize = 64;

#[derive(Clone, Copy, PartialEq)]
enum Base {
    State,
    Stack,
}

#[derive(Clone, Copy)]
enum Instruction {
    Load(Register, Base, usize),
    /// Two words in a row.
    LoadTwo(Register, Register, Base, usize),
    Store(Register, Base, usize),
    StoreTwo(Register, Register, Base, usize),
    /// Loads the address of the constants, then one of them.
    Constant(Register, usize),
    Move(Register, Register),
    /// `to = a ^ ror(b, bits)`
    Eor(Register, Register, Register, u32),
    /// `to = a & !ror(b, bits)`
    Bic(Register, Register, Register, u32),
}
use Instruction::*;

struct Program {
    schedule: Schedule,
    code: Vec<Instruction>,
    /// Places of the addends of theta in the frame.
    slots: [usize; 10],
}

/// A register and the rotation of its value.
type Value = (Register, u32);

impl Program {
    fn eor(&mut self, to: Register, a: Value, b: Value) {
        let bits = b.1.wrapping_sub(a.1) % 32;
        self.code.push(Eor(to, a.0, b.0, bits));
    }

    fn bic(&mut self, to: Register, a: Value, b: Value) {
        let bits = b.1.wrapping_sub(a.1) % 32;
        self.code.push(Bic(to, a.0, b.0, bits));
    }

    fn slot(&self, x: usize, half: usize) -> usize {
        4 * self.slots[2 * x + half]
    }

    /// Computes all column parities of the state: even ones in B, odd ones in A.
    fn entry(&mut self) {
        let mut rotations = [[0; 2]; 5];
        for lane in LANES {
            let Lane { x, y } = lane;
            let registers = if y == 0 { [B[x], A[x]] } else { [T0, T1] };
            self.code.push(LoadTwo(
                registers[0],
                registers[1],
                Base::State,
                cell((lane, 0)),
            ));
            for half in HALVES {
                let sum = [B[x], A[x]][half];
                let word = (registers[half], self.schedule.stored[lane.index()][half]);
                let old = (sum, rotations[x][half]);
                if y == 0 {
                    rotations[x][half] = word.1;
                } else if self.schedule.row_of_parity[x][half] == y {
                    self.eor(sum, word, old);
                    rotations[x][half] = word.1;
                } else {
                    self.eor(sum, old, word);
                }
            }
        }
        assert_eq!(rotations, self.schedule.parity);
    }

    /// Computes the addends of theta from the parities, each in the register of a parity that is not
    /// needed any more. Returns the registers that hold addends afterwards, by column and half.
    fn addends(&mut self, first_half: usize, held: usize) -> [[Register; 2]; 5] {
        let parities: [[Register; 2]; 5] = core::array::from_fn(|x| [B[x], A[x]]);
        let mut registers = [[0; 2]; 5];
        // Along the cycle in which every addend follows from the parity used last and a new one. Its
        // direction decides which half ends in B.
        let (mut x, mut half) = if first_half == 0 {
            ((HELD_COLUMN + 4) % 5, held)
        } else {
            ((HELD_COLUMN + 1) % 5, 1 - held)
        };
        for step in 0..10 {
            let (column, of) = if first_half == 0 {
                ((x + 1) % 5, half)
            } else {
                ((x + 4) % 5, 1 - half)
            };
            let (left, right) = (((column + 4) % 5, of), ((column + 1) % 5, 1 - of));
            let to = if step == 0 { HELD } else { parities[x][half] };
            // The odd bits of a lane are rotated for its even ones.
            let late = if of == 0 { 31 } else { 0 };
            let parity = self.schedule.parity;
            self.eor(
                to,
                (parities[left.0][left.1], parity[left.0][left.1]),
                (parities[right.0][right.1], parity[right.0][right.1] + late),
            );
            let at = self.slot(column, of);
            self.code.push(Store(to, Base::Stack, at));
            registers[column][of] = to;
            x = (x + if first_half == 0 { 2 } else { 3 }) % 5;
            half = 1 - half;
        }
        registers
    }

    /// One round, the `number`th of the loop, of lanes in the cells `place`. Returns the new cells.
    fn round(&mut self, place: &[[Word; 2]; 25], number: usize) -> [[Word; 2]; 25] {
        let mut new = *place;
        let order = self.schedule.order;
        let [first, second] = [order[0], order[1]].map(|row| self.schedule.sources[row][0]);
        let even = first.iter().filter(|word| word.half == 0).count();
        let first_half = usize::from(even < 3);
        let at = second.iter().find(|word| word.lane.x == HELD_COLUMN);
        let mut held = at.expect("every column").half;
        let addends = self.addends(first_half, held);

        for half in HALVES {
            let mut sums = [0; 5];
            for (n, row) in order.into_iter().enumerate() {
                let sources = self.schedule.sources[row][half];
                let cells = sources.map(|word| place[word.lane.index()][word.half]);
                let b = if half == 0 && n == 0 {
                    self.row_from_registers(&sources, &cells, &addends)
                } else {
                    self.row_from_frame(&sources, &cells, &mut held)
                };
                self.chi(row, half, n == 0, b, &mut sums, number, |x| {
                    // The cell of the input that this result replaces.
                    let lane = Lane { x, y: row }.moved();
                    let at = sources.iter().position(|word| word.lane == lane);
                    let at = cells[at.expect("an input of this row")];
                    new[Lane { x, y: row }.index()][half] = at;
                    cell(at)
                });
            }
            for (x, &sum) in sums.iter().enumerate() {
                assert_eq!(sum, self.schedule.parity[x][half]);
                if half == 0 {
                    self.code.push(Store(A[x], Base::Stack, PARITIES + 4 * x));
                }
            }
        }
        for (x, &register) in B.iter().enumerate() {
            self.code
                .push(Load(register, Base::Stack, PARITIES + 4 * x));
        }
        new
    }

    /// Loads the inputs of a row while the addends are in registers, and adds them.
    fn row_from_registers(
        &mut self,
        sources: &[Source; 5],
        cells: &[Word; 5],
        addends: &[[Register; 2]; 5],
    ) -> [Register; 5] {
        let used = sources.map(|word| addends[word.lane.x][word.half]);
        let mut free: Vec<Register> = B.into_iter().filter(|b| !used.contains(b)).collect();
        let mut to = used;
        for register in &mut to {
            if !B.contains(register) {
                let copy = free.pop().expect("as many as are missing");
                self.code.push(Move(copy, *register));
                *register = copy;
            }
        }
        for some in [&[0, 1][..], &[2, 3], &[4]] {
            for (&n, t) in some.iter().zip([T0, T1]) {
                self.code.push(Load(t, Base::State, cell(cells[n])));
            }
            for (&n, t) in some.iter().zip([T0, T1]) {
                let [addend, word] = self.schedule.rotations_of(&sources[n]);
                self.eor(to[n], (to[n], addend), (t, word));
            }
        }
        to
    }

    /// Loads the inputs of a row and the addends, and adds them.
    fn row_from_frame(
        &mut self,
        sources: &[Source; 5],
        cells: &[Word; 5],
        held: &mut usize,
    ) -> [Register; 5] {
        for (n, &at) in cells.iter().enumerate() {
            self.code.push(Load(B[n], Base::State, cell(at)));
        }
        let is_held = |n: &usize| sources[*n].lane.x == HELD_COLUMN;
        let held_at = (0..5).find(is_held).expect("every column");
        if sources[held_at].half != *held {
            *held = sources[held_at].half;
            let at = self.slot(HELD_COLUMN, *held);
            self.code.push(Load(HELD, Base::Stack, at));
        }
        let other: Vec<usize> = (0..5).filter(|n| !is_held(n)).collect();
        let slot_of = |n: usize| self.slot(sources[n].lane.x, sources[n].half);
        // The second two addends with one instruction, if some two are neighbours. (The first two
        // loads follow other loads, where one instruction takes as long as two.)
        let mut pairs = [[other[0], other[1]], [other[2], other[3]]];
        for a in &other {
            for b in &other {
                if slot_of(*b) == slot_of(*a) + 4 {
                    let rest: Vec<usize> =
                        other.iter().copied().filter(|n| n != a && n != b).collect();
                    pairs = [[rest[0], rest[1]], [*a, *b]];
                }
            }
        }
        for (step, [a, b]) in pairs.into_iter().enumerate() {
            let (at, next) = (
                self.slot(sources[a].lane.x, sources[a].half),
                self.slot(sources[b].lane.x, sources[b].half),
            );
            if step == 1 && next == at + 4 {
                self.code.push(LoadTwo(T0, T1, Base::Stack, at));
            } else {
                self.code.push(Load(T0, Base::Stack, at));
                self.code.push(Load(T1, Base::Stack, next));
            }
            for (n, t) in [(a, T0), (b, T1)] {
                let [addend, word] = self.schedule.rotations_of(&sources[n]);
                self.eor(B[n], (t, addend), (B[n], word));
            }
        }
        let [addend, word] = self.schedule.rotations_of(&sources[held_at]);
        self.eor(B[held_at], (HELD, addend), (B[held_at], word));
        B
    }

    /// Chi and iota on one row: stores the results and adds them to the parities in A, whose
    /// rotations are `sums`.
    #[allow(clippy::too_many_arguments, reason = "one row's place in the program")]
    fn chi(
        &mut self,
        row: usize,
        half: usize,
        first: bool,
        b: [Register; 5],
        sums: &mut [u32; 5],
        number: usize,
        mut place: impl FnMut(usize) -> usize,
    ) {
        let rotation = self.schedule.chi[row].map(|halves| halves[half]);
        // The last result needs the first two inputs, which are replaced before.
        for x in 0..5 {
            let (next, after) = ((x + 1) % 5, (x + 2) % 5);
            let masked = if x == 4 { T1 } else { T0 };
            if x != 4 {
                self.bic(T0, (b[after], rotation[after]), (b[next], rotation[next]));
            }
            if x == 0 {
                // T1 keeps what the last result needs.
                let to = if first { A[0] } else { T0 };
                self.result(row, half, x, to, b[x], masked, &rotation);
                if row == 0 {
                    self.code.push(Constant(T1, 8 * number + 4 * half));
                    self.code.push(Eor(to, to, T1, 0));
                }
                self.finish(row, half, x, first, to, sums, place(x));
                self.bic(T1, (b[1], rotation[1]), (b[0], rotation[0]));
                continue;
            }
            let to = if first { A[x] } else { b[x] };
            self.result(row, half, x, to, b[x], masked, &rotation);
            self.finish(row, half, x, first, to, sums, place(x));
        }
    }

    /// `to` = the input `b` of place `x` and what chi adds to it.
    #[allow(clippy::too_many_arguments, reason = "one row's place in the program")]
    fn result(
        &mut self,
        row: usize,
        half: usize,
        x: usize,
        to: Register,
        b: Register,
        masked: Register,
        rotation: &[u32; 5],
    ) {
        let (plain, masked) = ((b, rotation[x]), (masked, rotation[(x + 2) % 5]));
        if self.schedule.masked_first[row][x][half] {
            self.eor(to, masked, plain);
        } else {
            self.eor(to, plain, masked);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one row's place in the program")]
    fn finish(
        &mut self,
        row: usize,
        half: usize,
        x: usize,
        first: bool,
        to: Register,
        sums: &mut [u32; 5],
        at: usize,
    ) {
        self.code.push(Store(to, Base::State, at));
        let stored = self.schedule.stored[Lane { x, y: row }.index()][half];
        if first {
            sums[x] = stored;
        } else if self.schedule.row_of_parity[x][half] == row {
            self.eor(A[x], (to, stored), (A[x], sums[x]));
            sums[x] = stored;
        } else {
            self.eor(A[x], (A[x], sums[x]), (to, stored));
        }
    }
}

/// Offset of a word of the state.
fn cell((lane, half): Word) -> usize {
    4 * (2 * lane.index() + half)
}

/// The code before the loop and that of the loop.
fn program(rounds: usize) -> (Schedule, Vec<Instruction>, Vec<Instruction>) {
    let schedule = Schedule::new();
    let slots = schedule.slots(HELD_COLUMN);
    let mut program = Program {
        schedule,
        code: Vec::new(),
        slots,
    };
    program.entry();
    let head = core::mem::take(&mut program.code);
    let start: [[Word; 2]; 25] = core::array::from_fn(|n| HALVES.map(|half| (LANES[n], half)));
    let mut place = start;
    for number in 0..rounds {
        place = program.round(&place, number);
    }
    for (n, lane) in LANES.into_iter().enumerate() {
        if place[n][0] == (lane, 1) {
            let at = cell((lane, 0));
            program.code.push(LoadTwo(T0, T1, Base::State, at));
            program.code.push(StoreTwo(T1, T0, Base::State, at));
            place[n].swap(0, 1);
        }
    }
    assert!(place == start);
    (program.schedule, head, program.code)
}

/// The text of one instruction.
fn text(instruction: Instruction) -> String {
    let name = |register| match register {
        HELD => "lr".to_owned(),
        register => format!("r{register}"),
    };
    let base = |base| if base == Base::State { "r0" } else { "sp" };
    let ror = |bits| match bits {
        0 => String::new(),
        bits => format!(", ror #{bits}"),
    };
    match instruction {
        Load(to, from, at) => format!("ldr {}, [{}, #{at}]", name(to), base(from)),
        LoadTwo(a, b, from, at) => {
            format!("ldrd {}, {}, [{}, #{at}]", name(a), name(b), base(from))
        }
        Store(what, to, at) => format!("str {}, [{}, #{at}]", name(what), base(to)),
        StoreTwo(a, b, to, at) => format!("strd {}, {}, [{}, #{at}]", name(a), name(b), base(to)),
        Constant(to, at) => format!(
            "ldr {0}, [sp, #{CONSTANTS}]\n    ldr {0}, [{0}, #{at}]",
            name(to)
        ),
        Move(to, from) => format!("mov {}, {}", name(to), name(from)),
        Eor(to, a, b, 0) if to == a && a < 8 && b < 8 => format!("eors {}, {}", name(to), name(b)),
        Eor(to, a, b, bits) => format!("eor {}, {}, {}{}", name(to), name(a), name(b), ror(bits)),
        Bic(to, a, b, bits) => format!("bic {}, {}, {}{}", name(to), name(a), name(b), ror(bits)),
    }
}

/// Writes the body of the function with `rounds` rounds in the loop.
pub(crate) fn assembly(rounds: usize) -> String {
    let (_, head, body) = program(rounds);
    let mut out = format!(
        "\
// Keccak-f[1600], {rounds} rounds in the loop. Generated by `cargo xtask armv7m --bless`.
// The 25 lanes at r0 are words of even and of odd bits, rotated as `rotations.in` says; the round
// constants of lane 0 at r1, rotated too, end with a word that is no constant. No branch and no
// address depends on the lanes.
"
    );
    let mut line = |line: &str| writeln!(out, "    {line}").expect("memory");
    line("push {r4-r11, lr}");
    line(&format!("sub sp, #{FRAME}"));
    line(&format!("str r1, [sp, #{CONSTANTS}]"));
    for &instruction in &head {
        line(&text(instruction));
    }
    line("2:");
    for &instruction in &body {
        line(&text(instruction));
    }
    line(&format!("ldr r11, [sp, #{CONSTANTS}]"));
    line(&format!("ldr r12, [r11, #{}]!", 8 * rounds));
    line(&format!("str r11, [sp, #{CONSTANTS}]"));
    line("adds r12, #1");
    line("bne 2b");
    line(&format!("add sp, #{FRAME}"));
    line("pop {r4-r11, pc}");
    out
}

/// The rotations of the stored words, as a Rust expression.
pub(crate) fn rotations() -> String {
    let lanes = Schedule::new().stored;
    let lanes: Vec<String> = lanes
        .iter()
        .map(|[even, odd]| format!("    [{even}, {odd}],\n"))
        .collect();
    format!("[\n{}]\n", lanes.concat())
}

#[cfg(test)]
mod tests;
