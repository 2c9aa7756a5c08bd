//! Instructions whose results have lanes of another width, or one lane for all.

use super::decode::Instruction;
use super::general::immediate;
use super::lanes::{Binary, Shape};
use crate::machine::Machine;
use crate::memory::{Bits, Step};
use crate::terms::{Extreme, Lit, Terms};
use crate::vector::widened;
use crate::vector_arithmetic::Shift;

impl Machine<'_> {
    /// Destinations of lanes of twice the width.
    pub(super) fn widening(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let (stem, upper) = m.strip_suffix('2').map_or((m, false), |stem| (stem, true));
        let half = (to.count, upper);
        let signed = stem.starts_with('s');
        let narrow = to.lane / 2;
        match stem {
            "smull" | "smlal" => {
                let [a, b] = [1, 2].map(|n| self.half_operand(i, n, half));
                let bits = self.each(&a?, &b?, narrow, |t, a, b| t.wide(a, b, signed));
                if stem == "smull" {
                    return self.put_vector(i, bits);
                }
                self.accumulated(i, &bits, (Terms::add, to.lane))
            }
            "saddw" | "uaddw" => {
                let a = self.vector_operand(i, 1, 1)?;
                let b = self.half_operand(i, 2, half)?;
                let b = widened(&b, narrow, to.lane, signed);
                let bits = self.each(&a, &b, to.lane, Terms::add);
                self.put_vector(i, bits)
            }
            "sshll" | "ushll" => {
                let a = self.half_operand(i, 1, half)?;
                let (a, by) = (widened(&a, narrow, to.lane, signed), immediate(i, 2)?);
                let lanes = a.chunks(to.lane);
                let bits = lanes.flat_map(|a| Shift::Left.of(a, by)).collect();
                self.put_vector(i, bits)
            }
            "uaddlp" | "uadalp" if !upper => {
                let a = self.vector_operand(i, 1, 1)?;
                let a = widened(&a, narrow, to.lane, signed);
                let bits = self.pairs(&a, to.lane, Terms::add);
                if stem == "uaddlp" {
                    return self.put_vector(i, bits);
                }
                self.accumulated(i, &bits, (Terms::add, to.lane))
            }
            _ => Ok(false),
        }
    }

    /// Destinations of lanes of half the width; the forms on upper halves keep the lower one.
    pub(super) fn narrowing(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let (stem, upper) = m.strip_suffix('2').map_or((m, false), |stem| (stem, true));
        let wide = 2 * to.lane;
        if !matches!(stem, "xtn" | "shrn" | "addhn") {
            return Ok(false);
        }
        let mut a = self.vector_operand(i, 1, 1)?;
        let from = match stem {
            "xtn" => 0,
            "shrn" => immediate(i, 2)? as usize,
            _ => {
                let b = self.vector_operand(i, 2, 1)?;
                a = self.each(&a, &b, wide, Terms::add);
                to.lane
            }
        };
        let mut out: Bits = Vec::new();
        if upper {
            out.extend(self.vector_register(self.number_of(i, 0)?, 64)?);
        }
        for lane in a.chunks(wide) {
            out.extend(&lane[from..from + to.lane]);
        }
        self.put_vector(i, out)
    }

    /// One result of all lanes.
    pub(super) fn across(&mut self, i: &Instruction, m: &str, to: Shape) -> Step<bool> {
        let f: Binary = match m {
            "addv" => Terms::add,
            "smaxv" => |t, a, b| t.extreme(Extreme::MaxSigned, a, b),
            "umaxv" => |t, a, b| t.extreme(Extreme::MaxUnsigned, a, b),
            _ => return Ok(false),
        };
        let bits = self.vector_operand(i, 1, 1)?;
        let mut lanes = bits.chunks(to.lane).map(<[Lit]>::to_vec);
        let first = lanes.next().unwrap_or_default();
        let all = lanes.fold(first, |all, lane| self.each(&all, &lane, to.lane, f));
        self.put_vector(i, all)
    }
}
