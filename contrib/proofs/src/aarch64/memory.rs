//! Semantics of loads and stores.

use super::decode::{Address, Instruction, Modifier, Operand, Update};
use super::general::modified;
use crate::machine::Machine;
use crate::memory::{Bits, PROGRAM, Step, Value, access, distance, unknown};

/// Place of an access.
type Place = (u32, i64);

impl Machine<'_> {
    /// The place of an access, and the new value of the base register.
    fn place(&mut self, address: &Address) -> Step<(Place, Option<Value>)> {
        let base = self.general_register(Some(address.base), 64)?;
        let Value::Pointer(region, base) = self.memory.pointer(base) else {
            return access("an address without a region");
        };
        let mut offset = address.offset;
        if let Some((number, modifier, by)) = address.index {
            let width = match modifier {
                Modifier::Extend(width, _) => width,
                _ => 64,
            };
            let bits = self
                .general_register(number, width)?
                .bits("a sum of pointers")?;
            offset = offset.wrapping_add(distance(&modified(&bits, modifier, by, 64)?)?);
        }
        let sum = base.wrapping_add(offset);
        Ok(match address.update {
            Update::Never => ((region, sum), None),
            Update::Before => ((region, sum), Some(Value::Pointer(region, sum))),
            Update::After => ((region, base), Some(Value::Pointer(region, sum))),
        })
    }

    /// Executes the instruction if it is a load or a store.
    pub(super) fn memory_step(&mut self, i: &Instruction) -> Step<bool> {
        let m = &i.mnemonic[..];
        if matches!(i.operand(0), Some(Operand::List(..))) {
            return self.structures(i, m);
        }
        let is_load = m.starts_with("ld");
        if !is_load && !m.starts_with("st") {
            return Ok(false);
        }
        // Bytes of an access that is narrower than its register, and whether it is signed.
        let (bytes, signed) = match m {
            "ldr" | "ldur" | "ldp" | "ldnp" | "str" | "stur" | "stp" | "stnp" | "ldar" => {
                (0, false)
            }
            "ldrb" | "ldurb" | "ldarb" | "strb" | "sturb" | "stlrb" => (1, false),
            "ldrh" | "ldurh" | "strh" | "sturh" => (2, false),
            "ldrsb" | "ldursb" => (1, true),
            "ldrsh" | "ldursh" => (2, true),
            "ldrsw" | "ldursw" | "ldpsw" => (4, true),
            _ => return Ok(false),
        };
        let count = if matches!(m, "ldp" | "ldnp" | "ldpsw" | "stp" | "stnp") {
            2
        } else {
            1
        };
        let ((region, mut offset), update) = match i.operand(count) {
            Some(Operand::Address(address)) => self.place(&address.clone())?,
            Some(&Operand::Target(target)) if is_load => ((PROGRAM, target as i64), None),
            _ => return unknown("an address"),
        };
        for n in 0..count {
            match i.operand(n) {
                Some(&Operand::General(number, width)) => {
                    let len = if bytes == 0 { width / 8 } else { bytes };
                    if is_load {
                        let mut value = self.memory.read_value((region, offset), len)?;
                        if let Value::Bits(bits) = &mut value {
                            let top = if signed { bits[bits.len() - 1] } else { 0 };
                            bits.resize(width, top);
                        }
                        self.set_general_register(number, value);
                    } else {
                        let value = match self.general_register(number, width)? {
                            Value::Bits(bits) => Value::Bits(bits[..8 * len].to_vec()),
                            pointer => pointer,
                        };
                        self.memory.write_value((region, offset), &value)?;
                    }
                    offset += len as i64;
                }
                Some(&Operand::Scalar(number, width)) => {
                    if is_load {
                        let bits = self.memory.read((region, offset), width / 8)?;
                        self.set_vector_register(number, bits);
                    } else {
                        let bits = self.vector_register(number, width)?;
                        self.memory.write((region, offset), &bits)?;
                    }
                    offset += (width / 8) as i64;
                }
                _ => return unknown("a register of an access"),
            }
        }
        self.update(i.operand(count), update);
        Ok(true)
    }

    fn update(&mut self, address: Option<&Operand>, value: Option<Value>) {
        if let (Some(Operand::Address(address)), Some(value)) = (address, value) {
            self.set_general_register(Some(address.base), value);
        }
    }

    /// Loads and stores of one to four registers, whose lanes alternate in memory unless the
    /// name ends with 1; of one lane of each; and loads that repeat a lane.
    fn structures(&mut self, i: &Instruction, m: &str) -> Step<bool> {
        let (Some(Operand::List(registers, lane, lanes, index)), Some(Operand::Address(address))) =
            (i.operand(0), i.operand(1))
        else {
            return Ok(false);
        };
        let (registers, lane, lanes, index) = (registers.clone(), *lane, *lanes, *index);
        let repeats = m.ends_with('r');
        let is_load = m.starts_with("ld");
        let (place, update) = self.place(&address.clone())?;
        let bytes = lane / 8;
        // The lane of each register that each element of the memory is.
        let per_register = if index.is_some() || repeats { 1 } else { lanes };
        let alternate = m.as_bytes()[2] != b'1';
        let order: Vec<(usize, usize)> = if alternate {
            (0..per_register)
                .flat_map(|n| (0..registers.len()).map(move |r| (r, n)))
                .collect()
        } else {
            (0..registers.len())
                .flat_map(|r| (0..per_register).map(move |n| (r, n)))
                .collect()
        };
        if !is_load {
            let mut bits: Bits = Vec::new();
            for (r, n) in order {
                let at = lane * index.unwrap_or(n);
                bits.extend(&self.vector_register(registers[r], at + lane)?[at..]);
            }
            self.memory.write(place, &bits)?;
        } else {
            let bits = self.memory.read(place, bytes * order.len())?;
            let mut values: Vec<Bits> = registers
                .iter()
                .map(|&r| match index {
                    Some(_) => self.vectors[r][..128].to_vec(),
                    None => vec![0; lane * lanes],
                })
                .collect();
            for ((r, n), element) in order.into_iter().zip(bits.chunks(lane)) {
                if repeats {
                    values[r] = element.repeat(lanes);
                } else {
                    let at = lane * index.unwrap_or(n);
                    values[r][at..at + lane].copy_from_slice(element);
                }
            }
            for (&register, value) in registers.iter().zip(values) {
                self.set_vector_register(register, value);
            }
        }
        self.update(i.operand(1), update);
        Ok(true)
    }
}
