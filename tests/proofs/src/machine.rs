//! State of the processor and of memory, in terms.
//!
//! A pointer is a region and an offset; regions have no address. Memory outside a region,
//! memory that nothing has written, and writes to constants stop the execution, and so does
//! a branch, an address or a length that depends on an input.

use std::collections::BTreeMap;

use std::rc::Rc;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use rustc_hash::FxHashMap;

use crate::aarch64;
use crate::image::Image;
use crate::terms::{Lit, Terms};

pub(crate) type Bits = Vec<Lit>;

/// Reason why an execution stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A branch or an address depends on data.
    Leak(String),
    /// An access outside the regions, or of memory without a value.
    Memory(String),
    /// An instruction or a form of it that has no semantics here.
    Unknown(String),
}

impl Stop {
    /// The reason with the place where it arose.
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Self::Leak(text) => Self::Leak(format!("{text}, {place}")),
            Self::Memory(text) => Self::Memory(format!("{text}, {place}")),
            Self::Unknown(text) => Self::Unknown(format!("{text}, {place}")),
        }
    }
}

pub(crate) type Step<T> = Result<T, Stop>;

pub(crate) fn unknown<T>(text: impl Into<String>) -> Step<T> {
    Err(Stop::Unknown(text.into()))
}

/// Region 0 is the program with its addresses as offsets, region 1 the stack.
pub(crate) const PROGRAM: u32 = 0;
const STACK: u32 = 1;
/// Functions of other libraries; offsets are the slots that hold their addresses.
pub(crate) const LIBRARY: u32 = 2;
const STACK_LEN: i64 = 1 << 18;
/// The offset at which a run ends.
pub(crate) const END: i64 = 0x10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Bits(Bits),
    Pointer(u32, i64),
}

#[derive(Clone, Debug)]
pub(crate) struct Region {
    name: &'static str,
    bits: Vec<Lit>,
    pointers: BTreeMap<i64, (u32, i64)>,
    writable: bool,
    /// A power of two that the address of the region is a multiple of.
    align: i64,
}

const UNWRITTEN: Lit = Lit::MAX;

impl Region {
    pub(crate) fn align_of(&self) -> i64 {
        self.align
    }
}

/// Values of flags; `None` where no rule says what they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) zero: Option<Lit>,
    pub(crate) carry: Option<Lit>,
    pub(crate) sign: Option<Lit>,
    pub(crate) overflow: Option<Lit>,
}

pub(crate) struct Machine<'a> {
    pub(crate) image: &'a Image,
    pub(crate) terms: Terms,
    pub(crate) general: Vec<Value>,
    pub(crate) vectors: Vec<Bits>,
    pub(crate) masks: Vec<Bits>,
    pub(crate) flags: Flags,
    pub(crate) regions: Vec<Region>,
    pub(crate) executed: usize,
    pub(crate) limit: usize,
    /// The end of what a callee may write.
    stack_top: i64,
    decoded: FxHashMap<u64, Instruction>,
    pub(crate) decoded_aarch64: FxHashMap<u64, Rc<aarch64::Instruction>>,
    pub(crate) met: BTreeMap<Vec<u8>, u64>,
    pub(crate) data_read: BTreeMap<u64, usize>,
}

pub(crate) fn constant_bits(value: u64, width: usize) -> Bits {
    (0..width)
        .map(|i| if i < 64 { (value >> i & 1) as Lit } else { 0 })
        .collect()
}

pub(crate) fn as_number(bits: &[Lit]) -> Option<u64> {
    bits.iter()
        .take(64)
        .enumerate()
        .try_fold(0, |v, (i, &bit)| {
            (bit < 2).then_some(v | u64::from(bit) << i)
        })
}

impl<'a> Machine<'a> {
    pub(crate) fn new(image: &'a Image) -> Self {
        let mut machine = Self {
            image,
            terms: Terms::new(),
            general: vec![Value::Bits(vec![UNWRITTEN; 64]); 32],
            vectors: vec![vec![UNWRITTEN; 512]; 32],
            masks: vec![vec![UNWRITTEN; 64]; 8],
            flags: Flags::default(),
            regions: Vec::new(),
            executed: 0,
            limit: 400_000,
            stack_top: STACK_LEN,
            decoded: FxHashMap::default(),
            decoded_aarch64: FxHashMap::default(),
            met: BTreeMap::new(),
            data_read: BTreeMap::new(),
        };
        machine.region("program", 0, false, 1 << 12);
        machine.region("stack", STACK_LEN as usize, true, 64);
        machine.region("library", 0, false, 1);
        // Registers hold anything at all.
        for n in 0..32 {
            machine.general[n] = Value::Bits(machine.fresh(64));
        }
        for n in 0..32 {
            machine.vectors[n] = machine.fresh(512);
        }
        for n in 0..8 {
            machine.masks[n] = machine.fresh(64);
        }
        machine
    }

    pub(crate) fn fresh(&mut self, bits: usize) -> Bits {
        (0..bits / 64)
            .flat_map(|_| {
                let word = self.terms.input(64, 0, u64::MAX.into(), false);
                self.terms.bits(word)
            })
            .collect()
    }

    /// The stack below the arguments, `16 step` bytes below a multiple of 64.
    pub(crate) fn set_stack(&mut self, step: i64, arguments: &[Value]) -> Step<()> {
        let top = STACK_LEN - 512 - 16 * step;
        let register = if self.image.is_aarch64() {
            aarch64::SP
        } else {
            Register::RSP.number()
        };
        self.general[register] = Value::Pointer(STACK, top);
        for (n, value) in arguments.iter().enumerate() {
            self.write_value((STACK, top + 8 * n as i64), value)?;
        }
        self.stack_top = top + 8 * arguments.len() as i64;
        Ok(())
    }

    /// A region without values.
    pub(crate) fn region(
        &mut self,
        name: &'static str,
        len: usize,
        writable: bool,
        align: i64,
    ) -> u32 {
        self.regions.push(Region {
            name,
            bits: vec![UNWRITTEN; 8 * len],
            pointers: BTreeMap::new(),
            writable,
            align,
        });
        self.regions.len() as u32 - 1
    }

    pub(crate) fn set_bits(&mut self, region: u32, from: usize, bits: &[Lit]) {
        self.regions[region as usize].bits[from..from + bits.len()].copy_from_slice(bits);
    }

    pub(crate) fn region_bits(&self, region: u32) -> &[Lit] {
        &self.regions[region as usize].bits
    }

    pub(crate) fn read(&mut self, (region, offset): (u32, i64), len: usize) -> Step<Bits> {
        if region == PROGRAM {
            let bytes = self.image.constant_bytes(offset as u64, len);
            let Some(bytes) = bytes else {
                return Err(Stop::Memory(format!(
                    "a read of {len} bytes at {offset:#x} of the program"
                )));
            };
            self.data_read.insert(offset as u64, len);
            return Ok(bytes
                .iter()
                .flat_map(|byte| (0..8).map(move |i| Lit::from(byte >> i & 1)))
                .collect());
        }
        let r = &self.regions[region as usize];
        let Some(bits) = usize::try_from(8 * offset)
            .ok()
            .and_then(|from| r.bits.get(from..from + 8 * len))
        else {
            return Err(Stop::Memory(format!(
                "a read of {len} bytes at {offset} of {}",
                r.name
            )));
        };
        if bits.contains(&UNWRITTEN) {
            return Err(Stop::Memory(format!(
                "a read of {len} bytes at {offset} of {}, which has no value",
                r.name
            )));
        }
        Ok(bits.to_vec())
    }

    pub(crate) fn write(&mut self, (region, offset): (u32, i64), bits: &[Lit]) -> Step<()> {
        let len = bits.len() / 8;
        if region == STACK && offset + len as i64 > self.stack_top {
            return Err(Stop::Memory(format!(
                "a write of {len} bytes above the stack frame"
            )));
        }
        let r = &mut self.regions[region as usize];
        let place = usize::try_from(8 * offset)
            .ok()
            .and_then(|from| r.bits.get_mut(from..from + bits.len()));
        let Some(place) = place.filter(|_| r.writable) else {
            return Err(Stop::Memory(format!(
                "a write of {len} bytes at {offset} of {}",
                r.name
            )));
        };
        place.copy_from_slice(bits);
        r.pointers
            .retain(|&at, _| at + 8 <= offset || at >= offset + len as i64);
        Ok(())
    }

    pub(crate) fn read_value(&mut self, at: (u32, i64), len: usize) -> Step<Value> {
        if at.0 == PROGRAM && len == 8 {
            if self.image.imports.contains_key(&(at.1 as u64)) {
                return Ok(Value::Pointer(LIBRARY, at.1));
            }
            if let Some(&target) = self.image.pointers.get(&(at.1 as u64)) {
                self.read(at, 8)?;
                return Ok(Value::Pointer(PROGRAM, target as i64));
            }
        } else if len == 8
            && let Some(&(region, offset)) = self.regions[at.0 as usize].pointers.get(&at.1)
        {
            return Ok(Value::Pointer(region, offset));
        }
        self.read(at, len).map(Value::Bits)
    }

    pub(crate) fn write_value(&mut self, at: (u32, i64), value: &Value) -> Step<()> {
        match value {
            Value::Bits(bits) => self.write(at, bits),
            &Value::Pointer(region, offset) => {
                self.write(at, &[UNWRITTEN; 64])?;
                self.regions[at.0 as usize]
                    .pointers
                    .insert(at.1, (region, offset));
                Ok(())
            }
        }
    }

    // Registers.

    pub(crate) fn general_value(&self, register: Register) -> Step<Value> {
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
                let known = self.regions[*region as usize].align.trailing_zeros() as usize;
                if width <= known {
                    Ok(Value::Bits(constant_bits(*offset as u64, width)))
                } else {
                    unknown("a part of a pointer")
                }
            }
            Value::Bits(bits) => {
                let bits = &bits[from..from + width];
                if bits.contains(&UNWRITTEN) {
                    return Err(Stop::Memory("a register has no value".into()));
                }
                Ok(Value::Bits(bits.to_vec()))
            }
        }
    }

    pub(crate) fn set_general(&mut self, register: Register, value: Value) -> Step<()> {
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
            return Err(Stop::Memory(format!("{register:?} has no value")));
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
                Value::Bits(bits) => match as_number(&bits) {
                    Some(value) => offset = offset.wrapping_add((value as i64).wrapping_mul(scale)),
                    None => return Err(Stop::Leak("an address depends on data".into())),
                },
            }
        }
        match region {
            Some(region) => Ok((region, offset)),
            None => Err(Stop::Memory("an address without a region".into())),
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
                self.read_value(at, i.memory_size().size())
            }
            _ => Ok(Value::Bits(constant_bits(i.immediate(n), width))),
        }
    }

    pub(crate) fn source_bits(&mut self, i: &Instruction, n: u32, width: usize) -> Step<Bits> {
        match self.source(i, n, width)? {
            Value::Bits(bits) => Ok(bits),
            Value::Pointer(..) => unknown("an operation on a pointer"),
        }
    }

    pub(crate) fn store(&mut self, i: &Instruction, value: Value) -> Step<()> {
        match i.op_kind(0) {
            OpKind::Register => self.set_general(i.op_register(0), value),
            OpKind::Memory => {
                let at = self.address(i)?;
                match value {
                    Value::Bits(mut bits) => {
                        bits.truncate(8 * i.memory_size().size());
                        self.write(at, &bits)
                    }
                    pointer => self.write_value(at, &pointer),
                }
            }
            _ => unknown("a destination"),
        }
    }

    pub(crate) fn push(&mut self, value: &Value) -> Step<()> {
        let Value::Pointer(region, offset) = self.general[4] else {
            return unknown("a stack pointer that is none");
        };
        self.general[4] = Value::Pointer(region, offset - 8);
        self.write_value((region, offset - 8), value)
    }

    pub(crate) fn pop(&mut self) -> Step<Value> {
        let Value::Pointer(region, offset) = self.general[4] else {
            return unknown("a stack pointer that is none");
        };
        self.general[4] = Value::Pointer(region, offset + 8);
        self.read_value((region, offset), 8)
    }

    /// Calls a function and runs until it returns.
    pub(crate) fn call(&mut self, entry: u64) -> Step<()> {
        if self.image.is_aarch64() {
            return self.call_aarch64(entry);
        }
        let saved = [3, 4, 5, 12, 13, 14, 15].map(|n| (n, self.general[n].clone()));
        self.push(&Value::Pointer(PROGRAM, END))?;
        let mut at = entry;
        while at != END as u64 {
            self.executed += 1;
            if self.executed > self.limit {
                return unknown("too many instructions");
            }
            let instruction = match self.decoded.get(&at) {
                Some(known) => *known,
                None => {
                    let Some(code) = self.image.code(at) else {
                        return Err(Stop::Memory(format!("code at {at:#x}")));
                    };
                    let decoded = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
                    if decoded.is_invalid() {
                        return unknown(format!(
                            "an invalid instruction at {}",
                            self.image.name(at)
                        ));
                    }
                    let bytes = code[..decoded.len()].to_vec();
                    self.met.entry(bytes).or_insert(at);
                    self.decoded.insert(at, decoded);
                    decoded
                }
            };
            let next = self.step(&instruction).map_err(|stop| {
                stop.at(&format!(
                    "{:?} at {}",
                    instruction.mnemonic(),
                    self.image.name(at)
                ))
            })?;
            at = next;
        }
        if saved.iter().any(|(n, value)| self.general[*n] != *value) {
            return Err(Stop::Memory(
                "a register of the caller is not restored".into(),
            ));
        }
        Ok(())
    }

    /// One instruction; the address of the next.
    pub(crate) fn step(&mut self, i: &Instruction) -> Step<u64> {
        if let Some(next) = self.scalar(i)? {
            return Ok(next);
        }
        if self.vector_step(i)? {
            return Ok(i.next_ip());
        }
        unknown(format!("no semantics of {:?}", i.mnemonic()))
    }

    /// Code addresses that were executed, with the lengths of the instructions.
    pub(crate) fn code_executed(&self) -> Vec<(u64, usize)> {
        let aarch64 = self.decoded_aarch64.keys().map(|&at| (at, 4));
        let x86 = self.decoded.iter().map(|(&at, i)| (at, i.len()));
        x86.chain(aarch64).collect()
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
