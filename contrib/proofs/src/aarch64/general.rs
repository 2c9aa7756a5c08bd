//! Semantics of instructions on general registers.

use super::decode::{Instruction, Modifier, Operand};
use crate::machine::{Flags, Machine};
use crate::memory::{Bits, Step, Value, as_number, constant_bits, distance, leak, unknown};
use crate::terms::{Lit, Terms};
use crate::vector_arithmetic::Shift;

impl Machine<'_> {
    /// A general register of that width; no number is the zero register.
    pub(super) fn general_register(&self, number: Option<usize>, width: usize) -> Step<Value> {
        match number {
            None => Ok(Value::Bits(vec![0; width])),
            Some(n) => self.part(&self.general[n], 0, width),
        }
    }

    /// Writes a general register and clears the bits above.
    pub(super) fn set_general_register(&mut self, number: Option<usize>, value: Value) {
        let Some(n) = number else { return };
        self.general[n] = match self.memory.number(value) {
            Value::Bits(mut bits) => {
                bits.resize(64, 0);
                Value::Bits(bits)
            }
            pointer => pointer,
        };
    }

    /// The destination: the first operand.
    pub(super) fn destination(&self, i: &Instruction) -> Step<(Option<usize>, usize)> {
        match i.operand(0) {
            Some(&Operand::General(n, width)) => Ok((n, width)),
            _ => unknown("a destination"),
        }
    }

    pub(super) fn write_result(&mut self, i: &Instruction, value: Value) -> Step<()> {
        let (n, width) = self.destination(i)?;
        let value = match value {
            Value::Bits(mut bits) => {
                bits.truncate(width);
                Value::Bits(bits)
            }
            pointer if width == 64 => pointer,
            Value::Pointer(..) => return unknown("a narrow pointer"),
        };
        self.set_general_register(n, value);
        Ok(())
    }

    /// Operand `k` with the shift or extension after it, of that width.
    pub(super) fn source_value(&mut self, i: &Instruction, k: usize, width: usize) -> Step<Value> {
        let value = match i.operand(k) {
            Some(&Operand::General(n, w)) => self.general_register(n, w)?,
            Some(&Operand::Immediate(value)) => Value::Bits(constant_bits(value, width)),
            _ => return unknown("an operand"),
        };
        let Some(&Operand::Shift(modifier, by)) = i.operand(k + 1) else {
            return Ok(value);
        };
        let bits = match value {
            Value::Bits(bits) => bits,
            pointer if by == 0 => return Ok(pointer),
            Value::Pointer(..) => return unknown("a shift of a pointer"),
        };
        modified(&bits, modifier, by, width).map(Value::Bits)
    }

    /// Operands 1 and 2.
    fn two(&mut self, i: &Instruction, width: usize) -> Step<(Bits, Bits)> {
        Ok((
            self.source_word(i, 1, width)?,
            self.source_word(i, 2, width)?,
        ))
    }

    pub(super) fn source_word(&mut self, i: &Instruction, k: usize, width: usize) -> Step<Bits> {
        self.source_value(i, k, width)?
            .bits("an operation on a pointer")
    }

    /// Executes the instruction if it is one of these.
    pub(super) fn general_step(&mut self, i: &Instruction) -> Step<bool> {
        let Some(&Operand::General(_, width)) = i.operand(0) else {
            return Ok(false);
        };
        let m = &i.mnemonic[..];
        match m {
            "adr" | "adrp" => {
                let Some(&Operand::Target(target)) = i.operand(1) else {
                    return unknown("an address");
                };
                self.write_result(i, Value::Pointer(crate::memory::PROGRAM, target as i64))?;
            }
            "movz" | "movn" | "movk" => {
                let bits = self.moved(i, m, width)?;
                self.write_result(i, Value::Bits(bits))?;
            }
            "add" | "adds" | "sub" | "subs" => self.sum_step(i, m, width)?,
            "and" | "ands" | "bic" | "orr" | "orn" | "eor" | "eon" => {
                self.logic(i, m, width)?;
            }
            "sbfm" | "ubfm" | "bfm" => {
                let value = match self.source_value(i, 0, width) {
                    Ok(Value::Pointer(region, at)) if m == "bfm" => {
                        self.inserted_bits(i, (region, at))?
                    }
                    _ => Value::Bits(self.bit_field(i, m, width)?),
                };
                self.write_result(i, value)?;
            }
            "extr" => {
                let (high, low) = self.two(i, width)?;
                let from = immediate(i, 3)? as usize % width;
                let both: Bits = low.into_iter().chain(high).collect();
                self.write_result(i, Value::Bits(both[from..from + width].to_vec()))?;
            }
            "lslv" | "lsrv" => {
                let (a, by) = self.two(i, width)?;
                // The count is taken modulo the width.
                let by = as_number(&by).map_or_else(|| unknown("a shift by data"), Ok)?;
                let shift = [Modifier::Lsr, Modifier::Lsl][usize::from(m == "lslv")];
                let bits = modified(&a, shift, by as usize % width, width)?;
                self.write_result(i, Value::Bits(bits))?;
            }
            "madd" | "msub" | "smaddl" | "umaddl" => self.product(i, m)?,
            "umulh" | "udiv" => self.constant_arithmetic(i, m, width)?,
            "csel" | "csinc" | "csneg" => self.conditional_select(i, m, width)?,
            "ccmp" => self.conditional_compare(i, width)?,
            "rbit" | "clz" => {
                let bits = self.reversed(i, m, width)?;
                self.write_result(i, Value::Bits(bits))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn moved(&mut self, i: &Instruction, m: &str, width: usize) -> Step<Bits> {
        let Some(&Operand::Shift(Modifier::Lsl, by)) = i.operand(2) else {
            return unknown("a move without a place");
        };
        let value = immediate(i, 1)? << by;
        Ok(match m {
            "movz" => constant_bits(value, width),
            "movn" => constant_bits(!value, width),
            _ => {
                let mut bits = self.source_word(i, 0, width)?;
                bits[by..by + 16].copy_from_slice(&constant_bits(value >> by, 16));
                bits
            }
        })
    }

    /// Sums and differences with their flags; of pointers as far as they have a meaning.
    fn sum_step(&mut self, i: &Instruction, m: &str, width: usize) -> Step<()> {
        let subtracts = m.starts_with("sub");
        let sets = m.ends_with('s');
        let (a, b) = (
            self.source_value(i, 1, width)?,
            self.source_value(i, 2, width)?,
        );
        let (a, b) = match (a, b) {
            (Value::Bits(a), Value::Bits(b)) => (a, b),
            (Value::Pointer(x, p), Value::Pointer(y, r)) if subtracts && x == y => {
                if sets {
                    self.flags = Flags::of_pointers(p, r);
                    self.flags.carry = self.flags.carry.map(|carry| carry ^ 1);
                }
                let bits = constant_bits(p.wrapping_sub(r) as u64, 64);
                return self.write_result(i, Value::Bits(bits));
            }
            (Value::Pointer(region, at), Value::Bits(by)) if !sets => {
                let by = distance(&by)?;
                let by = if subtracts { by.wrapping_neg() } else { by };
                return self.write_result(i, Value::Pointer(region, at.wrapping_add(by)));
            }
            (Value::Bits(by), Value::Pointer(region, at)) if !sets && !subtracts => {
                let at = at.wrapping_add(distance(&by)?);
                return self.write_result(i, Value::Pointer(region, at));
            }
            _ => return unknown("arithmetic on a pointer"),
        };
        let bits = self.added(&a, &b, subtracts, sets);
        self.write_result(i, Value::Bits(bits))
    }

    /// `a + b` or `a - b`; the carry of a difference is set where nothing is borrowed.
    pub(super) fn added(&mut self, a: &[Lit], b: &[Lit], subtracts: bool, sets: bool) -> Bits {
        if sets {
            let bits = self.sum(a, b, subtracts, None);
            let flip = Lit::from(subtracts);
            self.flags.carry = self.flags.carry.map(|carry| carry ^ flip);
            return bits;
        }
        let t = &mut self.terms;
        let (x, y) = (t.gather(a), t.gather(b));
        let result = if subtracts { t.sub(x, y) } else { t.add(x, y) };
        t.bits(result)
    }

    fn logic(&mut self, i: &Instruction, m: &str, width: usize) -> Step<()> {
        let (a, b) = (
            self.source_value(i, 1, width)?,
            self.source_value(i, 2, width)?,
        );
        let (a, b) = match (a, b) {
            (Value::Bits(a), Value::Bits(b)) => (a, b),
            // The register of zeros makes it a move.
            (Value::Bits(zero), pointer) if m == "orr" && as_number(&zero) == Some(0) => {
                return self.write_result(i, pointer);
            }
            (Value::Pointer(region, at), Value::Bits(mask)) => {
                return self.masked_pointer(i, m, (region, at), &mask);
            }
            _ => return unknown("arithmetic on a pointer"),
        };
        let bits: Bits = a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| bit_of(&mut self.terms, &m[..3], a, b))
            .collect();
        if m.ends_with('s') {
            self.logic_flags(&bits);
        }
        self.write_result(i, Value::Bits(bits))
    }

    /// Low bits of a pointer are known as far as its region is aligned.
    fn masked_pointer(
        &mut self,
        i: &Instruction,
        m: &str,
        (region, at): (u32, i64),
        mask: &[Lit],
    ) -> Step<()> {
        let mask = distance(mask)? as u64;
        let align = self.memory.align_of(region) as u64;
        match m {
            "and" | "ands" if mask < align => {
                let bits = constant_bits(at as u64 & mask, 64);
                if m == "ands" {
                    self.flags = Flags::all([Lit::from(at as u64 & mask == 0), 0, 0, 0]);
                }
                self.write_result(i, Value::Bits(bits))
            }
            "and" if (!mask).wrapping_add(1).is_power_of_two() && !mask < align => {
                self.write_result(i, Value::Pointer(region, at & mask as i64))
            }
            "orr" if mask < align => self.write_result(i, Value::Pointer(region, at | mask as i64)),
            _ => unknown("a mask on a pointer"),
        }
    }

    fn bit_field(&mut self, i: &Instruction, m: &str, width: usize) -> Step<Bits> {
        let (r, s) = (immediate(i, 2)? as usize, immediate(i, 3)? as usize);
        let source = self.source_word(i, 1, width)?;
        let (field, at) = if s >= r {
            (&source[r..=s], 0)
        } else {
            (&source[..=s], width - r)
        };
        let end = at + field.len();
        if m == "bfm" {
            let mut bits = self.source_word(i, 0, width)?;
            bits[at..end].copy_from_slice(field);
            return Ok(bits);
        }
        let top = if m == "sbfm" {
            field[field.len() - 1]
        } else {
            0
        };
        let mut bits = vec![0; at];
        bits.extend(field);
        bits.resize(width, top);
        Ok(bits)
    }

    /// A pointer whose low bits, which the alignment of its region says, become other ones.
    fn inserted_bits(&mut self, i: &Instruction, (region, at): (u32, i64)) -> Step<Value> {
        let (r, s) = (immediate(i, 2)?, immediate(i, 3)?);
        let mask = (2 << s) - 1;
        let by = distance(&self.source_word(i, 1, 64)?)? & mask;
        if r != 0 || mask >= self.memory.align_of(region) {
            return unknown("an operation on a pointer");
        }
        Ok(Value::Pointer(region, at & !mask | by))
    }

    fn product(&mut self, i: &Instruction, m: &str) -> Step<()> {
        let long = m.len() > 4;
        let narrow = if long { 32 } else { self.destination(i)?.1 };
        let width = self.destination(i)?.1;
        let (a, b) = self.two(i, narrow)?;
        let addend = self.source_value(i, 3, width)?;
        let t = &mut self.terms;
        let (a, b) = (t.gather(&a), t.gather(&b));
        let product = if long {
            t.wide(a, b, m.starts_with('s'))
        } else {
            t.mul(a, b)
        };
        let subtracts = m.contains("sub");
        let addend = match addend {
            Value::Bits(bits) => bits,
            Value::Pointer(region, at) => {
                let Some(by) = t.as_constant(product).filter(|_| !subtracts) else {
                    return leak("an address depends on data");
                };
                return self.write_result(i, Value::Pointer(region, at.wrapping_add(by as i64)));
            }
        };
        let addend = t.gather(&addend);
        let sum = if subtracts {
            t.sub(addend, product)
        } else {
            t.add(addend, product)
        };
        let bits = t.bits(sum);
        self.write_result(i, Value::Bits(bits))
    }

    /// Of constants, such as lengths.
    fn constant_arithmetic(&mut self, i: &Instruction, m: &str, width: usize) -> Step<()> {
        let (a, b) = self.two(i, width)?;
        let (Some(a), Some(b)) = (as_number(&a), as_number(&b)) else {
            return match m {
                "umulh" => unknown("a wide product of data"),
                _ => leak("a division of data"),
            };
        };
        let result = match m {
            "umulh" => ((u128::from(a) * u128::from(b)) >> 64) as u64,
            // A quotient by zero is zero.
            _ => a.checked_div(b).unwrap_or(0),
        };
        self.write_result(i, Value::Bits(constant_bits(result, width)))
    }

    fn reversed(&mut self, i: &Instruction, m: &str, width: usize) -> Step<Bits> {
        let source = self.source_word(i, 1, width)?;
        if m == "rbit" {
            return Ok(source.into_iter().rev().collect());
        }
        let value = as_number(&source).map_or_else(|| unknown("a count of zeros of data"), Ok)?;
        let zeros = value.leading_zeros() as usize - (64 - width);
        Ok(constant_bits(zeros as u64, width))
    }
}

/// One bit of a logical instruction, by the first letters of its name.
pub(super) fn bit_of(t: &mut Terms, name: &str, a: Lit, b: Lit) -> Lit {
    match name {
        "and" => t.and(a, b),
        "bic" => t.and(a, b ^ 1),
        "orr" => t.or(a, b),
        "orn" => t.or(a, b ^ 1),
        "eor" => t.xor(a, b),
        _ => t.xor(a, b) ^ 1,
    }
}

pub(super) fn immediate(i: &Instruction, n: usize) -> Step<u64> {
    match i.operand(n) {
        Some(&Operand::Immediate(value)) => Ok(value),
        _ => unknown("an immediate"),
    }
}

/// A source after its shift or extension, of that width.
pub(super) fn modified(bits: &[Lit], modifier: Modifier, by: usize, width: usize) -> Step<Bits> {
    let shift = match modifier {
        Modifier::Lsl => Shift::Left,
        Modifier::Lsr => Shift::Right,
        Modifier::Asr => Shift::Arithmetic,
        Modifier::Ror => Shift::RotateRight,
        Modifier::Msl => return unknown("a shift"),
        Modifier::Extend(from, signed) => {
            let from = from.min(bits.len());
            let top = if signed { bits[from - 1] } else { 0 };
            let mut extended = bits[..from].to_vec();
            extended.resize(width, top);
            return Ok(Shift::Left.of(&extended, by as u64));
        }
    };
    Ok(shift.of(bits, by as u64))
}
