//! Arithmetic, logic and shifts of instructions on general registers, with their flags.

use iced_x86::{Instruction, Mnemonic as M, OpKind};

use crate::machine::{Flags, Machine};
use crate::memory::{Step, Stop, Value, as_number, constant_bits, distance, unknown};
use crate::terms::{Compare, Lit, Terms};
use crate::vector_arithmetic::Shift;

#[rustfmt::skip]
const KNOWN: [M; 19] = [
    M::Add, M::Sub, M::Cmp, M::And, M::Or, M::Xor, M::Test, M::Inc, M::Dec, M::Neg, M::Not, M::Imul,
    M::Bt, M::Xchg, M::Adc, M::Sbb, M::Andn, M::Tzcnt, M::Popcnt,
];
#[rustfmt::skip]
const SHIFTS: [(M, Shift); 7] = [
    (M::Shl, Shift::Left), (M::Shr, Shift::Right), (M::Sar, Shift::Arithmetic), (M::Rol, Shift::RotateLeft),
    (M::Ror, Shift::RotateRight), (M::Rorx, Shift::RotateRight), (M::Shlx, Shift::Left),
];

impl Machine<'_> {
    /// Zero and sign flags of a result; carry and overflow are clear.
    pub(crate) fn logic_flags(&mut self, result: &[Lit]) {
        let zero = self.terms.none(result);
        self.flags = Flags::all([zero, 0, result[result.len() - 1], 0]);
    }

    fn pointer_arithmetic(&mut self, i: &Instruction, a: &Value, b: &Value) -> Step<bool> {
        match (i.mnemonic(), a, b) {
            (M::Add, &Value::Pointer(region, at), Value::Bits(by))
            | (M::Add, Value::Bits(by), &Value::Pointer(region, at)) => {
                self.store(i, Value::Pointer(region, at.wrapping_add(distance(by)?)))?;
                self.flags = Flags::default();
            }
            (M::Sub, &Value::Pointer(region, at), Value::Bits(by)) => {
                self.store(i, Value::Pointer(region, at.wrapping_sub(distance(by)?)))?;
                self.flags = Flags::default();
            }
            (M::Inc | M::Dec, &Value::Pointer(region, at), _) => {
                let by = if i.mnemonic() == M::Inc { 1 } else { -1 };
                self.store(i, Value::Pointer(region, at + by))?;
                self.flags = Flags::default();
            }
            (M::Sub | M::Cmp, &Value::Pointer(x, p), &Value::Pointer(y, r)) if x == y => {
                // Offsets inside one region are ordered as addresses are.
                if i.mnemonic() == M::Sub {
                    self.store(i, Value::Bits(constant_bits(p.wrapping_sub(r) as u64, 64)))?;
                }
                self.flags = Flags::of_pointers(p, r);
            }
            (M::And, &Value::Pointer(region, at), Value::Bits(mask)) => {
                let mask = distance(mask)?;
                let align = self.memory.align_of(region);
                if mask >= 0 || !(-mask).count_ones().eq(&1) || -mask > align {
                    return unknown("a mask on a pointer");
                }
                self.store(i, Value::Pointer(region, at & mask))?;
                self.flags = Flags::default();
            }
            (M::Test, Value::Pointer(x, p), Value::Pointer(y, r)) if x == y && p == r => {
                self.flags = Flags::all([0; 4]);
                self.flags.sign = None;
            }
            (M::Xor | M::Sub, Value::Pointer(x, p), Value::Pointer(y, r)) if x == y && p == r => {
                let zero = vec![0; 64];
                self.logic_flags(&zero);
                self.store(i, Value::Bits(zero))?;
            }
            (M::Xchg, ..) => {
                self.store(i, b.clone())?;
                self.set_general(i.op_register(1), a.clone())?;
            }
            _ => return unknown("arithmetic on a pointer"),
        }
        Ok(true)
    }

    pub(crate) fn arithmetic(&mut self, i: &Instruction) -> Step<bool> {
        let m = i.mnemonic();
        let shift = SHIFTS.iter().find(|(known, _)| *known == m);
        let shift = shift.map(|(_, shift)| *shift);
        if shift.is_none() && !KNOWN.contains(&m) {
            return Ok(false);
        }
        let width = self.width(i, 0);
        // Operand 0 is a destination alone.
        let first = u32::from(match m {
            M::Rorx | M::Andn | M::Shlx | M::Tzcnt | M::Popcnt => true,
            _ => m == M::Imul && i.op_count() == 3,
        });
        if m == M::Imul && i.op_count() < 2 {
            return Ok(false);
        }
        // The idiom for zero.
        if matches!(m, M::Xor | M::Sub)
            && i.op_kind(1) == OpKind::Register
            && i.op_kind(0) == OpKind::Register
            && i.op_register(0) == i.op_register(1)
        {
            let zero = vec![0; width];
            self.logic_flags(&zero);
            self.store(i, Value::Bits(zero))?;
            return Ok(true);
        }
        let a = self.source(i, first, width)?;
        let b = match i.op_count() {
            1 => Value::Bits(constant_bits(1, width)),
            n => self.source(i, n - 1, width)?,
        };
        let (mut a, mut b) = match (a, b) {
            (Value::Bits(a), Value::Bits(b)) => (a, b),
            (a, b) => return self.pointer_arithmetic(i, &a, &b),
        };
        a.truncate(width);
        if shift.is_none() && m != M::Bt {
            b.truncate(width);
        }
        let result = match m {
            M::And | M::Test | M::Or | M::Xor | M::Andn => {
                let t = &mut self.terms;
                let one = |(&a, &b): (&Lit, &Lit)| match m {
                    M::Or => t.or(a, b),
                    M::Xor => t.xor(a, b),
                    M::Andn => t.and(a ^ 1, b),
                    _ => t.and(a, b),
                };
                let bits: Vec<Lit> = a.iter().zip(&b).map(one).collect();
                self.logic_flags(&bits);
                bits
            }
            M::Not => a.iter().map(|bit| bit ^ 1).collect(),
            M::Add | M::Inc | M::Adc | M::Sub | M::Cmp | M::Dec | M::Sbb | M::Neg => {
                let (a, b) = if m == M::Neg {
                    (vec![0; width], a)
                } else {
                    (a, b)
                };
                let subtracts = matches!(m, M::Sub | M::Cmp | M::Dec | M::Sbb | M::Neg);
                let kept = self.flags.carry;
                if kept.is_none() && matches!(m, M::Adc | M::Sbb) {
                    return unknown("a flag without a rule");
                }
                let carry = kept.filter(|_| matches!(m, M::Adc | M::Sbb));
                let bits = self.sum(&a, &b, subtracts, carry);
                if matches!(m, M::Inc | M::Dec) {
                    self.flags.carry = kept;
                }
                bits
            }
            M::Imul => {
                let (x, y) = (self.terms.gather(&a), self.terms.gather(&b));
                let word = self.terms.mul(x, y);
                self.flags = Flags::default();
                self.terms.bits(word)
            }
            M::Bt => {
                let n =
                    as_number(&b).map_or_else(|| unknown("a bit at a place that is data"), Ok)?;
                if i.op_kind(0) == OpKind::Memory {
                    return unknown("a bit in memory");
                }
                self.flags = Flags {
                    carry: Some(a[n as usize % width]),
                    zero: self.flags.zero,
                    ..Flags::default()
                };
                return Ok(true);
            }
            M::Xchg => {
                self.store(i, Value::Bits(b))?;
                self.set_general(i.op_register(1), Value::Bits(a))?;
                return Ok(true);
            }
            M::Popcnt => {
                let word = self.terms.gather(&b);
                let count = self.terms.count_ones(word, width as u8);
                let bits = self.terms.bits(count);
                self.logic_flags(&bits);
                bits
            }
            M::Tzcnt => {
                let value =
                    as_number(&b).map_or_else(|| unknown("a count of zeros of data"), Ok)?;
                let count = value.trailing_zeros().min(width as u32);
                // Without BMI1 it is `bsf`, with other flags and no result of zero.
                let is_there = self.features.as_ref().is_none_or(|all| all.has("bmi1"));
                if !is_there && count == width as u32 {
                    return unknown("a count of zeros of zero by a CPU without BMI1");
                }
                self.flags = Flags {
                    carry: Some(Lit::from(count == width as u32)).filter(|_| is_there),
                    zero: Some(Lit::from(count == 0)).filter(|_| is_there),
                    ..Flags::default()
                };
                constant_bits(count.into(), width)
            }
            _ => {
                let shift = shift.ok_or_else(|| Stop::Unknown("a shift".into()))?;
                let count = as_number(&b).map_or_else(|| unknown("a shift by data"), Ok)?;
                let count = count & if width == 64 { 63 } else { 31 };
                let bits = shift.of(&a, count);
                if count > 0 && matches!(m, M::Shl | M::Shr | M::Sar) {
                    self.logic_flags(&bits);
                    let last = match m {
                        M::Shl => (width as u64).checked_sub(count),
                        _ => Some(count - 1),
                    };
                    self.flags.carry = last.and_then(|at| a.get(at as usize)).copied();
                    self.flags.overflow = None;
                } else if count > 0 && matches!(m, M::Rol | M::Ror) {
                    self.flags = Flags::default();
                }
                bits
            }
        };
        if !matches!(m, M::Cmp | M::Test) {
            self.store(i, Value::Bits(result))?;
        }
        Ok(true)
    }

    /// A sum or a difference with its flags; carry is the borrow of a difference.
    pub(crate) fn sum(
        &mut self,
        a: &[Lit],
        b: &[Lit],
        subtracts: bool,
        carry: Option<Lit>,
    ) -> Vec<Lit> {
        let t = &mut self.terms;
        let f = if subtracts { Terms::sub } else { Terms::add };
        let over = |t: &mut Terms, a, b, result| match subtracts {
            true => t.compare(Compare::GreaterUnsigned, b, a),
            false => t.compare(Compare::GreaterUnsigned, a, result),
        };
        let (x, y) = (t.gather(a), t.gather(b));
        let mut result = f(t, x, y);
        let mut out = over(t, x, y, result);
        if let Some(carry) = carry {
            let mut bits = vec![carry];
            bits.resize(a.len(), 0);
            let (before, one) = (result, t.gather(&bits));
            result = f(t, before, one);
            let second = over(t, before, one, result);
            out = t.or(out, second);
        }
        let bits = t.bits(result);
        let (p, r, s) = (a[a.len() - 1], b[b.len() - 1], bits[bits.len() - 1]);
        // Operands of one sign and a result of the other; of different signs for a difference.
        let same = t.xor(p, r) ^ 1 ^ Lit::from(subtracts);
        let turned = t.xor(p, s);
        let overflow = t.and(same, turned);
        // A comparison for equality says more than that a difference is zero.
        let zero = match subtracts && carry.is_none() {
            true => t.compare(Compare::Equal, x, y),
            false => t.none(&bits),
        };
        self.flags = Flags::all([zero, out, s, overflow]);
        bits
    }
}
