//! Operands, masks and results of vector instructions, and instructions on mask registers.

use iced_x86::{Instruction, OpKind, Register};

use crate::machine::{Flags, Machine};
use crate::memory::{Bits, Step, Value, access, leak, unknown};
use crate::operands::is_vex;
use crate::terms::{Lit, Terms, WordId};

impl Machine<'_> {
    /// Executes the instruction if it is one of these.
    pub(crate) fn vector_step(&mut self, i: &Instruction) -> Step<bool> {
        let name = format!("{:?}", i.mnemonic()).to_lowercase();
        let is_modelled = |r: Register| r.is_vector_register() || r.is_k() || r.is_gpr();
        let is_register = |n: &u32| i.op_kind(*n) == OpKind::Register;
        let mut named = (0..i.op_count()).filter(is_register);
        if !named.all(|n| is_modelled(i.op_register(n))) {
            return Ok(false);
        }
        if name.starts_with('k') {
            return self.mask_step(i, &name);
        }
        let vex = is_vex(i.mnemonic());
        let name = name.strip_prefix('v').unwrap_or(&name);
        self.moves(i, name, vex).and_then(|done| {
            if done {
                Ok(true)
            } else {
                self.compute(i, name, vex)
            }
        })
    }

    /// Operand `n` as bits; broadcast operands are repeated to `width`.
    pub(crate) fn operand(&mut self, i: &Instruction, n: u32, width: usize) -> Step<Bits> {
        match i.op_kind(n) {
            OpKind::Register if i.op_register(n).is_gpr() => self.source_bits(i, n, width),
            OpKind::Register => self.vector(i.op_register(n)),
            OpKind::Memory => {
                let at = self.address(i)?;
                if i.is_broadcast() {
                    let element = self.memory.read(at, i.memory_size().element_size())?;
                    return Ok(element.iter().copied().cycle().take(width).collect());
                }
                self.memory.read(at, i.memory_size().size())
            }
            _ => unknown("an operand"),
        }
    }

    /// The mask of an instruction by element, if it has one.
    pub(crate) fn mask(&self, i: &Instruction, lanes: usize) -> Step<Option<Bits>> {
        match i.op_mask() {
            Register::None => Ok(None),
            register => Ok(Some(self.vector(register)?[..lanes].to_vec())),
        }
    }

    /// Writes a result under the mask; `lane` is the width of an element.
    pub(crate) fn finish(
        &mut self,
        i: &Instruction,
        mut result: Bits,
        lane: usize,
        vex: bool,
    ) -> Step<bool> {
        if let Some(mask) = self.mask(i, result.len() / lane)? {
            let kept = if i.zeroing_masking() {
                vec![0; result.len()]
            } else if i.op_kind(0) == OpKind::Memory {
                return self.masked_store(i, &result, lane, &mask);
            } else {
                self.vector(i.op_register(0))?[..result.len()].to_vec()
            };
            for (n, &bit) in mask.iter().enumerate() {
                let at = n * lane..(n + 1) * lane;
                if bit == 0 {
                    result[at.clone()].copy_from_slice(&kept[at]);
                } else if bit > 1 {
                    let chosen =
                        select(&mut self.terms, bit, &result[at.clone()], &kept[at.clone()]);
                    result[at].copy_from_slice(&chosen);
                }
            }
        }
        self.put(i, result, vex)
    }

    pub(crate) fn put(&mut self, i: &Instruction, result: Bits, vex: bool) -> Step<bool> {
        if i.op_kind(0) == OpKind::Memory {
            let at = self.address(i)?;
            self.memory.write(at, &result)?;
        } else {
            self.set_vector(i.op_register(0), result, !vex);
        }
        Ok(true)
    }

    fn masked_store(
        &mut self,
        i: &Instruction,
        result: &[Lit],
        lane: usize,
        mask: &[Lit],
    ) -> Step<bool> {
        let (region, offset) = self.address(i)?;
        for (n, &bit) in mask.iter().enumerate() {
            match bit {
                0 => {}
                1 => self.memory.write(
                    (region, offset + (n * lane / 8) as i64),
                    &result[n * lane..(n + 1) * lane],
                )?,
                _ => return leak("a mask of a store depends on data"),
            }
        }
        Ok(true)
    }

    /// Instructions that fault on addresses that are not aligned.
    pub(crate) fn aligned(&mut self, i: &Instruction) -> Step<()> {
        for n in 0..2 {
            if i.op_kind(n) == OpKind::Memory {
                let (region, offset) = self.address(i)?;
                let size = i.memory_size().size() as i64;
                if self.memory.align_of(region) < size || offset % size != 0 {
                    return access("an access that is not known to be aligned");
                }
            }
        }
        Ok(())
    }

    /// Lane by lane.
    pub(crate) fn each(
        &mut self,
        a: &[Lit],
        b: &[Lit],
        lane: usize,
        f: impl Fn(&mut Terms, WordId, WordId) -> WordId,
    ) -> Bits {
        self.lanes(a, b, lane, |t, a, b| {
            let (a, b) = (t.gather(a), t.gather(b));
            f(t, a, b)
        })
    }

    /// Of neighbours.
    pub(crate) fn pairs(
        &mut self,
        bits: &[Lit],
        lane: usize,
        f: impl Fn(&mut Terms, WordId, WordId) -> WordId,
    ) -> Bits {
        self.lanes(bits, bits, 2 * lane, |t, pair, _| {
            let (a, b) = (t.gather(&pair[..lane]), t.gather(&pair[lane..]));
            f(t, a, b)
        })
    }

    /// The same on the bits of the lanes.
    pub(crate) fn lanes(
        &mut self,
        a: &[Lit],
        b: &[Lit],
        lane: usize,
        f: impl Fn(&mut Terms, &[Lit], &[Lit]) -> WordId,
    ) -> Bits {
        let mut out = Vec::with_capacity(a.len());
        for (a, b) in a.chunks(lane).zip(b.chunks(lane)) {
            let word = f(&mut self.terms, a, b);
            out.extend(self.terms.bits(word));
        }
        out
    }

    /// Instructions on mask registers.
    pub(crate) fn mask_step(&mut self, i: &Instruction, name: &str) -> Step<bool> {
        let width = match name.as_bytes()[name.len() - 1] {
            b'b' => 8,
            b'w' => 16,
            b'd' => 32,
            _ => 64,
        };
        if name.starts_with("kmov") {
            let mut bits = self.operand(i, 1, width)?;
            bits.truncate(width);
            match i.op_kind(0) {
                OpKind::Memory => {
                    let at = self.address(i)?;
                    self.memory.write(at, &bits)?;
                }
                _ if i.op_register(0).is_gpr() => {
                    bits.resize(8 * i.op_register(0).size(), 0);
                    self.set_general(i.op_register(0), Value::Bits(bits))?;
                }
                _ => self.set_vector(i.op_register(0), bits, false),
            }
            return Ok(true);
        }
        if !name.starts_with("kortest") {
            return Ok(false);
        }
        let a = self.vector(i.op_register(0))?[..width].to_vec();
        let b = self.vector(i.op_register(1))?[..width].to_vec();
        let t = &mut self.terms;
        let or: Vec<_> = a.iter().zip(&b).map(|(&a, &b)| t.or(a, b)).collect();
        self.flags = Flags::all([t.none(&or), t.all(&or), 0, 0]);
        Ok(true)
    }
}

/// A lane under a condition that is data.
pub(crate) fn select(terms: &mut Terms, condition: Lit, yes: &[Lit], no: &[Lit]) -> Bits {
    if yes.len() > 64 {
        return yes
            .iter()
            .zip(no)
            .map(|(&yes, &no)| terms.mux(condition, yes, no))
            .collect();
    }
    let (yes, no) = (terms.gather(yes), terms.gather(no));
    let word = terms.select(condition, yes, no);
    terms.bits(word)
}

/// Lanes of another width.
pub(crate) fn widened(bits: &[Lit], from: usize, into: usize, signed: bool) -> Bits {
    let mut out = Vec::with_capacity(bits.len() / from * into);
    for lane in bits.chunks(from) {
        out.extend(lane);
        let top = if signed { lane[from - 1] } else { 0 };
        out.resize(out.len() + into - from, top);
    }
    out
}

pub(crate) fn letter(name: &str, from_end: usize) -> usize {
    match name.as_bytes()[name.len() - from_end] {
        b'b' => 8,
        b'w' => 16,
        b'd' => 32,
        _ => 64,
    }
}

/// Width of an element, by the last letter.
pub(crate) fn width_of(name: &str) -> usize {
    letter(name, 1)
}

pub(crate) fn broadcast_lane(name: &str) -> usize {
    match name {
        "broadcastss" => 32,
        "broadcastsd" => 64,
        "broadcasti128" | "broadcastf128" => 128,
        _ => width_of(name),
    }
}

/// Width of an element of a rearrangement, which is that of its mask too.
pub(crate) fn lane_of_shuffle(name: &str) -> usize {
    match name {
        "pshufb" | "palignr" | "pblendvb" | "punpcklbw" | "punpckhbw" => 8,
        "pshuflw" | "pshufhw" | "punpcklwd" | "punpckhwd" | "pblendw" => 16,
        "shufpd" | "unpcklpd" | "unpckhpd" | "punpcklqdq" | "punpckhqdq" | "permpd" | "movddup"
        | "blendpd" | "blendvpd" | "shufi64x2" | "shuff64x2" | "movlhps" => 64,
        "shufps" | "unpcklps" | "unpckhps" | "punpckldq" | "punpckhdq" | "permps" | "movshdup"
        | "movsldup" | "blendps" | "blendvps" | "permilps" | "shufi32x4" | "shuff32x4"
        | "perm2i128" | "perm2f128" => 32,
        _ => width_of(name),
    }
}
