//! Semantics of vector instructions that compute.

use super::decode::{Instruction, Operand};
use super::general::{bit_of, immediate};
use crate::machine::Machine;
use crate::memory::{Bits, Step, UNWRITTEN, access, as_number, unknown};
use crate::terms::{Compare, Extreme, Lit, Terms, WordId};
use crate::vector::{select, widened};
use crate::vector_arithmetic::Shift;

/// Width and number of the lanes of a vector operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) lane: usize,
    pub(super) count: usize,
}

impl Shape {
    pub(super) fn of(operand: Option<&Operand>) -> Option<Self> {
        match operand {
            Some(&Operand::Vector(_, lane, count)) => Some(Self { lane, count }),
            Some(&Operand::Scalar(_, lane) | &Operand::Element(_, lane, _)) => {
                Some(Self { lane, count: 1 })
            }
            _ => None,
        }
    }
}

pub(super) type Binary = fn(&mut Terms, WordId, WordId) -> WordId;

impl Machine<'_> {
    pub(super) fn set_vector_register(&mut self, number: usize, mut bits: Bits) {
        bits.resize(512, 0);
        self.vectors[number] = bits;
    }

    /// The lowest bits of a vector register.
    pub(super) fn vector_register(&self, number: usize, width: usize) -> Step<Bits> {
        let bits = &self.vectors[number][..width];
        if bits.contains(&UNWRITTEN) {
            return access("a vector register has no value");
        }
        Ok(bits.to_vec())
    }

    /// Number of the vector register that an operand is.
    pub(super) fn number_of(&self, i: &Instruction, n: usize) -> Step<usize> {
        match i.operand(n) {
            Some(
                &Operand::Vector(number, ..)
                | &Operand::Scalar(number, _)
                | &Operand::Element(number, ..),
            ) => Ok(number),
            _ => unknown("no vector register"),
        }
    }

    /// The bits of a vector operand; a lane as often as `count` says.
    pub(super) fn vector_operand(&self, i: &Instruction, n: usize, count: usize) -> Step<Bits> {
        let width = match i.operand(n) {
            Some(&Operand::Element(_, lane, index)) => lane * (index + 1),
            Some(&Operand::Vector(_, lane, count)) => lane * count,
            Some(&Operand::Scalar(_, width)) => width,
            _ => return unknown("no vector"),
        };
        let bits = self.vector_register(self.number_of(i, n)?, width)?;
        Ok(match i.operand(n) {
            Some(&Operand::Element(_, lane, index)) => bits[lane * index..].repeat(count),
            _ => bits,
        })
    }

    /// As [`Self::vector_operand`]; of the forms on upper halves the upper half.
    pub(super) fn half_operand(
        &self,
        i: &Instruction,
        n: usize,
        (count, upper): (usize, bool),
    ) -> Step<Bits> {
        let bits = self.vector_operand(i, n, count)?;
        let is_vector = matches!(i.operand(n), Some(Operand::Vector(..)));
        Ok(if upper && is_vector {
            bits[64..].to_vec()
        } else {
            bits
        })
    }

    /// Operands 1 and 2.
    pub(super) fn two_vectors(&self, i: &Instruction) -> Step<(Bits, Bits)> {
        Ok((self.vector_operand(i, 1, 1)?, self.vector_operand(i, 2, 1)?))
    }

    /// The sum of the destination and a result, or their difference.
    pub(super) fn accumulated(
        &mut self,
        i: &Instruction,
        result: &[Lit],
        (f, lane): (Binary, usize),
    ) -> Step<bool> {
        let d = self.vector_operand(i, 0, 1)?;
        let bits = self.each(&d, result, lane, f);
        self.put_vector(i, bits)
    }

    pub(super) fn put_vector(&mut self, i: &Instruction, bits: Bits) -> Step<bool> {
        let number = self.number_of(i, 0)?;
        self.set_vector_register(number, bits);
        Ok(true)
    }

    /// Executes the instruction if it is one of these.
    pub(super) fn lanes_step(&mut self, i: &Instruction) -> Step<bool> {
        let m = &i.mnemonic[..];
        let Some(to) = Shape::of(i.operand(0)) else {
            return Ok(false);
        };
        if self.bitwise(i, m, to)?
            || self.lane_by_lane(i, m, to)?
            || self.compare_lanes(i, m, to)?
            || self.shift_lanes(i, m, to)?
            || self.widening(i, m, to)?
            || self.narrowing(i, m, to)?
        {
            return Ok(true);
        }
        self.across(i, m, to)
    }

    fn bitwise(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let two = matches!(m, "and" | "bic" | "orr" | "orn" | "eor");
        if two && i.operands.len() == 3 && Shape::of(i.operand(2)).is_some() {
            let (a, b) = self.two_vectors(i)?;
            let pairs = a.into_iter().zip(b);
            let bits = pairs.map(|(a, b)| bit_of(&mut self.terms, m, a, b));
            let bits = bits.collect();
            return self.put_vector(i, bits);
        }
        match m {
            "not" => {
                let bits = self.vector_operand(i, 1, 1)?;
                self.put_vector(i, bits.iter().map(|bit| bit ^ 1).collect())
            }
            "fneg" => {
                let mut bits = self.vector_operand(i, 1, 1)?;
                let signs = bits.iter_mut().skip(to.lane - 1).step_by(to.lane);
                signs.for_each(|sign| *sign ^= 1);
                self.put_vector(i, bits)
            }
            "bsl" | "bif" => {
                let (d, (a, b)) = (self.vector_operand(i, 0, 1)?, self.two_vectors(i)?);
                let bits = if m == "bsl" {
                    self.choose(&d, &a, &b)
                } else {
                    self.choose(&b, &d, &a)
                };
                self.put_vector(i, bits)
            }
            "eor3" | "bcax" => {
                let ((a, b), c) = (self.two_vectors(i)?, self.vector_operand(i, 3, 1)?);
                let inner = if m == "eor3" { "eor" } else { "bic" };
                let t = &mut self.terms;
                let one = |n: usize| {
                    let second = bit_of(t, inner, b[n], c[n]);
                    t.xor(a[n], second)
                };
                let bits = (0..128).map(one).collect();
                self.put_vector(i, bits)
            }
            "rax1" | "xar" => {
                let (a, b) = self.two_vectors(i)?;
                let (left, right) = if m == "xar" {
                    (0, immediate(i, 3)?)
                } else {
                    (1, 0)
                };
                let t = &mut self.terms;
                let mut bits = Vec::with_capacity(128);
                for (a, b) in a.chunks(to.lane).zip(b.chunks(to.lane)) {
                    let b = Shift::RotateLeft.of(b, left);
                    let sum: Bits = a.iter().zip(b).map(|(&a, b)| t.xor(a, b)).collect();
                    bits.extend(Shift::RotateRight.of(&sum, right));
                }
                self.put_vector(i, bits)
            }
            _ => Ok(false),
        }
    }

    /// Bits of `yes` where the mask is set, of `no` elsewhere; by lanes where a mask of one
    /// literal allows it.
    pub(super) fn choose(&mut self, mask: &[Lit], yes: &[Lit], no: &[Lit]) -> Bits {
        let uniform = |lane: usize| mask.chunks(lane).all(|m| m.iter().all(|&bit| bit == m[0]));
        let lane = [64, 32, 16, 8]
            .into_iter()
            .find(|&lane| uniform(lane))
            .unwrap_or(1);
        let mut bits = Vec::with_capacity(mask.len());
        for at in (0..mask.len()).step_by(lane) {
            let part = at..at + lane;
            match mask[at] {
                0 => bits.extend(&no[part]),
                1 => bits.extend(&yes[part]),
                bit if lane == 1 => bits.push(self.terms.mux(bit, yes[at], no[at])),
                bit => bits.extend(select(&mut self.terms, bit, &yes[part.clone()], &no[part])),
            }
        }
        bits
    }

    /// Two sources and a destination of the same lanes.
    fn lane_by_lane(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let f: Binary = match m {
            "add" | "addp" => Terms::add,
            "sub" => Terms::sub,
            "mul" | "mla" | "mls" => Terms::mul,
            "smax" => |t, a, b| t.extreme(Extreme::MaxSigned, a, b),
            "umax" => |t, a, b| t.extreme(Extreme::MaxUnsigned, a, b),
            "umin" => |t, a, b| t.extreme(Extreme::MinUnsigned, a, b),
            "sqdmulh" => |t, a, b| doubled_high(t, a, b, false),
            "sqrdmulh" => |t, a, b| doubled_high(t, a, b, true),
            "uabd" => |t, a, b| {
                let kinds = [Extreme::MaxUnsigned, Extreme::MinUnsigned];
                let [most, least] = kinds.map(|kind| t.extreme(kind, a, b));
                t.sub(most, least)
            },
            "abs" => |t, a, _| t.abs(a),
            "neg" => |t, a, _| {
                let width = t.words[a as usize].width;
                let zero = t.constant(width, 0);
                t.sub(zero, a)
            },
            _ => return Ok(false),
        };
        let last = i.operands.len() - 1;
        if matches!(m, "abs" | "neg") && last != 1 {
            return Ok(false);
        }
        let a = self.vector_operand(i, 1, to.count)?;
        if m == "addp" {
            // The neighbours of one register, or of two.
            let all = match last {
                1 => a,
                _ => [a, self.vector_operand(i, 2, to.count)?].concat(),
            };
            let bits = self.pairs(&all, to.lane, f);
            return self.put_vector(i, bits);
        }
        let b = self.vector_operand(i, last, to.count)?;
        let bits = self.each(&a, &b, to.lane, f);
        match m {
            "mla" => self.accumulated(i, &bits, (Terms::add, to.lane)),
            "mls" => self.accumulated(i, &bits, (Terms::sub, to.lane)),
            _ => self.put_vector(i, bits),
        }
    }

    fn compare_lanes(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        if !m.starts_with("cm") {
            return Ok(false);
        }
        let a = self.vector_operand(i, 1, 1)?;
        let b = match i.operand(2) {
            Some(Operand::Immediate(0)) => vec![0; a.len()],
            _ => self.vector_operand(i, 2, 1)?,
        };
        let mut bits = Vec::with_capacity(a.len());
        for (a, b) in a.chunks(to.lane).zip(b.chunks(to.lane)) {
            let t = &mut self.terms;
            let (a, b) = (t.gather(a), t.gather(b));
            let lit = match m {
                "cmeq" => t.compare(Compare::Equal, a, b),
                "cmgt" => t.compare(Compare::GreaterSigned, a, b),
                "cmge" => t.compare(Compare::GreaterSigned, b, a) ^ 1,
                "cmhi" => t.compare(Compare::GreaterUnsigned, a, b),
                _ => return Ok(false),
            };
            bits.extend([lit].repeat(to.lane));
        }
        self.put_vector(i, bits)
    }

    /// Shifts with a destination of the same lanes.
    fn shift_lanes(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let shift = match m {
            "shl" => Shift::Left,
            "sshr" | "srshr" => Shift::Arithmetic,
            "ushr" => Shift::Right,
            "sli" | "sri" => return self.inserted(i, m, to),
            "ushl" => return self.variable_shift(i, to),
            _ => return Ok(false),
        };
        let a = self.vector_operand(i, 1, 1)?;
        let by = immediate(i, 2)?;
        if m == "srshr" {
            return self.rounded_shift(i, &a, by, to.lane);
        }
        let bits = a.chunks(to.lane).flat_map(|a| shift.of(a, by)).collect();
        self.put_vector(i, bits)
    }

    /// `(a + 2^(by-1)) / 2^by` without overflow, in lanes of at most 32 bits.
    fn rounded_shift(&mut self, i: &Instruction, a: &[Lit], by: u64, lane: usize) -> Step<bool> {
        if lane > 32 {
            return unknown("a rounded shift of 64 bits");
        }
        let bits = self.lanes(a, a, lane, |t, a, _| {
            let wide = widened(a, lane, 2 * lane, true);
            let (word, half) = (t.gather(&wide), t.constant(2 * lane as u8, 1 << (by - 1)));
            let sum = t.add(word, half);
            t.slice(sum, by as u8, lane as u8)
        });
        self.put_vector(i, bits)
    }

    /// Shifts into a destination that keeps its other bits.
    fn inserted(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let (d, a) = (self.vector_operand(i, 0, 1)?, self.vector_operand(i, 1, 1)?);
        let by = immediate(i, 2)? as usize;
        let mut bits = Vec::with_capacity(a.len());
        for (d, a) in d.chunks(to.lane).zip(a.chunks(to.lane)) {
            if m == "sli" {
                bits.extend(&d[..by]);
                bits.extend(&a[..to.lane - by]);
            } else {
                bits.extend(&a[by..]);
                bits.extend(&d[to.lane - by..]);
            }
        }
        self.put_vector(i, bits)
    }

    /// The lowest byte of each count is signed: to the left, or to the right if negative.
    fn variable_shift(&mut self, i: &Instruction, to: Shape) -> Step<bool> {
        let (a, b) = self.two_vectors(i)?;
        let mut bits = Vec::with_capacity(a.len());
        for (a, b) in a.chunks(to.lane).zip(b.chunks(to.lane)) {
            let by = as_number(&b[..8]).map_or_else(|| unknown("a shift by data"), Ok)?;
            let by = i64::from(by as u8 as i8);
            let shift = if by >= 0 { Shift::Left } else { Shift::Right };
            bits.extend(shift.of(a, by.unsigned_abs()));
        }
        self.put_vector(i, bits)
    }
}

/// The upper half of twice the product, at the largest number where both are the smallest.
fn doubled_high(t: &mut Terms, a: WordId, b: WordId, rounds: bool) -> WordId {
    let narrow = t.words[a as usize].width;
    let mut product = t.wide(a, b, true);
    if rounds {
        let half = t.constant(2 * narrow, 1 << (narrow - 2));
        product = t.add(product, half);
    }
    let high = t.slice(product, narrow - 1, narrow + 1);
    let most = (1i64 << (narrow - 1)) - 1;
    t.clamp(high, -most - 1, most, narrow)
}
