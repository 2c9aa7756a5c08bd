//! Semantics of vector instructions that move and rearrange.

use super::decode::{Instruction, Modifier, Operand};
use super::general::{bit_of, immediate};
use super::lanes::Shape;
use crate::machine::Machine;
use crate::memory::{Bits, Step, Value, as_number, constant_bits, unknown};
use crate::terms::Lit;
use crate::vector_arithmetic::Shift;
use crate::vector_shuffles::{is_nibbles, picked};

impl Machine<'_> {
    /// Executes the instruction if it is one of these.
    pub(super) fn moves_step(&mut self, i: &Instruction) -> Step<bool> {
        let m = &i.mnemonic[..];
        match m {
            "umov" | "fmov" => return self.between(i),
            "dup" | "ins" => return self.lane_moves(i, m),
            _ => {}
        }
        let Some(to) = Shape::of(i.operand(0)) else {
            return Ok(false);
        };
        let bits = match m {
            "movi" | "mvni" => self.constant(i, m, to)?,
            "orr" | "bic" if matches!(i.operand(1), Some(Operand::Immediate(_))) => {
                let (d, mask) = (self.vector_operand(i, 0, 1)?, self.constant(i, "movi", to)?);
                let pairs = d.into_iter().zip(mask);
                let one = |(d, mask)| bit_of(&mut self.terms, m, d, mask);
                pairs.map(one).collect()
            }
            "zip1" | "zip2" | "uzp1" | "uzp2" | "trn1" | "trn2" => {
                let (a, b) = self.two_vectors(i)?;
                interleaved(m, to, &a, &b)
            }
            "ext" => {
                let (a, b) = self.two_vectors(i)?;
                let (from, width) = (8 * immediate(i, 3)? as usize, a.len());
                let both: Bits = a.into_iter().chain(b).collect();
                both[from..from + width].to_vec()
            }
            "tbl" => self.table(i)?,
            "cnt" => {
                let a = self.vector_operand(i, 1, 1)?;
                self.each(&a, &a, 8, |t, byte, _| t.count_ones(byte, 8))
            }
            _ => return Ok(false),
        };
        self.put_vector(i, bits)
    }

    /// Between a general register or a lane and another one.
    fn between(&mut self, i: &Instruction) -> Step<bool> {
        let mut bits = match i.operand(1) {
            Some(&Operand::General(n, width)) => self
                .general_register(n, width)?
                .bits("a pointer in a vector")?,
            Some(Operand::Immediate(_)) | None => return unknown("a number with a point"),
            Some(_) => self.vector_operand(i, 1, 1)?,
        };
        match i.operand(0) {
            Some(&Operand::General(n, width)) => {
                bits.resize(width, 0);
                self.set_general_register(n, Value::Bits(bits));
            }
            Some(&Operand::Element(n, lane, index)) => self.insert(n, lane * index, &bits),
            Some(&Operand::Scalar(n, _)) => self.set_vector_register(n, bits),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn insert(&mut self, number: usize, at: usize, bits: &[Lit]) {
        self.vectors[number][at..at + bits.len()].copy_from_slice(bits);
    }

    fn lane_moves(&mut self, i: &Instruction, m: &str) -> Step<bool> {
        let Some(to) = Shape::of(i.operand(0)) else {
            return Ok(false);
        };
        let bits = match i.operand(1) {
            Some(&Operand::General(n, _)) => self
                .general_register(n, 64)?
                .bits("a pointer in a vector")?,
            _ => self.vector_operand(i, 1, 1)?,
        };
        let bits = &bits[..to.lane];
        match i.operand(0) {
            Some(&Operand::Element(n, lane, index)) if m == "ins" => {
                self.insert(n, lane * index, bits);
            }
            Some(&Operand::Vector(n, ..) | &Operand::Scalar(n, _)) if m == "dup" => {
                self.set_vector_register(n, bits.repeat(to.count));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An immediate in all lanes.
    fn constant(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<Bits> {
        let value = immediate(i, 1)?;
        let lane = constant_bits(value, to.lane);
        let mut lane = match i.operand(2) {
            None => lane,
            Some(&Operand::Shift(Modifier::Lsl, by)) => Shift::Left.of(&lane, by as u64),
            Some(&Operand::Shift(Modifier::Msl, by)) => {
                let shifted = Shift::Left.of(&lane, by as u64);
                vec![1; by]
                    .into_iter()
                    .chain(shifted.into_iter().skip(by))
                    .collect()
            }
            _ => return unknown("an immediate"),
        };
        if m == "mvni" {
            lane.iter_mut().for_each(|bit| *bit ^= 1);
        }
        Ok(lane.repeat(to.count))
    }

    /// Bytes of up to four registers by indices; beyond them 0.
    fn table(&mut self, i: &Instruction) -> Step<Bits> {
        let Some(Operand::List(registers, ..)) = i.operand(1) else {
            return unknown("a table");
        };
        let registers = registers.iter().map(|&r| self.vector_register(r, 128));
        let table = registers.collect::<Step<Vec<Bits>>>()?.concat();
        let indices = self.vector_operand(i, 2, 1)?;
        if table.len() == 128 && is_nibbles(&indices) {
            return Ok(self.look_up(&table, &indices, 8));
        }
        let mut out = Vec::with_capacity(indices.len());
        for index in indices.chunks(8) {
            let index = as_number(index).map_or_else(|| unknown("an index that is data"), Ok)?;
            let at = 8 * index as usize;
            match table.get(at..at + 8) {
                Some(byte) => out.extend(byte),
                None => out.extend([0; 8]),
            }
        }
        Ok(out)
    }
}

/// Lanes of two sources in the order of the instruction.
fn interleaved(m: &str, to: Shape, a: &[Lit], b: &[Lit]) -> Bits {
    let second = usize::from(m.ends_with('2'));
    let half = to.count / 2;
    picked(to.lane, to.count, |n| match &m[..3] {
        "zip" => ([a, b][n % 2], n / 2 + second * half),
        "uzp" => ([a, b][n / half], 2 * (n % half) + second),
        _ => ([a, b][n % 2], n / 2 * 2 + second),
    })
}
