//! Control flow, moves, products and divisions of instructions on general registers.

use iced_x86::{Code, ConditionCode, FlowControl, Instruction, Mnemonic as M, Register};

use crate::machine::{Flags, Machine};
use crate::memory::{
    LIBRARY, Memory, Step, Stop, Value, access, as_number, constant_bits, leak, unknown,
};
use crate::terms::Lit;

impl Machine<'_> {
    /// Executes the instruction if it is one of these; the address of the next.
    pub(crate) fn scalar(&mut self, i: &Instruction) -> Step<Option<u64>> {
        let next = i.next_ip();
        // Returns that take more from the stack or change the segment.
        let is_other_return = i.flow_control() == FlowControl::Return && i.code() != Code::Retnq;
        let moves = i.stack_pointer_increment().abs();
        if is_other_return || moves != 0 && moves != 8 {
            return unknown("a stack pointer that moves by other than 8");
        }
        match i.flow_control() {
            FlowControl::Next => {}
            FlowControl::UnconditionalBranch => return Ok(Some(i.near_branch_target())),
            // Not those that count.
            FlowControl::ConditionalBranch if i.is_jcc_short_or_near() => {
                let taken = self.condition(i.condition_code())?;
                return self.branch(taken, i.near_branch_target(), next).map(Some);
            }
            FlowControl::Call => {
                self.return_to(next)?;
                return Ok(Some(i.near_branch_target()));
            }
            FlowControl::IndirectBranch | FlowControl::IndirectCall => {
                return self.indirect(i, next).map(Some);
            }
            FlowControl::Return => return self.return_address().map(Some),
            other => return unknown(format!("{other:?}")),
        }
        match i.mnemonic() {
            M::Nop | M::Endbr64 => {}
            M::Vzeroupper | M::Vzeroall => {
                let from = if i.mnemonic() == M::Vzeroall { 0 } else { 128 };
                let vectors = self.vectors.iter_mut().take(16);
                vectors.for_each(|v| v[from..].fill(0));
            }
            M::Push => {
                let value = self.source(i, 0, 64)?;
                self.push(&value)?;
            }
            M::Pop => {
                let value = self.pop()?;
                self.store(i, value)?;
            }
            M::Mov => {
                let value = self.source(i, 1, self.width(i, 0))?;
                self.store(i, value)?;
            }
            M::Movzx | M::Movsx | M::Movsxd => {
                let mut bits = self.source_bits(i, 1, 0)?;
                let sign = bits[bits.len() - 1];
                let top = if i.mnemonic() == M::Movzx { 0 } else { sign };
                bits.resize(self.width(i, 0), top);
                self.store(i, Value::Bits(bits))?;
            }
            M::Lea => self.lea(i)?,
            _ if is_conditional(i) => self.conditional(i)?,
            M::Mul | M::Imul if i.op_count() == 1 => self.wide_product(i)?,
            M::Div => self.division(i)?,
            _ => return Ok(self.arithmetic(i)?.then_some(next)),
        }
        Ok(Some(next))
    }

    fn indirect(&mut self, i: &Instruction, next: u64) -> Step<u64> {
        let target = self.source(i, 0, 64)?;
        let target = self.memory.pointer(target);
        if let Value::Pointer(LIBRARY, slot) = target {
            // RDI, RSI, RDX.
            let arguments = [7, 6, 2].map(|n| self.general[n].clone());
            let result = self.library(slot, arguments)?;
            self.forget_of_callee();
            self.set_general(Register::RAX, result)?;
            // A tail call returns to the caller of this function.
            return match i.flow_control() {
                FlowControl::IndirectCall => Ok(next),
                _ => self.return_address(),
            };
        }
        let target = self.code_at(target)?;
        if i.flow_control() == FlowControl::IndirectCall {
            self.return_to(next)?;
        }
        Ok(target)
    }

    /// The functions of the C library that kernels call, by the slots of their addresses.
    pub(crate) fn library(&mut self, slot: i64, [to, from, len]: [Value; 3]) -> Step<Value> {
        let name = self.memory.image.imports.get(&(slot as u64));
        let name = name.map_or("", String::as_str);
        let pointer = |memory: &Memory<'_>, value: Value| match memory.pointer(value) {
            Value::Pointer(region, offset) => Ok((region, offset)),
            Value::Bits(_) => unknown("a pointer argument that is none"),
        };
        let len = len.bits("a length that is a pointer")?;
        let len = as_number(&len).map_or_else(|| leak("a length depends on data"), Ok)?;
        match name {
            _ if len == 0 => {}
            "memcpy" | "memmove" => {
                let from = pointer(&self.memory, from)?;
                let to = pointer(&self.memory, to.clone())?;
                let overlap = from.0 == to.0 && (from.1 - to.1).unsigned_abs() < len;
                if name == "memcpy" && overlap {
                    return access("memcpy of overlapping bytes");
                }
                let bits = self.memory.read(from, len as usize)?;
                self.memory.write(to, &bits)?;
            }
            "memset" => {
                let byte = self.part(&from, 0, 8)?.bits("a byte that is a pointer")?;
                let bits: Vec<_> = (0..len).flat_map(|_| byte.iter().copied()).collect();
                let at = pointer(&self.memory, to.clone())?;
                self.memory.write(at, &bits)?;
            }
            _ => return unknown(format!("a call of {name}")),
        }
        Ok(to)
    }

    fn lea(&mut self, i: &Instruction) -> Step<()> {
        match self.address(i) {
            Ok((region, offset)) if i.op_register(0).size() == 8 => {
                return self.set_general(i.op_register(0), Value::Pointer(region, offset));
            }
            Ok(_) if !self.memory.placed => return unknown("a narrow pointer"),
            Ok(_) => {}
            Err(Stop::Leak(..) | Stop::Memory(_)) => {}
            Err(other) => return Err(other),
        }
        // Arithmetic.
        let width = 8 * i.op_register(0).size();
        let mut sum = self.terms.constant(width as u8, i.memory_displacement64());
        for (register, scale) in [
            (i.memory_base(), 1),
            (i.memory_index(), u64::from(i.memory_index_scale())),
        ] {
            if register == Register::None {
                continue;
            }
            let mut bits = self
                .general_value(register)?
                .bits("arithmetic on a pointer")?;
            bits.truncate(width);
            let word = self.terms.gather(&bits);
            let factor = self.terms.constant(width as u8, scale);
            let word = self.terms.mul(word, factor);
            sum = self.terms.add(sum, word);
        }
        let bits = self.terms.bits(sum);
        self.set_general(i.op_register(0), Value::Bits(bits))
    }

    /// Division of constants, such as lengths.
    fn division(&mut self, i: &Instruction) -> Step<()> {
        let width = self.width(i, 0);
        let (low, high) = match width {
            64 => (Register::RAX, Register::RDX),
            32 => (Register::EAX, Register::EDX),
            16 => (Register::AX, Register::DX),
            _ => (Register::AL, Register::AH),
        };
        let divisor = self.source_bits(i, 0, width)?;
        let (Value::Bits(a), Value::Bits(b)) =
            (self.general_value(low)?, self.general_value(high)?)
        else {
            return unknown("arithmetic on a pointer");
        };
        let (Some(d), Some(a), Some(b)) = (as_number(&divisor), as_number(&a), as_number(&b))
        else {
            return leak("a division of data");
        };
        let number = u128::from(b) << width | u128::from(a);
        if d == 0 || number / u128::from(d) >= 1 << width {
            return access("a division that faults");
        }
        let (quotient, rest) = (
            (number / u128::from(d)) as u64,
            (number % u128::from(d)) as u64,
        );
        self.flags = Flags::default();
        self.set_general(low, Value::Bits(constant_bits(quotient, width)))?;
        self.set_general(high, Value::Bits(constant_bits(rest, width)))
    }

    /// Products of twice the width of constants, such as lengths.
    fn wide_product(&mut self, i: &Instruction) -> Step<()> {
        let width = self.width(i, 0);
        let (low, high) = match width {
            64 => (Register::RAX, Register::RDX),
            32 => (Register::EAX, Register::EDX),
            _ => return unknown("a narrow product"),
        };
        let (a, b) = (self.source_bits(i, 0, width)?, self.general_value(low)?);
        let b = b.bits("arithmetic on a pointer")?;
        let (Some(a), Some(b)) = (as_number(&a), as_number(&b)) else {
            return unknown("a wide product of data");
        };
        if i.mnemonic() == M::Imul {
            return unknown("a signed wide product");
        }
        let product = u128::from(a) * u128::from(b);
        let top = (product >> width) as u64;
        self.set_general(low, Value::Bits(constant_bits(product as u64, width)))?;
        self.set_general(high, Value::Bits(constant_bits(top, width)))?;
        let over = Some(Lit::from(top != 0));
        self.flags = Flags {
            carry: over,
            overflow: over,
            ..Flags::default()
        };
        Ok(())
    }

    /// Moves and sets on a condition.
    fn conditional(&mut self, i: &Instruction) -> Step<()> {
        let condition = self.condition(i.condition_code())?;
        if self.width(i, 0) == 8 && i.op_count() == 1 {
            let mut bits = vec![condition];
            bits.resize(8, 0);
            return self.store(i, Value::Bits(bits));
        }
        let (no, yes) = (self.source(i, 0, 0)?, self.source(i, 1, 0)?);
        let value = match (condition, no, yes) {
            (0, no, _) => no,
            (1, _, yes) => yes,
            (_, Value::Bits(no), Value::Bits(yes)) => {
                let pairs = no.into_iter().zip(yes);
                Value::Bits(
                    pairs
                        .map(|(no, yes)| self.terms.mux(condition, yes, no))
                        .collect(),
                )
            }
            _ => return leak("an address depends on data"),
        };
        self.store(i, value)
    }

    pub(crate) fn condition(&mut self, code: ConditionCode) -> Step<Lit> {
        let flag = |flag: Option<Lit>| flag.map_or_else(|| unknown("a flag without a rule"), Ok);
        let f = self.flags.clone();
        use ConditionCode as C;
        let t = &mut self.terms;
        Ok(match code {
            C::e => flag(f.zero)?,
            C::ne => flag(f.zero)? ^ 1,
            C::b => flag(f.carry)?,
            C::ae => flag(f.carry)? ^ 1,
            C::s => flag(f.sign)?,
            C::ns => flag(f.sign)? ^ 1,
            C::o => flag(f.overflow)?,
            C::no => flag(f.overflow)? ^ 1,
            C::be => t.or(flag(f.carry)?, flag(f.zero)?),
            C::a => t.or(flag(f.carry)?, flag(f.zero)?) ^ 1,
            C::l => t.xor(flag(f.sign)?, flag(f.overflow)?),
            C::ge => t.xor(flag(f.sign)?, flag(f.overflow)?) ^ 1,
            C::le | C::g => {
                let less = t.xor(flag(f.sign)?, flag(f.overflow)?);
                let le = t.or(less, flag(f.zero)?);
                if code == C::le { le } else { le ^ 1 }
            }
            _ => return unknown("a condition"),
        })
    }
}

/// Whether an instruction is a move or a set on a condition.
fn is_conditional(i: &Instruction) -> bool {
    let is_named = |start| format!("{:?}", i.mnemonic()).starts_with(start);
    i.condition_code() != ConditionCode::None && (is_named("Cmov") || is_named("Set"))
}
