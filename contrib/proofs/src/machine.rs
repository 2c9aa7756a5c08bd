//! State of a processor, in terms, and execution for x86-64.
//!
//! A branch, an address or a length that depends on an input stops the execution.

use std::collections::BTreeMap;
use std::rc::Rc;

use iced_x86::{Decoder, DecoderOptions, Instruction};
use rustc_hash::FxHashMap;

use crate::aarch64;
use crate::features::Features;
use crate::image::Image;
use crate::memory::{
    Bits, END, Memory, PROGRAM, STACK, STACK_LEN, Step, Stop, UNWRITTEN, Value, access, leak,
    unknown,
};
use crate::terms::{ANY, Lit, Terms, WordId};

/// Values of flags; `None` where no rule says what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) zero: Option<Lit>,
    pub(crate) carry: Option<Lit>,
    pub(crate) sign: Option<Lit>,
    pub(crate) overflow: Option<Lit>,
}

impl Flags {
    /// Zero, carry, sign, overflow.
    pub(crate) fn all(flags: [Lit; 4]) -> Self {
        let [zero, carry, sign, overflow] = flags.map(Some);
        Self {
            zero,
            carry,
            sign,
            overflow,
        }
    }

    /// Of a difference of two pointers into one region: offsets are ordered as addresses are.
    pub(crate) fn of_pointers(a: i64, b: i64) -> Self {
        let less = Some(Lit::from(a < b));
        Self {
            zero: Some(Lit::from(a == b)),
            carry: less.filter(|_| a >= 0 && b >= 0),
            sign: less,
            overflow: Some(0),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Machine<'a> {
    pub(crate) terms: Terms,
    pub(crate) general: Vec<Value>,
    pub(crate) vectors: Vec<Bits>,
    pub(crate) masks: Vec<Bits>,
    pub(crate) flags: Flags,
    pub(crate) memory: Memory<'a>,
    pub(crate) executed: usize,
    pub(crate) limit: usize,
    /// What the CPU has, where instructions are compared with it.
    pub(crate) features: Option<Features>,
    /// The target of the last branch on an unknown bit, and the bit.
    pub(crate) other: Option<(u64, Lit)>,
    decoded: FxHashMap<u64, Instruction>,
    /// Results of look-ups by data.
    pub(crate) looked_up: FxHashMap<(Bits, Bits), Bits>,
    pub(crate) decoded_aarch64: FxHashMap<u64, Rc<aarch64::Instruction>>,
    pub(crate) met: BTreeMap<Vec<u8>, u64>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(image: &'a Image) -> Self {
        let mut machine = Self::without_vectors(Memory::new(image, STACK_LEN, false));
        for n in 0..32 {
            machine.vectors[n] = machine.fresh(512);
        }
        for n in 0..8 {
            machine.masks[n] = machine.fresh(64);
        }
        machine
    }

    /// General registers that hold anything at all; the others have no value.
    pub(crate) fn without_vectors(memory: Memory<'a>) -> Self {
        let mut machine = Self {
            terms: Terms::new(),
            general: vec![Value::Bits(vec![UNWRITTEN; 64]); 32],
            vectors: vec![vec![UNWRITTEN; 512]; 32],
            masks: vec![vec![UNWRITTEN; 64]; 8],
            flags: Flags::default(),
            memory,
            executed: 0,
            limit: 400_000,
            features: None,
            other: None,
            decoded: FxHashMap::default(),
            looked_up: FxHashMap::default(),
            decoded_aarch64: FxHashMap::default(),
            met: BTreeMap::new(),
        };
        for n in 0..32 {
            machine.general[n] = Value::Bits(machine.fresh(64));
        }
        machine
    }

    /// Flags that are any: the word of zero, carry, sign and overflow.
    pub(crate) fn any_flags(&mut self) -> WordId {
        let word = self.terms.input(4, 0, 15, false);
        let bits = self.terms.bits(word);
        self.flags = Flags::all(core::array::from_fn(|n| bits[n]));
        word
    }

    pub(crate) fn fresh(&mut self, bits: usize) -> Bits {
        if self.memory.placed {
            return vec![ANY; bits];
        }
        (0..bits / 64)
            .flat_map(|_| {
                let word = self.terms.input(64, 0, u64::MAX.into(), false);
                self.terms.bits(word)
            })
            .collect()
    }

    /// The stack below the arguments, `16 step` bytes below a multiple of 64.
    pub(crate) fn set_stack(&mut self, step: i64, arguments: &[Value]) -> Step<()> {
        let top = self.memory.stack_top - 512 - 16 * step;
        let register = self.stack_register();
        self.general[register] = self.memory.number(Value::Pointer(STACK, top));
        for (n, value) in arguments.iter().enumerate() {
            self.memory
                .write_value((STACK, top + 8 * n as i64), value)?;
        }
        self.memory.stack_top = top + 8 * arguments.len() as i64;
        Ok(())
    }

    /// Moves the stack pointer; the lower one of its places.
    fn moved_stack(&mut self, by: i64) -> Step<(u32, i64)> {
        let Value::Pointer(region, offset) = self.memory.pointer(self.general[4].clone()) else {
            return unknown("a stack pointer that is none");
        };
        self.general[4] = self.memory.number(Value::Pointer(region, offset + by));
        Ok((region, offset.min(offset + by)))
    }

    pub(crate) fn push(&mut self, value: &Value) -> Step<()> {
        let at = self.moved_stack(-8)?;
        self.memory.write_value(at, value)
    }

    pub(crate) fn pop(&mut self) -> Step<Value> {
        let at = self.moved_stack(8)?;
        self.memory.read_value(at, 8)
    }

    /// The address of the target of a jump, a call or a return.
    pub(crate) fn code_at(&self, target: Value) -> Step<u64> {
        match self.memory.pointer(target) {
            Value::Pointer(PROGRAM, target) => Ok(target as u64),
            Value::Pointer(..) => access("a jump to no code"),
            Value::Bits(_) => leak("a jump depends on data"),
        }
    }

    /// The frame of a call from `END`: registers that a callee restores hold pointers of their own,
    /// or anything at all. Returns what they have to hold after it.
    pub(crate) fn enter(&mut self) -> Step<Vec<Value>> {
        for &register in self.restored() {
            let region = self.memory.region("a saved register", 0, false, 1);
            self.general[register] = Value::Pointer(region, 0);
        }
        for n in self.restored_vectors() {
            let half = self.fresh(64);
            self.vectors[n][..64].copy_from_slice(&half);
        }
        self.set_stack(0, &[])?;
        let saved = self.saved();
        self.return_to(END as u64)?;
        Ok(saved)
    }

    /// Vectors of which a function restores the lower halves.
    pub(crate) fn restored_vectors(&self) -> core::ops::Range<usize> {
        if self.is_aarch64() { 8..16 } else { 0..0 }
    }

    /// Values that a function restores.
    pub(crate) fn saved(&self) -> Vec<Value> {
        let general = self.restored().iter().map(|&n| self.general[n].clone());
        let half = |n: usize| Value::Bits(self.vectors[n][..64].to_vec());
        general.chain(self.restored_vectors().map(half)).collect()
    }

    pub(crate) fn is_aarch64(&self) -> bool {
        self.memory.image.is_aarch64()
    }

    pub(crate) fn count_general(&self) -> usize {
        if self.is_aarch64() { 32 } else { 16 }
    }

    /// Registers of the first arguments of a function.
    pub(crate) fn arguments(&self) -> &'static [usize] {
        if self.is_aarch64() {
            &[0, 1, 2, 3, 4, 5, 6, 7]
        } else {
            // RDI, RSI, RDX, RCX, R8, R9.
            &[7, 6, 2, 1, 8, 9]
        }
    }

    /// Registers that a function restores.
    pub(crate) fn restored(&self) -> &'static [usize] {
        if self.is_aarch64() {
            &[19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, aarch64::SP]
        } else {
            &[3, 4, 5, 12, 13, 14, 15]
        }
    }

    /// Makes an address the one that the next function returns to.
    pub(crate) fn return_to(&mut self, to: u64) -> Step<()> {
        let to = self.memory.number(Value::Pointer(PROGRAM, to as i64));
        if !self.is_aarch64() {
            return self.push(&to);
        }
        self.general[aarch64::LINK] = to;
        Ok(())
    }

    /// The address that a function returns to.
    pub(crate) fn return_address(&mut self) -> Step<u64> {
        let to = if self.is_aarch64() {
            self.general[aarch64::LINK].clone()
        } else {
            self.pop()?
        };
        self.code_at(to)
    }

    /// The address after a branch. On an unknown bit a row stops, and a whole operation has another
    /// path.
    pub(crate) fn branch(&mut self, taken: Lit, target: u64, next: u64) -> Step<u64> {
        match taken {
            0 => Ok(next),
            1 => Ok(target),
            _ => {
                self.other = Some((target, taken & !1));
                let leak = || Stop::Leak("a branch depends on data".into(), vec![taken]);
                self.memory.placed.then_some(next).ok_or_else(leak)
            }
        }
    }

    /// Takes the values from all bits of registers and of the stack that are no constants.
    pub(crate) fn forget_unknown(&mut self) {
        self.memory.forget_unknown(STACK);
        let general = self.general.iter_mut().filter_map(|value| match value {
            Value::Bits(bits) => Some(bits),
            Value::Pointer(..) => None,
        });
        let all = general.chain(&mut self.vectors).chain(&mut self.masks);
        let unknown = all.flatten().filter(|bit| **bit > 1);
        unknown.for_each(|bit| *bit = UNWRITTEN);
        self.flags = Flags::default();
    }

    /// Calls a function and runs until it returns.
    pub(crate) fn call(&mut self, entry: u64) -> Step<()> {
        let before = self.saved();
        self.return_to(END as u64)?;
        let mut at = entry;
        while at != END as u64 {
            at = self.execute(at)?;
        }
        if self.saved() == before {
            Ok(())
        } else {
            access("a register of the caller is not restored")
        }
    }

    /// Executes the instruction at an address; the address of the next.
    pub(crate) fn execute(&mut self, at: u64) -> Step<u64> {
        self.executed += 1;
        if self.executed > self.limit {
            return unknown("too many instructions");
        }
        let image = self.memory.image;
        let place = |stop: Stop, name: &str| stop.at(&format!("{name} at {}", image.name(at)));
        if self.is_aarch64() {
            let i = self.fetch(at)?;
            let next = self.step_aarch64(&i);
            next.map_err(|stop| place(stop, &i.mnemonic))
        } else {
            let i = self.instruction(at)?;
            let next = self.step(&i);
            next.map_err(|stop| place(stop, &format!("{:?}", i.mnemonic())))
        }
    }

    /// The instruction at an address.
    pub(crate) fn instruction(&mut self, at: u64) -> Step<Instruction> {
        Ok(match self.decoded.get(&at) {
            Some(known) => *known,
            None => {
                let Some(code) = self.memory.image.code(at) else {
                    return access(format!("code at {at:#x}"));
                };
                let decoded = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
                if decoded.is_invalid() {
                    return unknown(format!(
                        "an invalid instruction at {}",
                        self.memory.image.name(at)
                    ));
                }
                if let Some(text) = self.features.as_ref().and_then(|all| all.lacks(&decoded)) {
                    return unknown(text);
                }
                let bytes = code[..decoded.len()].to_vec();
                self.met.entry(bytes).or_insert(at);
                self.decoded.insert(at, decoded);
                decoded
            }
        })
    }

    /// One instruction; the address of the next.
    pub(crate) fn step(&mut self, i: &Instruction) -> Step<u64> {
        // A signal may change what is further below the stack pointer.
        self.in_frame(128, |m| match m.scalar(i)? {
            Some(next) => Ok(next),
            None if m.vector_step(i)? => Ok(i.next_ip()),
            None => unknown(format!("no semantics of {:?}", i.mnemonic())),
        })
    }

    /// A step that accesses the stack at most so far below its pointer.
    pub(crate) fn in_frame(
        &mut self,
        below: i64,
        step: impl FnOnce(&mut Self) -> Step<u64>,
    ) -> Step<u64> {
        let pointer = |m: &Self| match m.memory.pointer(m.general[m.stack_register()].clone()) {
            Value::Pointer(STACK, at) => at,
            _ => i64::MAX,
        };
        let before = pointer(self);
        self.memory.lowest = i64::MAX;
        let next = step(self)?;
        if self.memory.lowest < before.min(pointer(self)).saturating_sub(below) {
            return access("an access below the stack frame");
        }
        Ok(next)
    }

    pub(crate) fn stack_register(&self) -> usize {
        if self.is_aarch64() { aarch64::SP } else { 4 }
    }

    /// After a call that is not executed: no value in the registers that a callee need not
    /// restore, and below the stack pointer.
    pub(crate) fn forget_of_callee(&mut self) {
        let nothing = if self.memory.placed { ANY } else { UNWRITTEN };
        let restored = self.restored();
        for n in (0..32).filter(|n| !restored.contains(n)) {
            self.general[n] = Value::Bits(vec![nothing; 64]);
        }
        let halves = self.restored_vectors();
        for (n, bits) in self.vectors.iter_mut().enumerate() {
            bits[if halves.contains(&n) { 64 } else { 0 }..].fill(nothing);
        }
        self.masks.iter_mut().for_each(|bits| bits.fill(nothing));
        self.flags = Flags::default();
        let stack = self.general[self.stack_register()].clone();
        if let Value::Pointer(STACK, end) = self.memory.pointer(stack) {
            self.memory.forget_below(end);
        }
    }

    /// Takes the code and the data that another execution of the program executed and read.
    pub(crate) fn take_code(&mut self, other: Self) {
        self.decoded.extend(other.decoded);
        self.decoded_aarch64.extend(other.decoded_aarch64);
        self.met.extend(other.met);
        self.memory.data_read.extend(other.memory.data_read);
    }

    /// Code addresses that were executed, with the lengths of the instructions.
    pub(crate) fn code_executed(&self) -> Vec<(u64, usize)> {
        let aarch64 = self.decoded_aarch64.keys().map(|&at| (at, 4));
        let x86 = self.decoded.iter().map(|(&at, i)| (at, i.len()));
        x86.chain(aarch64).collect()
    }
}
