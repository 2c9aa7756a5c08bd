//! Registers and operands of instructions for x86-64.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::machine::Machine;
use crate::memory::{
    Bits, PROGRAM, Step, UNWRITTEN, Value, access, constant_bits, distance, fill_unwritten, unknown,
};

impl Machine<'_> {
    pub(crate) fn general_value(&self, register: Register) -> Step<Value> {
        if !register.is_gpr() {
            return unknown("a register that is not general");
        }
        let value = &self.general[register.full_register().number()];
        let from = if is_high_byte(register) { 8 } else { 0 };
        self.part(value, from, 8 * register.size())
    }

    /// Bits of a register from that one on.
    pub(crate) fn part(&self, value: &Value, from: usize, width: usize) -> Step<Value> {
        match value {
            Value::Pointer(..) if width == 64 => Ok(value.clone()),
            Value::Pointer(region, offset) => {
                // Low bits are known as far as the region is aligned.
                let known = self.memory.align_of(*region).trailing_zeros() as usize;
                if from == 0 && width <= known {
                    Ok(Value::Bits(constant_bits(*offset as u64, width)))
                } else {
                    unknown("a part of a pointer")
                }
            }
            Value::Bits(bits) => {
                let mut bits = bits[from..from + width].to_vec();
                if bits.iter().all(|&bit| bit == UNWRITTEN) {
                    return access("a register has no value");
                }
                // Compilers write a part of a register and read the whole of it.
                fill_unwritten(&mut bits);
                Ok(Value::Bits(bits))
            }
        }
    }

    pub(crate) fn set_general(&mut self, register: Register, value: Value) -> Step<()> {
        if !register.is_gpr() {
            return unknown("a register that is not general");
        }
        let value = self.memory.number(value);
        let number = register.full_register().number();
        if register.size() < 4 && matches!(self.general[number], Value::Pointer(..)) {
            // The rest of a pointer is any number at all.
            self.general[number] = Value::Bits(self.fresh(64));
        }
        let slot = &mut self.general[number];
        match (register.size(), value) {
            (8, value) => *slot = value,
            (4, Value::Bits(mut bits)) => {
                bits.resize(64, 0);
                *slot = Value::Bits(bits);
            }
            (size, Value::Bits(bits)) => {
                let from = if is_high_byte(register) { 8 } else { 0 };
                let Value::Bits(old) = slot else {
                    return unknown("a part of a pointer is overwritten");
                };
                old[from..from + 8 * size].copy_from_slice(&bits[..8 * size]);
            }
            (_, Value::Pointer(..)) => return unknown("a pointer in a narrow register"),
        }
        Ok(())
    }

    pub(crate) fn vector(&self, register: Register) -> Step<Bits> {
        let bits = if register.is_k() {
            &self.masks[register.number()][..]
        } else {
            &self.vectors[register.number()][..8 * register.size()]
        };
        if bits.contains(&UNWRITTEN) {
            return access(format!("{register:?} has no value"));
        }
        Ok(bits.to_vec())
    }

    /// Writes a vector register; `keep` leaves the bits above, as instructions without a
    /// vector prefix do.
    pub(crate) fn set_vector(&mut self, register: Register, mut bits: Bits, keep: bool) {
        if register.is_k() {
            bits.resize(64, 0);
            self.masks[register.number()] = bits;
            return;
        }
        let slot = &mut self.vectors[register.number()];
        if keep {
            slot[..bits.len()].copy_from_slice(&bits);
        } else {
            bits.resize(512, 0);
            *slot = bits;
        }
    }

    // Operands.

    pub(crate) fn address(&self, i: &Instruction) -> Step<(u32, i64)> {
        if i.segment_prefix() != Register::None {
            return unknown("a segment");
        }
        let registers = [i.memory_base(), i.memory_index()];
        if registers
            .iter()
            .any(|r| *r != Register::None && r.size() != 8)
        {
            return unknown("an address of other than 64 bits");
        }
        if i.is_ip_rel_memory_operand() {
            return Ok((PROGRAM, i.ip_rel_memory_address() as i64));
        }
        let mut region = None;
        let mut offset = i.memory_displacement64() as i64;
        for (register, scale) in [
            (i.memory_base(), 1),
            (i.memory_index(), i64::from(i.memory_index_scale())),
        ] {
            if register == Register::None {
                continue;
            }
            match self.general_value(register)? {
                Value::Pointer(of, at) if scale == 1 && region.is_none() => {
                    region = Some(of);
                    offset = offset.wrapping_add(at);
                }
                Value::Pointer(..) => return unknown("a sum of pointers"),
                Value::Bits(bits) => {
                    offset = offset.wrapping_add(distance(&bits)?.wrapping_mul(scale));
                }
            }
        }
        if region.is_none()
            && let Value::Pointer(of, at) = self
                .memory
                .pointer(Value::Bits(constant_bits(offset as u64, 64)))
        {
            return Ok((of, at));
        }
        match region {
            Some(region) => Ok((region, offset)),
            None => access("an address without a region"),
        }
    }

    /// Width of an operand in bits.
    pub(crate) fn width(&self, i: &Instruction, n: u32) -> usize {
        match i.op_kind(n) {
            OpKind::Register => 8 * i.op_register(n).size(),
            OpKind::Memory => 8 * i.memory_size().size(),
            _ => 64,
        }
    }

    /// A general operand: register, memory or immediate, of that width.
    pub(crate) fn source(&mut self, i: &Instruction, n: u32, width: usize) -> Step<Value> {
        match i.op_kind(n) {
            OpKind::Register => self.general_value(i.op_register(n)),
            OpKind::Memory => {
                let at = self.address(i)?;
                self.memory.read_value(at, i.memory_size().size())
            }
            _ => Ok(Value::Bits(constant_bits(i.immediate(n), width))),
        }
    }

    pub(crate) fn source_bits(&mut self, i: &Instruction, n: u32, width: usize) -> Step<Bits> {
        self.source(i, n, width)?.bits("an operation on a pointer")
    }

    pub(crate) fn store(&mut self, i: &Instruction, value: Value) -> Step<()> {
        match i.op_kind(0) {
            OpKind::Register => self.set_general(i.op_register(0), value),
            OpKind::Memory => {
                let at = self.address(i)?;
                match value {
                    Value::Bits(mut bits) => {
                        bits.truncate(8 * i.memory_size().size());
                        self.memory.write(at, &bits)
                    }
                    pointer => self.memory.write_value(at, &pointer),
                }
            }
            _ => unknown("a destination"),
        }
    }
}

fn is_high_byte(register: Register) -> bool {
    matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    )
}

/// Whether the instruction has the form with a vector prefix, which clears the bits above.
pub(crate) fn is_vex(mnemonic: Mnemonic) -> bool {
    format!("{mnemonic:?}").starts_with('V')
}
