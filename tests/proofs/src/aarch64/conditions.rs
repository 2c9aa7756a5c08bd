//! Flags: conditions, conditional selections and comparisons.

use super::decode::{Instruction, Operand};
use super::general::immediate;
use crate::machine::Machine;
use crate::memory::{Bits, Step, Stop, Value, unknown};
use crate::terms::Lit;
use crate::vector::select;

impl Machine<'_> {
    pub(super) fn conditional_select(
        &mut self,
        i: &Instruction,
        m: &str,
        width: usize,
    ) -> Step<()> {
        let Some(Operand::Condition(name)) = i.operand(3) else {
            return unknown("a condition");
        };
        let condition = self.holds(name)?;
        let (yes, no) = (
            self.source_value(i, 1, width)?,
            self.source_value(i, 2, width)?,
        );
        let no = match (m, no) {
            ("csel", no) => no,
            (_, Value::Pointer(..)) => return unknown("arithmetic on a pointer"),
            (_, Value::Bits(no)) => {
                let t = &mut self.terms;
                let one = t.constant(width as u8, 1);
                let word = match m {
                    "csinc" => {
                        let no = t.gather(&no);
                        t.add(no, one)
                    }
                    _ => {
                        let inverted: Bits = no.iter().map(|bit| bit ^ 1).collect();
                        let inverted = t.gather(&inverted);
                        if m == "csinv" {
                            inverted
                        } else {
                            t.add(inverted, one)
                        }
                    }
                };
                Value::Bits(t.bits(word))
            }
        };
        let value = match (condition, yes, no) {
            (0, _, no) => no,
            (1, yes, _) => yes,
            (_, Value::Bits(yes), Value::Bits(no)) => {
                let constant = |bits: &[Lit]| bits.iter().all(|&bit| bit < 2);
                Value::Bits(if constant(&yes) && constant(&no) {
                    let pairs = yes.into_iter().zip(no);
                    let t = &mut self.terms;
                    pairs.map(|(yes, no)| t.mux(condition, yes, no)).collect()
                } else {
                    select(&mut self.terms, condition, &yes, &no)
                })
            }
            _ => return Err(Stop::Leak("an address depends on data".into())),
        };
        self.write_result(i, value)
    }

    pub(super) fn conditional_compare(
        &mut self,
        i: &Instruction,
        m: &str,
        width: usize,
    ) -> Step<()> {
        let Some(Operand::Condition(name)) = i.operand(3) else {
            return unknown("a condition");
        };
        let condition = self.holds(name)?;
        let (a, b) = (
            self.source_word(i, 0, width)?,
            self.source_word(i, 1, width)?,
        );
        let flags = immediate(i, 2)?;
        self.added(&a, &b, m == "ccmp", None, true);
        let t = &mut self.terms;
        let mut chosen = |flag: &mut Option<Lit>, bit: u32| {
            let otherwise = Lit::from(flags >> bit & 1 == 1);
            *flag = flag.map(|flag| t.mux(condition, flag, otherwise));
        };
        chosen(&mut self.flags.sign, 3);
        chosen(&mut self.flags.zero, 2);
        chosen(&mut self.flags.carry, 1);
        chosen(&mut self.flags.overflow, 0);
        Ok(())
    }

    /// Whether a condition holds.
    pub(super) fn holds(&mut self, name: &str) -> Step<Lit> {
        let flag = |flag: Option<Lit>| flag.map_or_else(|| unknown("a flag without a rule"), Ok);
        let (f, t) = (self.flags.clone(), &mut self.terms);
        Ok(match name {
            "eq" => flag(f.zero)?,
            "ne" => flag(f.zero)? ^ 1,
            "cs" | "hs" => flag(f.carry)?,
            "cc" | "lo" => flag(f.carry)? ^ 1,
            "mi" => flag(f.sign)?,
            "pl" => flag(f.sign)? ^ 1,
            "vs" => flag(f.overflow)?,
            "vc" => flag(f.overflow)? ^ 1,
            "hi" => t.and(flag(f.carry)?, flag(f.zero)? ^ 1),
            "ls" => t.and(flag(f.carry)?, flag(f.zero)? ^ 1) ^ 1,
            "lt" => t.xor(flag(f.sign)?, flag(f.overflow)?),
            "ge" => t.xor(flag(f.sign)?, flag(f.overflow)?) ^ 1,
            "gt" | "le" => {
                let less = t.xor(flag(f.sign)?, flag(f.overflow)?);
                let le = t.or(less, flag(f.zero)?);
                if name == "le" { le } else { le ^ 1 }
            }
            _ => return unknown("a condition"),
        })
    }
}
