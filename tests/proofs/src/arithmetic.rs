//! Arithmetic, logic and shifts of instructions on general registers, with their flags.

use iced_x86::{Instruction, Mnemonic as M, OpKind};

use crate::machine::{Flags, Machine};
use crate::memory::{Step, Stop, Value, as_number, constant_bits, unknown};
use crate::terms::{Compare, Lit, Terms};

#[rustfmt::skip]
const KNOWN: [M; 19] = [
    M::Add, M::Sub, M::Cmp, M::And, M::Or, M::Xor, M::Test, M::Inc, M::Dec, M::Neg, M::Not, M::Imul,
    M::Bt, M::Xchg, M::Adc, M::Sbb, M::Andn, M::Tzcnt, M::Popcnt,
];
#[rustfmt::skip]
const SHIFTS: [M; 7] = [M::Shl, M::Shr, M::Sar, M::Rol, M::Ror, M::Rorx, M::Shlx];

impl Machine<'_> {
    /// Zero and sign flags of a result; carry and overflow are clear.
    pub(crate) fn logic_flags(&mut self, result: &[Lit]) {
        let zero = self.terms.none(result);
        self.flags = Flags::all([zero, 0, result[result.len() - 1], 0]);
    }

    fn pointer_arithmetic(&mut self, i: &Instruction, a: &Value, b: &Value) -> Step<bool> {
        let number = |bits: &[Lit]| {
            as_number(bits).map_or_else(
                || Err(Stop::Leak("an address depends on data".into())),
                |n| Ok(n as i64),
            )
        };
        match (i.mnemonic(), a, b) {
            (M::Add, &Value::Pointer(region, at), Value::Bits(by))
            | (M::Add, Value::Bits(by), &Value::Pointer(region, at)) => {
                self.store(i, Value::Pointer(region, at.wrapping_add(number(by)?)))?;
                self.flags = Flags::default();
            }
            (M::Sub, &Value::Pointer(region, at), Value::Bits(by)) => {
                self.store(i, Value::Pointer(region, at.wrapping_sub(number(by)?)))?;
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
                self.flags = Flags {
                    zero: Some(Lit::from(p == r)),
                    carry: (p >= 0 && r >= 0).then_some(Lit::from(p < r)),
                    sign: Some(Lit::from(p < r)),
                    overflow: Some(0),
                };
            }
            (M::And, &Value::Pointer(region, at), Value::Bits(mask)) => {
                let mask = number(mask)?;
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
        let is_shift = SHIFTS.contains(&m);
        let known = is_shift || KNOWN.contains(&m);
        if !known {
            return Ok(false);
        }
        let width = self.width(i, 0);
        let three = matches!(m, M::Rorx | M::Andn | M::Shlx);
        let unary = matches!(m, M::Tzcnt | M::Popcnt);
        let first = u32::from(three || unary);
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
        let a = self.source(
            i,
            if m == M::Imul && i.op_count() == 3 {
                1
            } else {
                first
            },
            width,
        )?;
        let b = match i.op_count() {
            1 => Value::Bits(constant_bits(1, width)),
            n if unary => self.source(i, n - 1, width)?,
            n => self.source(i, n - 1, width)?,
        };
        let (mut a, mut b) = match (a, b) {
            (Value::Bits(a), Value::Bits(b)) => (a, b),
            (a, b) => return self.pointer_arithmetic(i, &a, &b),
        };
        a.truncate(width);
        if !is_shift && m != M::Bt {
            b.truncate(width);
        }
        let result = match m {
            M::And | M::Test | M::Or | M::Xor | M::Andn => {
                let pairs: Vec<_> = a.iter().zip(&b).map(|(&a, &b)| (a, b)).collect();
                let t = &mut self.terms;
                let bits: Vec<Lit> = pairs
                    .into_iter()
                    .map(|(a, b)| match m {
                        M::Or => t.or(a, b),
                        M::Xor => t.xor(a, b),
                        M::Andn => t.and(a ^ 1, b),
                        _ => t.and(a, b),
                    })
                    .collect();
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
            _ if is_shift => {
                let count_mask = if width == 64 { 63 } else { 31 };
                let Some(count) = as_number(&b) else {
                    return unknown("a shift by data");
                };
                let count = (count & count_mask) as usize;
                if count > 0 && matches!(m, M::Shl | M::Shr | M::Sar | M::Rol | M::Ror) {
                    self.flags = Flags::default();
                }
                let bits = shifted(&a, count, m)?;
                if count > 0 && matches!(m, M::Shl | M::Shr | M::Sar) {
                    self.logic_flags(&bits);
                    let last = if m == M::Shl {
                        a.len().checked_sub(count)
                    } else {
                        Some(count - 1)
                    };
                    self.flags.carry = last.and_then(|at| a.get(at)).copied();
                    self.flags.overflow = None;
                }
                bits
            }
            M::Bt => {
                let Some(n) = as_number(&b) else {
                    return unknown("a bit at a place that is data");
                };
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
                let count = match self.terms.as_constant(word) {
                    Some(value) => self.terms.constant(width as u8, value.count_ones().into()),
                    None => self.terms.count_ones(word, width as u8),
                };
                let bits = self.terms.bits(count);
                self.logic_flags(&bits);
                bits
            }
            M::Tzcnt => {
                let Some(value) = as_number(&b) else {
                    return unknown("a count of zeros of data");
                };
                let count = value.trailing_zeros().min(width as u32);
                self.flags = Flags {
                    carry: Some(Lit::from(count == width as u32)),
                    zero: Some(Lit::from(count == 0)),
                    ..Flags::default()
                };
                constant_bits(count.into(), width)
            }
            _ => return Ok(false),
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

fn shifted(a: &[Lit], count: usize, m: M) -> Step<Vec<Lit>> {
    let width = a.len();
    Ok(match m {
        M::Rol => (0..width)
            .map(|at| a[(at + width - count % width) % width])
            .collect(),
        M::Ror | M::Rorx => (0..width).map(|at| a[(at + count) % width]).collect(),
        M::Shl | M::Shlx => (0..width)
            .map(|at| if at >= count { a[at - count] } else { 0 })
            .collect(),
        M::Shr | M::Shrx => (0..width)
            .map(|at| a.get(at + count).copied().unwrap_or(0))
            .collect(),
        M::Sar | M::Sarx => (0..width)
            .map(|at| a.get(at + count).copied().unwrap_or(a[width - 1]))
            .collect(),
        _ => return unknown("a shift"),
    })
}
