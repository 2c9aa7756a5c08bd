//! AArch64: execution of a function, and control flow.

mod conditions;
mod decode;
mod general;
mod lanes;
mod memory;
mod moves;
mod program;
mod rows;
mod semantics;
mod widths;

use std::rc::Rc;

pub(crate) use decode::Instruction;
pub(crate) use program::{COMPILER, TRIPLE, emulator, lacking};
pub(crate) use rows::{VARIABLE, answers, rows};

use crate::machine::Machine;
use crate::memory::{LIBRARY, Step, Value, access, unknown};
use decode::Operand;

/// The stack pointer and the link register among the general registers.
pub(crate) const SP: usize = 31;
pub(crate) const LINK: usize = 30;

impl Machine<'_> {
    pub(crate) fn fetch(&mut self, at: u64) -> Step<Rc<Instruction>> {
        if let Some(known) = self.decoded_aarch64.get(&at) {
            return Ok(known.clone());
        }
        let word = self
            .memory
            .image
            .code(at)
            .and_then(|code| code.first_chunk::<4>());
        let Some(word) = word.filter(|_| at.is_multiple_of(4)) else {
            return access(format!("code at {at:#x}"));
        };
        let Some(decoded) = Instruction::decode(u32::from_le_bytes(*word), at) else {
            return unknown(format!(
                "an invalid instruction at {}",
                self.memory.image.name(at)
            ));
        };
        let features = self.features.as_ref();
        if let Some(text) = features.and_then(|all| all.lacks_aarch64(&decoded)) {
            return unknown(text);
        }
        self.met.entry(word.to_vec()).or_insert(at);
        let decoded = Rc::new(decoded);
        self.decoded_aarch64.insert(at, decoded.clone());
        Ok(decoded)
    }

    /// One instruction; the address of the next.
    pub(crate) fn step_aarch64(&mut self, i: &Instruction) -> Step<u64> {
        self.in_frame(0, |m| {
            if let Some(next) = m.control(i)? {
                return Ok(next);
            }
            if m.memory_step(i)? || m.general_step(i)? || m.moves_step(i)? || m.lanes_step(i)? {
                return Ok(i.at + 4);
            }
            unknown(format!("no semantics of {}", i.form()))
        })
    }

    fn control(&mut self, i: &Instruction) -> Step<Option<u64>> {
        let next = i.at + 4;
        let target = i.operands.iter().find_map(|operand| match operand {
            Operand::Target(target) => Some(*target),
            _ => None,
        });
        // No code is at the last address.
        let target = target.unwrap_or(u64::MAX);
        let m = &i.mnemonic[..];
        if let Some(condition) = m.strip_prefix("b.") {
            let taken = self.holds(condition)?;
            return self.branch(taken, target, next).map(Some);
        }
        let to = match m {
            "nop" | "bti" | "paciasp" | "autiasp" => Ok(next),
            "b" => Ok(target),
            "bl" => {
                self.return_to(next)?;
                Ok(target)
            }
            "ret" if i.operands.is_empty() => self.return_address(),
            "br" | "blr" | "ret" => {
                let Some(&Operand::General(n, 64)) = i.operand(0) else {
                    return unknown("a jump");
                };
                let to = self.general_register(n, 64)?;
                if m == "blr" {
                    self.return_to(next)?;
                }
                match self.memory.pointer(to) {
                    Value::Pointer(LIBRARY, slot) => self.outside(slot),
                    to => self.code_at(to),
                }
            }
            "cbz" | "cbnz" => {
                let (n, width) = self.destination(i)?;
                let zero = match self.general_register(n, width)? {
                    Value::Pointer(..) => 0,
                    Value::Bits(bits) => self.terms.none(&bits),
                };
                self.branch(zero ^ u32::from(m == "cbnz"), target, next)
            }
            "tbz" | "tbnz" => {
                let (n, width) = self.destination(i)?;
                let bits = self
                    .general_register(n, width)?
                    .bits("a bit of a pointer")?;
                let bit = bits[general::immediate(i, 1)? as usize];
                self.branch(bit ^ u32::from(m == "tbz"), target, next)
            }
            _ => return Ok(None),
        };
        to.map(Some)
    }

    /// A function of another library, which returns to the link register and may change what
    /// a callee does not restore.
    fn outside(&mut self, slot: i64) -> Step<u64> {
        let arguments = core::array::from_fn(|n| self.general[n].clone());
        let result = self.library(slot, arguments)?;
        let to = self.return_address()?;
        self.forget_of_callee();
        self.general[0] = result;
        Ok(to)
    }
}
