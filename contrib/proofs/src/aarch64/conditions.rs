//! Flags: conditions, conditional selections and comparisons.

use iced_x86::ConditionCode;

use super::decode::{Instruction, Operand};
use super::general::immediate;
use crate::machine::Machine;
use crate::memory::{Bits, Step, Value, leak, unknown};
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
                let word = if m == "csinc" {
                    let no = t.gather(&no);
                    t.add(no, one)
                } else {
                    let inverted: Bits = no.iter().map(|bit| bit ^ 1).collect();
                    let inverted = t.gather(&inverted);
                    t.add(inverted, one)
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
            _ => return leak("an address depends on data"),
        };
        self.write_result(i, value)
    }

    pub(super) fn conditional_compare(&mut self, i: &Instruction, width: usize) -> Step<()> {
        let Some(Operand::Condition(name)) = i.operand(3) else {
            return unknown("a condition");
        };
        let condition = self.holds(name)?;
        let (a, b) = (
            self.source_word(i, 0, width)?,
            self.source_word(i, 1, width)?,
        );
        let flags = immediate(i, 2)?;
        self.added(&a, &b, true, true);
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
        use ConditionCode as C;
        let code = match name {
            "eq" => C::e,
            "ne" => C::ne,
            // The carry of a difference is set where nothing is borrowed.
            "cs" | "hs" => C::b,
            "cc" | "lo" => C::ae,
            "mi" => C::s,
            "pl" => C::ns,
            "vs" => C::o,
            "vc" => C::no,
            "lt" => C::l,
            "ge" => C::ge,
            "gt" => C::g,
            "le" => C::le,
            "hi" | "ls" => {
                let (more, differs) = (self.condition(C::b)?, self.condition(C::ne)?);
                return Ok(self.terms.and(more, differs) ^ Lit::from(name == "ls"));
            }
            _ => return unknown("a condition"),
        };
        self.condition(code)
    }
}
