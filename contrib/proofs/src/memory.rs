//! Values and memory of an execution.
//!
//! A pointer is a region and an offset; regions have no address. An access outside a region, a
//! read of memory without a value and a write to constants stop the execution.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::image::Image;
use crate::terms::{ANY, Lit, any_of, number};

pub(crate) type Bits = Vec<Lit>;

/// Reason why an execution stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A branch or an address depends on data: on these literals, as far as they are known.
    Leak(String, Bits),
    /// An access outside the regions, or of memory without a value.
    Memory(String),
    /// A read of a variable whose value is not assumed.
    Variable,
    /// An instruction or a form of it that has no semantics here.
    Unknown(String),
}

impl Stop {
    /// The text of an open statement.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Leak(text, _) => format!("not constant time: {text}"),
            Self::Variable => "memory: a read of a variable".into(),
            Self::Memory(text) => format!("memory: {text}"),
            Self::Unknown(text) => format!("not modelled: {text}"),
        }
    }

    /// The reason with the place where it arose.
    pub(crate) fn at(mut self, place: &str) -> Self {
        if let Self::Leak(text, _) | Self::Memory(text) | Self::Unknown(text) = &mut self {
            *text += &format!(", {place}");
        }
        self
    }
}

pub(crate) type Step<T> = Result<T, Stop>;

pub(crate) fn leak<T>(text: impl Into<String>) -> Step<T> {
    Err(Stop::Leak(text.into(), Vec::new()))
}

pub(crate) fn access<T>(text: impl Into<String>) -> Step<T> {
    Err(Stop::Memory(text.into()))
}

pub(crate) fn unknown<T>(text: impl Into<String>) -> Step<T> {
    Err(Stop::Unknown(text.into()))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Bits(Bits),
    Pointer(u32, i64),
}

impl Value {
    /// The bits of a value that is no pointer.
    pub(crate) fn bits(self, pointer: &str) -> Step<Bits> {
        match self {
            Self::Bits(bits) => Ok(bits),
            Self::Pointer(..) => unknown(pointer),
        }
    }
}

/// Region 0 is the program with its addresses as offsets, region 1 the stack.
pub(crate) const PROGRAM: u32 = 0;
pub(crate) const STACK: u32 = 1;
/// Functions of other libraries; offsets are the slots that hold their addresses.
pub(crate) const LIBRARY: u32 = 2;
pub(crate) const STACK_LEN: i64 = 1 << 18;
/// The offset at which a run ends.
pub(crate) const END: i64 = 0x10;

#[derive(Clone, Debug)]
struct Region {
    name: &'static str,
    /// Shared with the states that it was copied to.
    bits: Rc<Vec<Lit>>,
    pointers: BTreeMap<i64, (u32, i64)>,
    writable: bool,
    /// A power of two that the address of the region is a multiple of.
    align: i64,
}

pub(crate) const UNWRITTEN: Lit = Lit::MAX;

pub(crate) fn constant_bits(value: u64, width: usize) -> Bits {
    (0..width)
        .map(|i| if i < 64 { (value >> i & 1) as Lit } else { 0 })
        .collect()
}

pub(crate) fn as_number(bits: &[Lit]) -> Option<u64> {
    let low = &bits[..bits.len().min(64)];
    let is_known = low.iter().all(|&bit| bit < 2);
    is_known.then(|| number(low, |bit| bit == 1))
}

/// A number that is added to an address.
pub(crate) fn distance(by: &[Lit]) -> Step<i64> {
    let lits = || by.iter().copied().filter(|&bit| bit > 1).collect();
    let leak = || Stop::Leak("an address depends on data".into(), lits());
    Ok(as_number(by).ok_or_else(leak)? as i64)
}

/// Bits of an address below the number of its region.
const PLACE: u32 = 40;

/// Makes bits that differ unknown; whether there were any. Which of the states arises is public.
pub(crate) fn join_bits(mine: &mut [Lit], others: &[Lit]) -> bool {
    let mut changed = false;
    for (mine, &other) in mine.iter_mut().zip(others) {
        let joined = any_of(&[*mine, other]);
        if *mine != other && *mine & !1 != joined {
            (*mine, changed) = (joined, true);
        }
    }
    changed
}

/// Takes bits that have no value as unknown.
pub(crate) fn fill_unwritten(bits: &mut [Lit]) {
    let unwritten = bits.iter_mut().filter(|bit| **bit == UNWRITTEN);
    unwritten.for_each(|bit| *bit = ANY);
}

/// Regions of one execution, and the constants of the program.
#[derive(Clone)]
pub(crate) struct Memory<'a> {
    pub(crate) image: &'a Image,
    regions: Vec<Region>,
    /// The end of what a callee may write.
    pub(crate) stack_top: i64,
    /// The lowest offset in the stack of the accesses of an instruction.
    pub(crate) lowest: i64,
    pub(crate) data_read: BTreeMap<u64, usize>,
    /// The address of a byte that a program sets when it runs, and its value if that is assumed.
    pub(crate) variable: Option<(u64, Option<u64>)>,
    /// Whether regions have addresses, `region << 40`, and memory without a value may hold
    /// anything: for whole operations.
    pub(crate) placed: bool,
}

impl<'a> Memory<'a> {
    /// With a stack of as many bytes; `placed` for whole operations.
    pub(crate) fn new(image: &'a Image, len: i64, placed: bool) -> Self {
        let mut memory = Self {
            image,
            regions: Vec::new(),
            stack_top: len,
            lowest: i64::MAX,
            data_read: BTreeMap::new(),
            variable: None,
            placed,
        };
        memory.region("program", 0, false, 1 << 12);
        memory.region("stack", len as usize, true, 64);
        memory.region("library", 0, false, 1);
        memory
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
            bits: Rc::new(vec![if self.placed { ANY } else { UNWRITTEN }; 8 * len]),
            pointers: BTreeMap::new(),
            writable,
            align,
        });
        self.regions.len() as u32 - 1
    }

    pub(crate) fn align_of(&self, region: u32) -> i64 {
        self.regions[region as usize].align
    }

    pub(crate) fn set_bits(&mut self, region: u32, from: usize, bits: &[Lit]) {
        let all = Rc::make_mut(&mut self.regions[region as usize].bits);
        all[from..from + bits.len()].copy_from_slice(bits);
    }

    pub(crate) fn region_bits(&self, region: u32) -> &[Lit] {
        &self.regions[region as usize].bits
    }

    /// Takes the values from the bytes of a region that are others in `other`; whether there
    /// were any.
    pub(crate) fn forget_differences(&mut self, other: &Self, region: u32) -> bool {
        let b = &other.regions[region as usize];
        let a = &mut self.regions[region as usize];
        let before = a.pointers.len();
        a.pointers.retain(|at, to| b.pointers.get(at) == Some(to));
        let mut changed = before != a.pointers.len();
        if !Rc::ptr_eq(&a.bits, &b.bits) && a.bits != b.bits {
            for (mine, others) in Rc::make_mut(&mut a.bits).iter_mut().zip(&*b.bits) {
                if mine != others && *mine != UNWRITTEN {
                    (*mine, changed) = (UNWRITTEN, true);
                }
            }
        }
        changed
    }

    /// Takes the values from the stack below a place: a callee may have written there.
    pub(crate) fn forget_below(&mut self, end: i64) {
        let nothing = if self.placed { ANY } else { UNWRITTEN };
        let stack = &mut self.regions[STACK as usize];
        let below = ..8 * end as usize;
        if stack.bits[below].iter().any(|&bit| bit != nothing) {
            Rc::make_mut(&mut stack.bits)[below].fill(nothing);
        }
        stack.pointers.retain(|&at, _| at >= end);
    }

    /// Takes bits of a region that have no value as unknown.
    pub(crate) fn fill_unwritten(&mut self, region: u32) {
        fill_unwritten(&mut Rc::make_mut(&mut self.regions[region as usize].bits)[..]);
    }

    /// Whether nothing but some bytes of the stack is another in `other`.
    pub(crate) fn differs_only(&self, other: &Self, may_change: impl Fn(i64) -> bool) -> bool {
        let mut all = self.regions.iter().zip(&other.regions).enumerate();
        all.all(|(n, (a, b))| {
            let counts = |at: i64| n != STACK as usize || !may_change(at);
            let [p, r] = [a, b].map(|region| region.pointers.iter().filter(|p| counts(*p.0)));
            let mut bytes = (0..).zip(a.bits.chunks(8).zip(b.bits.chunks(8)));
            p.eq(r) && bytes.all(|(at, (a, b))| a == b || !counts(at))
        })
    }

    /// Gives a region these bits.
    pub(crate) fn share(&mut self, region: u32, bits: Rc<Vec<Lit>>) {
        self.regions[region as usize].bits = bits;
    }

    /// Takes the values from the bits of a region that are no constants.
    pub(crate) fn forget_unknown(&mut self, region: u32) {
        let bits = Rc::make_mut(&mut self.regions[region as usize].bits).iter_mut();
        bits.filter(|bit| **bit > 1)
            .for_each(|bit| *bit = UNWRITTEN);
    }

    /// The value as a number, where regions have addresses.
    pub(crate) fn number(&self, value: Value) -> Value {
        match value {
            Value::Pointer(region, offset) if self.placed => {
                let address = (u64::from(region) << PLACE).wrapping_add(offset as u64);
                Value::Bits(constant_bits(address, 64))
            }
            value => value,
        }
    }

    /// The pointer that a number is, where regions have addresses.
    pub(crate) fn pointer(&self, value: Value) -> Value {
        match &value {
            Value::Bits(bits) if self.placed && bits.len() == 64 => match as_number(bits) {
                Some(n) if n >> PLACE < self.regions.len() as u64 => {
                    Value::Pointer((n >> PLACE) as u32, (n & ((1 << PLACE) - 1)) as i64)
                }
                _ => value,
            },
            _ => value,
        }
    }

    /// Takes what differs in another state from the writable regions; whether there was any.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (a, b) in self.regions.iter_mut().zip(&other.regions) {
            if a.bits != b.bits {
                changed |= join_bits(&mut Rc::make_mut(&mut a.bits)[..], &b.bits);
            }
        }
        changed
    }

    pub(crate) fn read(&mut self, (region, offset): (u32, i64), len: usize) -> Step<Bits> {
        if region == PROGRAM {
            if let Some((at, value)) = self.variable
                && at == offset as u64
                && len == 1
            {
                let value = value.ok_or(Stop::Variable)?;
                return Ok(constant_bits(value, 8));
            }
            let bytes = self.image.constant_bytes(offset as u64, len);
            // The address of the program is not known.
            let places =
                offset.saturating_sub(7) as u64..(offset as u64).saturating_add(len as u64);
            let is_address = self.image.pointers.range(places).next().is_some();
            let Some(bytes) = bytes.filter(|_| self.placed || !is_address) else {
                return access(format!(
                    "a read of {len} bytes at {offset:#x} of the program"
                ));
            };
            self.data_read.insert(offset as u64, len);
            return Ok(bytes
                .iter()
                .flat_map(|byte| (0..8).map(move |i| Lit::from(byte >> i & 1)))
                .collect());
        }
        if region == STACK {
            self.lowest = self.lowest.min(offset);
        }
        let r = &self.regions[region as usize];
        let Some(bits) = usize::try_from(8 * offset)
            .ok()
            .and_then(|from| r.bits.get(from..from + 8 * len))
        else {
            return access(format!("a read of {len} bytes at {offset} of {}", r.name));
        };
        let mut bits = bits.to_vec();
        let has_value = |bit: &Lit| *bit != UNWRITTEN;
        // Compilers read a place of the stack of which a part was written.
        if region == STACK && bits.iter().any(has_value) {
            fill_unwritten(&mut bits);
        }
        if bits.iter().all(has_value) {
            Ok(bits)
        } else {
            access(format!(
                "a read of {len} bytes at {offset} of {}, which has no value",
                r.name
            ))
        }
    }

    pub(crate) fn write(&mut self, (region, offset): (u32, i64), bits: &[Lit]) -> Step<()> {
        let len = bits.len() / 8;
        if region == STACK && offset + len as i64 > self.stack_top {
            return access(format!("a write of {len} bytes above the stack frame"));
        }
        if region == STACK {
            self.lowest = self.lowest.min(offset);
        }
        let r = &mut self.regions[region as usize];
        let place = usize::try_from(8 * offset)
            .ok()
            .filter(|from| from + bits.len() <= r.bits.len())
            .map(|from| &mut Rc::make_mut(&mut r.bits)[from..from + bits.len()]);
        let Some(place) = place.filter(|_| r.writable) else {
            return access(format!("a write of {len} bytes at {offset} of {}", r.name));
        };
        place.copy_from_slice(bits);
        r.pointers
            .retain(|&at, _| at + 8 <= offset || at >= offset + len as i64);
        Ok(())
    }

    pub(crate) fn read_value(&mut self, at: (u32, i64), len: usize) -> Step<Value> {
        if at.0 == PROGRAM && len == 8 {
            if self.image.imports.contains_key(&(at.1 as u64)) {
                return Ok(self.number(Value::Pointer(LIBRARY, at.1)));
            }
            if let Some(&target) = self.image.pointers.get(&(at.1 as u64)) {
                if self.image.constant_bytes(at.1 as u64, 8).is_none() {
                    return access(format!("a pointer at {:#x} of the program", at.1));
                }
                self.data_read.insert(at.1 as u64, 8);
                return Ok(self.number(Value::Pointer(PROGRAM, target as i64)));
            }
        } else if len == 8
            && let Some(&(region, offset)) = self.regions[at.0 as usize].pointers.get(&at.1)
        {
            return Ok(Value::Pointer(region, offset));
        }
        self.read(at, len).map(Value::Bits)
    }

    pub(crate) fn write_value(&mut self, at: (u32, i64), value: &Value) -> Step<()> {
        match &self.number(value.clone()) {
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
}
