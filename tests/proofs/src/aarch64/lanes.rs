//! Semantics of vector instructions that compute.

use super::decode::{Instruction, Operand};
use super::general::{bit_of, immediate};
use crate::machine::Machine;
use crate::memory::{Bits, Step, as_number, unknown};
use crate::terms::{Compare, Extreme, Lit, Terms, WordId};
use crate::vector::select;
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
        let register = &self.vectors[self.number_of(i, n)?];
        Ok(match i.operand(n) {
            Some(&Operand::Element(_, lane, index)) => {
                register[lane * index..lane * (index + 1)].repeat(count)
            }
            Some(&Operand::Vector(_, lane, count)) => register[..lane * count].to_vec(),
            Some(&Operand::Scalar(_, width)) => register[..width].to_vec(),
            _ => return unknown("no vector"),
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

    pub(super) fn words(&mut self, bits: &[Lit], lane: usize) -> Vec<WordId> {
        bits.chunks(lane)
            .map(|lane| self.terms.gather(lane))
            .collect()
    }

    pub(super) fn put_words(&mut self, i: &Instruction, words: &[WordId]) -> Step<bool> {
        let mut bits = Vec::new();
        for &word in words {
            bits.extend(self.terms.bits(word));
        }
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
            let (a, b) = (self.vector_operand(i, 1, 1)?, self.vector_operand(i, 2, 1)?);
            let t = &mut self.terms;
            let bits = a
                .iter()
                .zip(&b)
                .map(|(&a, &b)| bit_of(t, m, a, b))
                .collect();
            return self.put_vector(i, bits);
        }
        match m {
            "not" => {
                let bits = self.vector_operand(i, 1, 1)?;
                self.put_vector(i, bits.iter().map(|bit| bit ^ 1).collect())
            }
            "bsl" | "bif" => {
                let d = self.vector_operand(i, 0, 1)?;
                let (a, b) = (self.vector_operand(i, 1, 1)?, self.vector_operand(i, 2, 1)?);
                let bits = if m == "bsl" {
                    self.choose(&d, &a, &b)
                } else {
                    self.choose(&b, &d, &a)
                };
                self.put_vector(i, bits)
            }
            "eor3" | "bcax" => {
                let (a, b) = (self.vector_operand(i, 1, 1)?, self.vector_operand(i, 2, 1)?);
                let c = self.vector_operand(i, 3, 1)?;
                let t = &mut self.terms;
                let mut bits = Vec::with_capacity(128);
                for n in 0..128 {
                    let second = if m == "eor3" {
                        t.xor(b[n], c[n])
                    } else {
                        t.and(b[n], c[n] ^ 1)
                    };
                    bits.push(t.xor(a[n], second));
                }
                self.put_vector(i, bits)
            }
            "rax1" | "xar" => {
                let (a, b) = (self.vector_operand(i, 1, 1)?, self.vector_operand(i, 2, 1)?);
                let right = if m == "xar" { immediate(i, 3)? } else { 0 };
                let t = &mut self.terms;
                let mut bits = Vec::with_capacity(128);
                for (a, b) in a.chunks(to.lane).zip(b.chunks(to.lane)) {
                    let b = if m == "rax1" {
                        Shift::RotateLeft.of(b, 1)
                    } else {
                        b.to_vec()
                    };
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
        let pairs = m == "addp";
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
        let unary = matches!(m, "abs" | "neg");
        let last = if unary { 1 } else { 2 };
        if unary && i.operands.len() != 2 {
            return Ok(false);
        }
        if pairs && i.operands.len() == 2 {
            // Both lanes of one register.
            let bits = self.vector_operand(i, 1, 1)?;
            let words = self.words(&bits, to.lane);
            let word = f(&mut self.terms, words[0], words[1]);
            return self.put_words(i, &[word]);
        }
        let (a, b) = (
            self.vector_operand(i, 1, to.count)?,
            self.vector_operand(i, last, to.count)?,
        );
        let (a, b) = (self.words(&a, to.lane), self.words(&b, to.lane));
        let t = &mut self.terms;
        let mut out: Vec<WordId> = if pairs {
            let all: Vec<WordId> = a.into_iter().chain(b).collect();
            all.chunks(2).map(|pair| f(t, pair[0], pair[1])).collect()
        } else {
            a.into_iter().zip(b).map(|(a, b)| f(t, a, b)).collect()
        };
        if matches!(m, "mla" | "mls") {
            let d = self.vector_operand(i, 0, 1)?;
            let d = self.words(&d, to.lane);
            let t = &mut self.terms;
            for (product, d) in out.iter_mut().zip(d) {
                *product = if m == "mla" {
                    t.add(d, *product)
                } else {
                    t.sub(d, *product)
                };
            }
        }
        self.put_words(i, &out)
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
        let mut bits = Vec::with_capacity(a.len());
        for a in a.chunks(to.lane) {
            if m.ends_with("rshr") {
                bits.extend(self.rounded_shift(a, by as usize, to.lane)?);
            } else {
                bits.extend(shift.of(a, by));
            }
        }
        self.put_vector(i, bits)
    }

    /// `(a + 2^(by-1)) / 2^by` without overflow, in lanes of at most 32 bits.
    fn rounded_shift(&mut self, a: &[Lit], by: usize, lane: usize) -> Step<Bits> {
        if a.len() > 32 {
            return unknown("a rounded shift of 64 bits");
        }
        let mut wide = a.to_vec();
        wide.resize(2 * a.len(), a[a.len() - 1]);
        let t = &mut self.terms;
        let (word, half) = (t.gather(&wide), t.constant(wide.len() as u8, 1 << (by - 1)));
        let sum = t.add(word, half);
        let word = t.slice(sum, by as u8, lane as u8);
        Ok(t.bits(word))
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
        let (a, b) = (self.vector_operand(i, 1, 1)?, self.vector_operand(i, 2, 1)?);
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
