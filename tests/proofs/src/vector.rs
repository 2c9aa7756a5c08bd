//! Semantics of vector and mask instructions.

use iced_x86::{Instruction, OpKind, Register};

use crate::machine::{Bits, Machine, Step, Stop, as_number, constant_bits, is_vex, unknown};
use crate::terms::{Compare, Extreme, Lit, Terms, WordId};

/// Direction of a shift.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shift {
    Left,
    Right,
    Arithmetic,
    RotateLeft,
    RotateRight,
}

impl Shift {
    pub(crate) fn of(self, lane: &[Lit], count: u64) -> Bits {
        let width = lane.len();
        let by = count.min(width as u64) as usize;
        let round = (count % width as u64) as usize;
        (0..width)
            .map(|at| match self {
                Self::Left => {
                    if at >= by {
                        lane[at - by]
                    } else {
                        0
                    }
                }
                Self::Right => lane.get(at + by).copied().unwrap_or(0),
                Self::Arithmetic => lane.get(at + by).copied().unwrap_or(lane[width - 1]),
                Self::RotateLeft => lane[(at + width - round) % width],
                Self::RotateRight => lane[(at + round) % width],
            })
            .collect()
    }
}

impl Machine<'_> {
    /// Executes the instruction if it is one of these.
    pub(crate) fn vector_step(&mut self, i: &Instruction) -> Step<bool> {
        let name = format!("{:?}", i.mnemonic()).to_lowercase();
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
    fn operand(&mut self, i: &Instruction, n: u32, width: usize) -> Step<Bits> {
        match i.op_kind(n) {
            OpKind::Register if i.op_register(n).is_gpr() => self.source_bits(i, n, width),
            OpKind::Register => self.vector(i.op_register(n)),
            OpKind::Memory => {
                let at = self.address(i)?;
                if i.is_broadcast() {
                    let element = self.read(at, i.memory_size().element_size())?;
                    return Ok(element.iter().copied().cycle().take(width).collect());
                }
                self.read(at, i.memory_size().size())
            }
            _ => unknown("an operand"),
        }
    }

    /// The mask of an instruction by element, if it has one.
    fn mask(&self, i: &Instruction, lanes: usize) -> Step<Option<Bits>> {
        match i.op_mask() {
            Register::None => Ok(None),
            register => Ok(Some(self.vector(register)?[..lanes].to_vec())),
        }
    }

    /// Writes a result under the mask; `lane` is the width of an element.
    fn finish(&mut self, i: &Instruction, mut result: Bits, lane: usize, vex: bool) -> Step<bool> {
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

    fn put(&mut self, i: &Instruction, result: Bits, vex: bool) -> Step<bool> {
        if i.op_kind(0) == OpKind::Memory {
            let at = self.address(i)?;
            self.write(at, &result)?;
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
                1 => self.write(
                    (region, offset + (n * lane / 8) as i64),
                    &result[n * lane..(n + 1) * lane],
                )?,
                _ => return Err(Stop::Leak("a mask of a store depends on data".into())),
            }
        }
        Ok(true)
    }

    /// Moves, extensions and truncations.
    fn moves(&mut self, i: &Instruction, name: &str, vex: bool) -> Step<bool> {
        let to = self.width(i, 0);
        match name {
            "movdqa" | "movdqu" | "movaps" | "movups" | "movapd" | "movupd" | "movdqa64"
            | "movdqu64" | "movdqa32" | "movdqu32" | "movdqu8" | "movdqu16" | "lddqu" => {
                let lane = match name {
                    "movdqu8" => 8,
                    "movdqu16" => 16,
                    "movdqa64" | "movdqu64" | "movapd" | "movupd" => 64,
                    _ => 32,
                };
                if name.starts_with("movdqa") || name.starts_with("movap") {
                    self.aligned(i)?;
                }
                let mask = self.mask(i, to / lane)?;
                if let (OpKind::Memory, Some(mask)) = (i.op_kind(1), mask) {
                    // Elements whose mask is clear are not read.
                    let (region, offset) = self.address(i)?;
                    let mut bits = vec![0; to];
                    for (n, &bit) in mask.iter().enumerate() {
                        match bit {
                            0 => {}
                            1 => {
                                let element =
                                    self.read((region, offset + (n * lane / 8) as i64), lane / 8)?;
                                bits[n * lane..(n + 1) * lane].copy_from_slice(&element);
                            }
                            _ => return Err(Stop::Leak("a mask of a load depends on data".into())),
                        }
                    }
                    return self.finish(i, bits, lane, vex);
                }
                let bits = self.operand(i, 1, to)?;
                self.finish(i, bits, lane, vex)
            }
            "movd" | "movq" => {
                let narrow = if name == "movd" { 32 } else { 64 };
                let is_general = |n| i.op_kind(n) == OpKind::Register && i.op_register(n).is_gpr();
                if is_general(1) || is_general(0) {
                    let narrow = narrow.max(if is_general(0) { to } else { self.width(i, 1) });
                    let mut bits = self.operand(i, 1, narrow)?;
                    bits.truncate(narrow);
                    if is_general(0) {
                        self.set_general(i.op_register(0), crate::machine::Value::Bits(bits))?;
                        return Ok(true);
                    }
                    bits.resize(128, 0);
                    return self.put(i, bits, vex);
                }
                let mut bits = self.operand(i, 1, narrow)?;
                bits.truncate(narrow);
                if i.op_kind(0) == OpKind::Register {
                    bits.resize(128, 0);
                }
                self.put(i, bits, vex)
            }
            "movss" | "movsd" if i.op_count() == 2 => {
                let narrow = if name == "movss" { 32 } else { 64 };
                let mut bits = self.operand(i, 1, narrow)?;
                bits.truncate(narrow);
                if i.op_kind(0) == OpKind::Register {
                    if i.op_kind(1) == OpKind::Register {
                        return Ok(false);
                    }
                    bits.resize(128, 0);
                }
                self.put(i, bits, vex)
            }
            "movlps" | "movlpd" | "movhps" | "movhpd" if i.op_kind(0) == OpKind::Memory => {
                let from = if name.starts_with("movh") { 64 } else { 0 };
                let bits = self.operand(i, 1, 128)?[from..from + 64].to_vec();
                self.put(i, bits, vex)
            }
            "movhps" | "movhpd" => {
                let last = i.op_count() - 1;
                let (mut low, high) = (self.operand(i, last - 1, 128)?, self.operand(i, last, 64)?);
                low.truncate(64);
                low.extend(&high[..64]);
                self.put(i, low, vex)
            }
            "movmskps" | "movmskpd" | "pmovmskb" => {
                let lane = match name {
                    "movmskps" => 32,
                    "movmskpd" => 64,
                    _ => 8,
                };
                let bits = self.vector(i.op_register(1))?;
                let mut signs: Bits = bits.chunks(lane).map(|lane| lane[lane.len() - 1]).collect();
                signs.resize(to, 0);
                self.set_general(i.op_register(0), crate::machine::Value::Bits(signs))?;
                Ok(true)
            }
            "extracti128" | "extractf128" | "extracti32x4" | "extracti64x2" | "extracti64x4"
            | "extracti32x8" | "extractf32x4" | "extractf64x4" => {
                let width = if name.ends_with("x4") && name.contains("64") || name.ends_with("x8") {
                    256
                } else {
                    128
                };
                let bits = self.vector(i.op_register(1))?;
                let count = bits.len() / width;
                let from = (i.immediate(2) as usize % count) * width;
                self.finish(
                    i,
                    bits[from..from + width].to_vec(),
                    if name.contains("64x") { 64 } else { 32 },
                    vex,
                )
            }
            "inserti128" | "insertf128" | "inserti32x4" | "inserti64x2" | "inserti64x4"
            | "inserti32x8" | "insertf64x4" => {
                let width = if name.ends_with("64x4") || name.ends_with("x8") {
                    256
                } else {
                    128
                };
                let (mut bits, part) = (self.operand(i, 1, to)?, self.operand(i, 2, width)?);
                let from = (i.immediate(3) as usize % (to / width)) * width;
                bits[from..from + width].copy_from_slice(&part[..width]);
                self.finish(i, bits, if name.contains("64x") { 64 } else { 32 }, vex)
            }
            "pinsrd" | "pinsrq" | "pinsrw" | "pinsrb" => {
                let lane = width_of(name);
                let last = i.op_count() - 1;
                let mut bits = self.operand(i, if vex { 1 } else { 0 }, 128)?;
                let part = self.operand(i, last - 1, lane)?;
                let from = (i.immediate(last) as usize % (128 / lane)) * lane;
                bits[from..from + lane].copy_from_slice(&part[..lane]);
                self.put(i, bits, vex)
            }
            "pextrd" | "pextrq" | "pextrw" | "pextrb" => {
                let lane = width_of(name);
                let bits = self.vector(i.op_register(1))?;
                let from = (i.immediate(2) as usize % (128 / lane)) * lane;
                let mut part = bits[from..from + lane].to_vec();
                if i.op_kind(0) == OpKind::Memory {
                    return self.put(i, part, vex);
                }
                part.resize(to.max(32), 0);
                self.set_general(i.op_register(0), crate::machine::Value::Bits(part))?;
                Ok(true)
            }
            "ptest" => {
                let (a, b) = (self.operand(i, 0, to)?, self.operand(i, 1, to)?);
                let t = &mut self.terms;
                let zero: Vec<_> = a.iter().zip(&b).map(|(&a, &b)| t.and(a, b) ^ 1).collect();
                let carry: Vec<_> = a
                    .iter()
                    .zip(&b)
                    .map(|(&a, &b)| t.and(a ^ 1, b) ^ 1)
                    .collect();
                let flags = [t.all(&zero), t.all(&carry)];
                self.flags = crate::machine::Flags {
                    zero: Some(flags[0]),
                    carry: Some(flags[1]),
                    sign: Some(0),
                    overflow: Some(0),
                };
                Ok(true)
            }
            "pexpandq" | "pexpandd" | "pcompressq" | "pcompressd" => {
                let lane = width_of(name);
                let expands = name.starts_with("pexpand");
                let Some(mask) = self.mask(i, self.width(i, if expands { 0 } else { 1 }) / lane)?
                else {
                    return Ok(false);
                };
                if mask.iter().any(|&bit| bit > 1) {
                    return unknown("a mask of data");
                }
                let places: Vec<usize> = (0..mask.len()).filter(|&n| mask[n] == 1).collect();
                let len = places.len() * lane;
                let in_memory = |n| i.op_kind(n) == OpKind::Memory;
                // Only as many elements as the mask has are touched.
                let source = if in_memory(1) {
                    let at = self.address(i)?;
                    self.read(at, len / 8)?
                } else {
                    self.vector(i.op_register(1))?
                };
                if in_memory(0) {
                    let at = self.address(i)?;
                    let packed: Bits = places
                        .iter()
                        .flat_map(|n| source[n * lane..(n + 1) * lane].to_vec())
                        .collect();
                    self.write(at, &packed)?;
                    return Ok(true);
                }
                let mut out = if i.zeroing_masking() {
                    vec![0; to]
                } else {
                    self.vector(i.op_register(0))?[..to].to_vec()
                };
                for (packed, &n) in places.iter().enumerate() {
                    let (from, into) = if expands { (packed, n) } else { (n, packed) };
                    out[into * lane..(into + 1) * lane]
                        .copy_from_slice(&source[from * lane..(from + 1) * lane]);
                }
                self.put(i, out, vex)
            }
            _ if name.starts_with("pmovzx") || name.starts_with("pmovsx") => {
                let (from, into) = (letter(name, 2), letter(name, 1));
                let count = to / into;
                let bits = self.operand(i, 1, count * from)?;
                let mut out = Vec::with_capacity(to);
                for lane in bits[..count * from].chunks(from) {
                    out.extend(lane);
                    let top = if name.starts_with("pmovs") {
                        lane[from - 1]
                    } else {
                        0
                    };
                    out.resize(out.len() + into - from, top);
                }
                self.finish(i, out, into, vex)
            }
            "pmovwb" | "pmovdb" | "pmovqd" | "pmovdw" | "pmovqb" | "pmovqw" => {
                let (from, into) = (letter(name, 2), letter(name, 1));
                let bits = self.vector(i.op_register(1))?;
                let mut out: Bits = bits
                    .chunks(from)
                    .flat_map(|lane| lane[..into].iter().copied())
                    .collect();
                if i.op_kind(0) == OpKind::Register {
                    if i.op_mask() != Register::None {
                        return Ok(false);
                    }
                    out.resize(out.len().max(128), 0);
                    return self.put(i, out, vex);
                }
                self.finish(i, out, into, vex)
            }
            "pmovm2b" | "pmovm2w" | "pmovm2d" | "pmovm2q" => {
                let lane = width_of(name);
                let mask = self.vector(i.op_register(1))?;
                let out = (0..to).map(|at| mask[at / lane]).collect();
                self.put(i, out, vex)
            }
            "pmovb2m" | "pmovw2m" | "pmovd2m" | "pmovq2m" => {
                let lane = letter(name, 3);
                let bits = self.vector(i.op_register(1))?;
                let out = bits.chunks(lane).map(|lane| lane[lane.len() - 1]).collect();
                self.put(i, out, vex)
            }
            _ => Ok(false),
        }
    }

    /// Instructions that fault on addresses that are not aligned.
    fn aligned(&mut self, i: &Instruction) -> Step<()> {
        for n in 0..2 {
            if i.op_kind(n) == OpKind::Memory {
                let (region, offset) = self.address(i)?;
                let size = i.memory_size().size() as i64;
                if self.regions[region as usize].align_of() < size || offset % size != 0 {
                    return Err(Stop::Memory(
                        "an access that is not known to be aligned".into(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Lane by lane.
    fn each(
        &mut self,
        a: &[Lit],
        b: &[Lit],
        lane: usize,
        f: impl Fn(&mut Terms, WordId, WordId) -> WordId,
    ) -> Bits {
        let mut out = Vec::with_capacity(a.len());
        for (a, b) in a.chunks(lane).zip(b.chunks(lane)) {
            let (a, b) = (self.terms.gather(a), self.terms.gather(b));
            let word = f(&mut self.terms, a, b);
            out.extend(self.terms.bits(word));
        }
        out
    }

    fn compute(&mut self, i: &Instruction, name: &str, vex: bool) -> Step<bool> {
        let is_mask = i.op_kind(0) == OpKind::Register && i.op_register(0).is_k();
        let to = if is_mask {
            self.width(i, 1)
        } else {
            self.width(i, 0)
        };
        let immediates = (0..i.op_count())
            .filter(|&n| !matches!(i.op_kind(n), OpKind::Register | OpKind::Memory))
            .count() as u32;
        let sources = i.op_count() - immediates;
        let immediate = if immediates > 0 {
            i.immediate(i.op_count() - 1)
        } else {
            0
        };
        // Operands of the form with and without a destination of its own.
        let (x, y) = if sources >= 3 { (1, 2) } else { (0, 1) };
        let lane = width_of(name);
        let shift = match name {
            _ if name.starts_with("psll") && !name.ends_with("dq") => Some(Shift::Left),
            _ if name.starts_with("psrl") && !name.ends_with("dq") => Some(Shift::Right),
            _ if name.starts_with("psra") => Some(Shift::Arithmetic),
            _ if name.starts_with("prol") => Some(Shift::RotateLeft),
            _ if name.starts_with("pror") => Some(Shift::RotateRight),
            _ => None,
        };
        if let Some(shift) = shift {
            return self.shift(
                i,
                name,
                vex,
                shift,
                (to, sources, immediates > 0, immediate),
            );
        }
        if name == "pslldq" || name == "psrldq" {
            let a = self.operand(i, sources - 1, to)?;
            let by = 8 * (immediate as usize).min(16);
            let shift = if name == "pslldq" {
                Shift::Left
            } else {
                Shift::Right
            };
            let out = a
                .chunks(128)
                .flat_map(|half| shift.of(half, by as u64))
                .collect();
            return self.finish(i, out, 128, vex);
        }
        if let Some(out) = self.one_source(i, name, to, sources, immediate)? {
            let unit = if name.starts_with("broadcast") {
                broadcast_lane(name)
            } else {
                lane_of_shuffle(name)
            };
            return self.finish(i, out, unit, vex);
        }
        if sources < 2 {
            return Ok(false);
        }
        let (a, b) = (self.operand(i, x, to)?, self.operand(i, y, to)?);
        let logic = match name {
            "pand" | "pandd" | "pandq" | "andps" | "andpd" => Some(0),
            "por" | "pord" | "porq" | "orps" | "orpd" => Some(1),
            "pxor" | "pxord" | "pxorq" | "xorps" | "xorpd" => Some(2),
            "pandn" | "pandnd" | "pandnq" | "andnps" | "andnpd" => Some(3),
            _ => None,
        };
        if let Some(logic) = logic {
            let t = &mut self.terms;
            let pairs = a.into_iter().zip(b);
            let out = pairs
                .map(|(a, b)| match logic {
                    0 => t.and(a, b),
                    1 => t.or(a, b),
                    2 => t.xor(a, b),
                    _ => t.and(a ^ 1, b),
                })
                .collect();
            return self.finish(i, out, if name.ends_with('q') { 64 } else { 32 }, vex);
        }
        if name.starts_with("pternlog") {
            let d = self.operand(i, 0, to)?;
            let out = d
                .iter()
                .zip(&a)
                .zip(&b)
                .map(|((&d, &a), &b)| ternary(&mut self.terms, d, a, b, immediate as u8))
                .collect();
            return self.finish(i, out, lane, vex);
        }
        if name.starts_with("pcmp") || name.starts_with("ptestm") || name.starts_with("ptestnm") {
            return self.comparison(i, name, vex, (&a, &b), lane, immediate);
        }
        if let Some(out) = self.two_sources(i, name, (&a, &b), immediate)? {
            return self.finish(i, out, lane_of_shuffle(name), vex);
        }
        let signed = matches!(name, "pmuldq" | "pmulhw");
        let out = match name {
            "paddb" | "paddw" | "paddd" | "paddq" => self.each(&a, &b, lane, Terms::add),
            "psubb" | "psubw" | "psubd" | "psubq" => self.each(&a, &b, lane, Terms::sub),
            "pmulld" | "pmullw" | "pmullq" => self.each(&a, &b, lane, Terms::mul),
            "pmuldq" | "pmuludq" => {
                let mut out = Vec::with_capacity(to);
                for (a, b) in a.chunks(64).zip(b.chunks(64)) {
                    let (a, b) = (self.terms.gather(&a[..32]), self.terms.gather(&b[..32]));
                    let word = self.terms.wide(a, b, signed);
                    out.extend(self.terms.bits(word));
                }
                return self.finish(i, out, 64, vex);
            }
            "pmulhw" | "pmulhuw" => self.each(&a, &b, 16, |t, a, b| {
                let wide = t.wide(a, b, signed);
                t.slice(wide, 16, 16)
            }),
            "pmulhrsw" => self.each(&a, &b, 16, |t, a, b| {
                let (wide, round) = (t.wide(a, b, true), t.constant(32, 1 << 14));
                let sum = t.add(wide, round);
                t.slice(sum, 15, 16)
            }),
            "pmaddwd" => {
                let mut out = Vec::with_capacity(to);
                for (a, b) in a.chunks(32).zip(b.chunks(32)) {
                    let t = &mut self.terms;
                    let mut products = [0, 16].map(|from| {
                        let (a, b) = (t.gather(&a[from..from + 16]), t.gather(&b[from..from + 16]));
                        t.wide(a, b, true)
                    });
                    products.sort_unstable();
                    let word = t.add(products[0], products[1]);
                    out.extend(t.bits(word));
                }
                return self.finish(i, out, 32, vex);
            }
            "pmaddubsw" => {
                let mut out = Vec::with_capacity(to);
                for (a, b) in a.chunks(16).zip(b.chunks(16)) {
                    let t = &mut self.terms;
                    // Unsigned times signed bytes, the sum in more bits than it needs.
                    let products = [0, 8].map(|from| {
                        let (mut a, mut b) =
                            (a[from..from + 8].to_vec(), b[from..from + 8].to_vec());
                        a.resize(32, 0);
                        b.resize(32, b[7]);
                        let (a, b) = (t.gather(&a), t.gather(&b));
                        t.mul(a, b)
                    });
                    let sum = t.add(products[0], products[1]);
                    let word = t.clamp(sum, -32768, 32767, 16);
                    out.extend(t.bits(word));
                }
                return self.finish(i, out, 16, vex);
            }
            "pmadd52luq" | "pmadd52huq" => {
                let d = self.operand(i, 0, to)?;
                let mut out = Vec::with_capacity(to);
                for ((d, a), b) in d.chunks(64).zip(a.chunks(64)).zip(b.chunks(64)) {
                    out.extend(self.madd52(d, &a[..52], &b[..52], name == "pmadd52huq")?);
                }
                return self.finish(i, out, 64, vex);
            }
            "phaddd" | "phsubd" | "phaddw" | "phsubw" => {
                let f = if name.starts_with("phadd") {
                    Terms::add
                } else {
                    Terms::sub
                };
                let mut out = Vec::with_capacity(to);
                for (a, b) in a.chunks(128).zip(b.chunks(128)) {
                    for pair in a.chunks(2 * lane).chain(b.chunks(2 * lane)) {
                        let (x, y) = (
                            self.terms.gather(&pair[..lane]),
                            self.terms.gather(&pair[lane..]),
                        );
                        let word = f(&mut self.terms, x, y);
                        out.extend(self.terms.bits(word));
                    }
                }
                return self.finish(i, out, lane, vex);
            }
            _ if name.starts_with("pmin") || name.starts_with("pmax") => {
                let kind = match &name[2..5] {
                    "inu" => Extreme::MinUnsigned,
                    "ins" => Extreme::MinSigned,
                    "axu" => Extreme::MaxUnsigned,
                    _ => Extreme::MaxSigned,
                };
                self.each(&a, &b, lane, |t, a, b| t.extreme(kind, a, b))
            }
            "packuswb" | "packusdw" | "packsswb" | "packssdw" => {
                let from = if name.ends_with("wb") { 16 } else { 32 };
                let into = from / 2;
                let (low, high) = if name.contains("us") {
                    (0, (1i64 << into) - 1)
                } else {
                    (-(1i64 << (into - 1)), (1 << (into - 1)) - 1)
                };
                let mut out = Vec::with_capacity(to);
                for (a, b) in a.chunks(128).zip(b.chunks(128)) {
                    for lane in a.chunks(from).chain(b.chunks(from)) {
                        let word = self.terms.gather(lane);
                        let word = self.terms.clamp(word, low, high, into as u8);
                        out.extend(self.terms.bits(word));
                    }
                }
                return self.finish(i, out, into, vex);
            }
            _ => return Ok(false),
        };
        self.finish(i, out, lane, vex)
    }

    fn madd52(&mut self, d: &[Lit], a: &[Lit], b: &[Lit], high: bool) -> Step<Bits> {
        let t = &mut self.terms;
        let (a, b) = (t.gather(a), t.gather(b));
        let (x, y) = (t.unsigned(a), t.unsigned(b));
        let (x, y) = (t.range(&x), t.range(&y));
        // The product has to fit the widest words there are.
        if x.1.checked_mul(y.1).is_none_or(|most| most >= 1 << 64) {
            return unknown("a product of more than 64 bits");
        }
        let wider = |t: &mut Terms, word| {
            let mut bits = t.bits(word);
            bits.resize(64, 0);
            t.gather(&bits)
        };
        let (a, b) = (wider(t, a), wider(t, b));
        let product = t.mul(a, b);
        let bits = t.bits(product);
        let mut part = if high {
            bits[52..].to_vec()
        } else {
            bits[..52].to_vec()
        };
        part.resize(64, 0);
        let (d, part) = (t.gather(d), t.gather(&part));
        let sum = t.add(d, part);
        Ok(t.bits(sum))
    }

    fn shift(
        &mut self,
        i: &Instruction,
        name: &str,
        vex: bool,
        shift: Shift,
        (to, sources, by_immediate, immediate): (usize, u32, bool, u64),
    ) -> Step<bool> {
        let variable = name.contains("lv") || name.contains("rv") || name.contains("av");
        let lane = width_of(name);
        if by_immediate {
            let a = self.operand(i, sources - 1, to)?;
            let out = a
                .chunks(lane)
                .flat_map(|a| shift.of(a, immediate))
                .collect();
            return self.finish(i, out, lane, vex);
        }
        let (x, y) = if sources >= 3 { (1, 2) } else { (0, 1) };
        let (a, counts) = (
            self.operand(i, x, to)?,
            self.operand(i, y, if variable { to } else { 128 })?,
        );
        let count = |bits: &[Lit]| as_number(bits).map_or_else(|| unknown("a shift by data"), Ok);
        let mut out = Vec::with_capacity(to);
        for (n, a) in a.chunks(lane).enumerate() {
            let by = if variable {
                count(&counts[n * lane..(n + 1) * lane])?
            } else {
                count(&counts[..64])?
            };
            out.extend(shift.of(a, by));
        }
        self.finish(i, out, lane, vex)
    }

    fn comparison(
        &mut self,
        i: &Instruction,
        name: &str,
        vex: bool,
        (a, b): (&[Lit], &[Lit]),
        lane: usize,
        immediate: u64,
    ) -> Step<bool> {
        let mut out = Vec::new();
        for (a, b) in a.chunks(lane).zip(b.chunks(lane)) {
            let t = &mut self.terms;
            if name.starts_with("ptest") {
                let common: Vec<_> = a.iter().zip(b).map(|(&a, &b)| t.and(a, b) ^ 1).collect();
                let none = t.all(&common);
                out.push(if name.starts_with("ptestn") {
                    none
                } else {
                    none ^ 1
                });
                continue;
            }
            let (a, b) = (t.gather(a), t.gather(b));
            let greater = if name.starts_with("pcmpu") {
                Compare::GreaterUnsigned
            } else {
                Compare::GreaterSigned
            };
            out.push(match name {
                _ if name.starts_with("pcmpeq") => t.compare(Compare::Equal, a, b),
                _ if name.starts_with("pcmpgt") => t.compare(greater, a, b),
                _ => match immediate & 7 {
                    0 => t.compare(Compare::Equal, a, b),
                    1 => t.compare(greater, b, a),
                    2 => t.compare(greater, a, b) ^ 1,
                    3 => 0,
                    4 => t.compare(Compare::Equal, a, b) ^ 1,
                    5 => t.compare(greater, b, a) ^ 1,
                    6 => t.compare(greater, a, b),
                    _ => 1,
                },
            });
        }
        if i.op_kind(0) == OpKind::Register && i.op_register(0).is_k() {
            if let Some(mask) = self.mask(i, out.len())? {
                let t = &mut self.terms;
                out = out
                    .iter()
                    .zip(mask)
                    .map(|(&bit, mask)| t.and(bit, mask))
                    .collect();
            }
            self.set_vector(i.op_register(0), out, false);
            return Ok(true);
        }
        let out = out
            .into_iter()
            .flat_map(|bit| core::iter::repeat_n(bit, lane))
            .collect();
        self.put(i, out, vex)
    }

    /// Rearrangements of one source.
    fn one_source(
        &mut self,
        i: &Instruction,
        name: &str,
        to: usize,
        sources: u32,
        immediate: u64,
    ) -> Step<Option<Bits>> {
        let pick = |bits: &[Lit], lane: usize, from: &dyn Fn(usize) -> usize| -> Bits {
            (0..to / lane)
                .flat_map(|n| bits[from(n) * lane..(from(n) + 1) * lane].to_vec())
                .collect()
        };
        let select = |n: usize| (immediate >> (2 * n) & 3) as usize;
        let last = sources - 1;
        Ok(Some(match name {
            "pshufd" | "permilps" if sources == 2 => pick(&self.operand(i, last, to)?, 32, &|n| {
                n / 4 * 4 + select(n % 4)
            }),
            "pshuflw" => pick(&self.operand(i, last, to)?, 16, &|n| {
                if n % 8 < 4 {
                    n / 8 * 8 + select(n % 8)
                } else {
                    n
                }
            }),
            "pshufhw" => pick(&self.operand(i, last, to)?, 16, &|n| {
                if n % 8 < 4 {
                    n
                } else {
                    n / 8 * 8 + 4 + select(n % 8 - 4)
                }
            }),
            "permq" | "permpd" if sources == 2 => pick(&self.operand(i, last, to)?, 64, &|n| {
                n / 4 * 4 + select(n % 4)
            }),
            "movshdup" => pick(&self.operand(i, last, to)?, 32, &|n| n | 1),
            "movsldup" => pick(&self.operand(i, last, to)?, 32, &|n| n & !1),
            "movddup" => {
                let mut bits = self.operand(i, last, to)?;
                bits.resize(to.max(bits.len()), 0);
                pick(&bits, 64, &|n| n & !1)
            }
            _ if name.starts_with("pbroadcast") || name.starts_with("broadcast") => {
                let lane = broadcast_lane(name);
                let bits = self.operand(i, last, lane)?;
                bits[..lane].iter().copied().cycle().take(to).collect()
            }
            "pabsd" | "pabsw" | "pabsb" | "pabsq" => {
                let (bits, lane) = (self.operand(i, last, to)?, width_of(name));
                self.each(&bits.clone(), &bits, lane, |t, a, _| t.abs(a))
            }
            _ => return Ok(None),
        }))
    }

    /// Rearrangements of two sources, one of which may be a table of indices.
    fn two_sources(
        &mut self,
        i: &Instruction,
        name: &str,
        (a, b): (&[Lit], &[Lit]),
        immediate: u64,
    ) -> Step<Option<Bits>> {
        let to = a.len();
        let select = |n: usize| (immediate >> (2 * n) & 3) as usize;
        let lane = lane_of_shuffle(name);
        let unpack = |lane: usize, high: bool| -> Bits {
            let half = 64 / lane;
            let from = if high { half } else { 0 };
            (0..to / 128)
                .flat_map(|block| (0..2 * half).map(move |n| (block, n)))
                .flat_map(|(block, n)| {
                    let source = if n % 2 == 0 { a } else { b };
                    let at = 128 * block + lane * (from + n / 2);
                    source[at..at + lane].to_vec()
                })
                .collect()
        };
        let indices = |bits: &[Lit], lane: usize| -> Step<Vec<usize>> {
            let index = |lane: &[Lit]| as_number(lane).map(|n| n as usize);
            bits.chunks(lane)
                .map(|lane| index(lane).map_or_else(|| unknown("an index that is data"), Ok))
                .collect()
        };
        let table = |table: &[Lit], lane: usize, at: &[usize]| -> Bits {
            let count = table.len() / lane;
            at.iter()
                .flat_map(|&n| table[n % count * lane..(n % count + 1) * lane].to_vec())
                .collect()
        };
        Ok(Some(match name {
            "punpckldq" | "unpcklps" => unpack(32, false),
            "punpckhdq" | "unpckhps" => unpack(32, true),
            "punpcklqdq" | "unpcklpd" | "movlhps" => unpack(64, false),
            "punpckhqdq" | "unpckhpd" => unpack(64, true),
            "punpcklbw" => unpack(8, false),
            "punpckhbw" => unpack(8, true),
            "punpcklwd" => unpack(16, false),
            "punpckhwd" => unpack(16, true),
            "shufps" => (0..to / 32)
                .flat_map(|n| {
                    let source = if n % 4 < 2 { a } else { b };
                    let at = 32 * (n / 4 * 4 + select(n % 4));
                    source[at..at + 32].to_vec()
                })
                .collect(),
            "shufpd" => (0..to / 64)
                .flat_map(|n| {
                    let source = if n % 2 == 0 { a } else { b };
                    let at = 64 * (n / 2 * 2 + (immediate >> n & 1) as usize);
                    source[at..at + 64].to_vec()
                })
                .collect(),
            "shufi64x2" | "shufi32x4" | "shuff64x2" | "shuff32x4" => {
                let parts = to / 128;
                let bits = if parts == 4 { 2 } else { 1 };
                (0..parts)
                    .flat_map(|n| {
                        let source = if n < parts / 2 { a } else { b };
                        let at = 128 * (immediate >> (bits * n) & ((1 << bits) - 1)) as usize;
                        source[at..at + 128].to_vec()
                    })
                    .collect()
            }
            "perm2i128" | "perm2f128" => [immediate, immediate >> 4]
                .into_iter()
                .flat_map(|code| {
                    let source = if code & 2 == 0 { a } else { b };
                    let at = 128 * (code & 1) as usize;
                    if code & 8 == 0 {
                        source[at..at + 128].to_vec()
                    } else {
                        vec![0; 128]
                    }
                })
                .collect(),
            "pblendd" | "blendps" | "pblendw" | "blendpd" => (0..to / lane)
                .flat_map(|n| {
                    let source = if immediate >> (n % 8) & 1 == 1 { b } else { a };
                    source[n * lane..(n + 1) * lane].to_vec()
                })
                .collect(),
            "pblendvb" | "blendvps" | "blendvpd" => {
                let mask = self.operand(i, 3, to)?;
                let mut out = Vec::with_capacity(to);
                for n in 0..to / lane {
                    let at = n * lane..(n + 1) * lane;
                    let condition = mask[(n + 1) * lane - 1];
                    out.extend(match condition {
                        0 => a[at].to_vec(),
                        1 => b[at].to_vec(),
                        _ => crate::vector::select(
                            &mut self.terms,
                            condition,
                            &b[at.clone()],
                            &a[at],
                        ),
                    });
                }
                out
            }
            "palignr" => a
                .chunks(128)
                .zip(b.chunks(128))
                .flat_map(|(a, b)| {
                    let both: Bits = b.iter().chain(a).copied().chain([0; 256]).collect();
                    let from = 8 * (immediate as usize).min(32);
                    both[from..from + 128].to_vec()
                })
                .collect(),
            "valignd" | "valignq" | "alignd" | "alignq" => {
                let both: Bits = b.iter().chain(a).copied().collect();
                let from = lane * (immediate as usize % (to / lane));
                both[from..from + to].to_vec()
            }
            "pshufb" => {
                let mut out = Vec::with_capacity(to);
                for (n, control) in b.chunks(8).enumerate() {
                    let Some(at) = as_number(control) else {
                        return unknown("an index that is data");
                    };
                    let from = n / 16 * 128 + 8 * (at as usize & 15);
                    if at & 0x80 == 0 {
                        out.extend(&a[from..from + 8])
                    } else {
                        out.extend([0; 8])
                    }
                }
                out
            }
            "permd" | "permps" | "permq" | "permpd" | "permb" | "permw" => {
                let constant = a.iter().all(|&bit| bit < 2);
                if constant {
                    table(b, lane, &indices(a, lane)?)
                } else {
                    self.look_up(b, a, lane)
                }
            }
            "permt2d" | "permt2q" | "permt2w" | "permt2b" => {
                let d = self.operand(i, 0, to)?;
                let both: Bits = d.iter().chain(b).copied().collect();
                table(&both, lane, &indices(a, lane)?)
            }
            "permi2d" | "permi2q" | "permi2w" | "permi2b" => {
                let d = self.operand(i, 0, to)?;
                let both: Bits = a.iter().chain(b).copied().collect();
                table(&both, lane, &indices(&d, lane)?)
            }
            "pblendmd" | "pblendmq" | "pblendmb" | "pblendmw" => {
                // Elements whose mask is clear come from the first source.
                let Some(mask) = self.mask(i, to / lane)? else {
                    return Ok(None);
                };
                if i.zeroing_masking() || mask.iter().any(|&bit| bit > 1) {
                    return unknown("a blend");
                }
                (0..to)
                    .map(|at| if mask[at / lane] == 1 { b[at] } else { a[at] })
                    .collect()
            }
            _ => return Ok(None),
        }))
    }

    /// A table look-up inside a register by indices that are data: a selection by each bit of
    /// the index.
    fn look_up(&mut self, entries: &[Lit], indices: &[Lit], lane: usize) -> Bits {
        let count = entries.len() / lane;
        let mut out = Vec::with_capacity(entries.len());
        for index in indices.chunks(lane) {
            let mut rest = entries.to_vec();
            for &bit in &index[..count.trailing_zeros() as usize] {
                let pairs: Vec<_> = rest.chunks(2 * lane).map(<[Lit]>::to_vec).collect();
                rest = pairs
                    .iter()
                    .flat_map(|pair| {
                        (0..lane)
                            .map(|n| (pair[n], pair[lane + n]))
                            .collect::<Vec<_>>()
                    })
                    .map(|(low, high)| self.terms.mux(bit, high, low))
                    .collect();
            }
            out.extend(rest);
        }
        out
    }

    /// Instructions on mask registers.
    fn mask_step(&mut self, i: &Instruction, name: &str) -> Step<bool> {
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
                    self.write(at, &bits)?;
                }
                _ if i.op_register(0).is_gpr() => {
                    bits.resize(8 * i.op_register(0).size(), 0);
                    self.set_general(i.op_register(0), crate::machine::Value::Bits(bits))?;
                }
                _ => self.set_vector(i.op_register(0), bits, false),
            }
            return Ok(true);
        }
        let first = if name.starts_with("kortest") || name.starts_with("ktest") {
            0
        } else {
            1
        };
        let a = self.vector(i.op_register(first))?[..width].to_vec();
        let b = if i.op_count() > first + 1 && i.op_kind(first + 1) == OpKind::Register {
            self.vector(i.op_register(first + 1))?[..width].to_vec()
        } else {
            constant_bits(0, width)
        };
        let t = &mut self.terms;
        if name.starts_with("kortest") {
            let or: Vec<_> = a.iter().zip(&b).map(|(&a, &b)| t.or(a, b)).collect();
            let inverted: Vec<_> = or.iter().map(|bit| bit ^ 1).collect();
            self.flags = crate::machine::Flags {
                zero: Some(t.all(&inverted)),
                carry: Some(t.all(&or)),
                sign: Some(0),
                overflow: Some(0),
            };
            return Ok(true);
        }
        let stem = &name[..name.len() - 1];
        let out: Bits = match stem {
            "kshiftl" => Shift::Left.of(&a, i.immediate(2)),
            "kshiftr" => Shift::Right.of(&a, i.immediate(2)),
            "kunpckb" | "kunpckw" | "kunpckd" => {
                let half = width / 2;
                b[..half].iter().chain(&a[..half]).copied().collect()
            }
            _ => a
                .iter()
                .zip(&b)
                .map(|(&a, &b)| match stem {
                    "kand" => t.and(a, b),
                    "kor" => t.or(a, b),
                    "kxor" => t.xor(a, b),
                    "kxnor" => t.xor(a, b) ^ 1,
                    "kandn" => t.and(a ^ 1, b),
                    "knot" => a ^ 1,
                    _ => Lit::MAX,
                })
                .collect(),
        };
        if out.contains(&Lit::MAX) {
            return Ok(false);
        }
        self.set_vector(i.op_register(0), out, false);
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

/// One bit of a ternary function, in the normal form over exclusive or.
fn ternary(t: &mut Terms, a: Lit, b: Lit, c: Lit, table: u8) -> Lit {
    let mut normal = [0, 1, 2, 3, 4, 5, 6, 7].map(|n| table >> n & 1);
    for step in [1, 2, 4] {
        for n in 0..8 {
            if n & step != 0 {
                normal[n] ^= normal[n ^ step];
            }
        }
    }
    let mut sum = Lit::from(normal[0]);
    for (n, _) in normal
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, on)| **on == 1)
    {
        let mut product = 1;
        for (bit, value) in [(4, a), (2, b), (1, c)] {
            if n & bit != 0 {
                product = t.and(product, value);
            }
        }
        sum = t.xor(sum, product);
    }
    sum
}

fn letter(name: &str, from_end: usize) -> usize {
    match name.as_bytes()[name.len() - from_end] {
        b'b' => 8,
        b'w' => 16,
        b'd' => 32,
        _ => 64,
    }
}

/// Width of an element, by the last letter.
fn width_of(name: &str) -> usize {
    letter(name, 1)
}

fn broadcast_lane(name: &str) -> usize {
    match name {
        "broadcastss" => 32,
        "broadcastsd" => 64,
        "broadcasti128" | "broadcastf128" | "broadcasti32x4" | "broadcasti64x2"
        | "broadcastf32x4" | "broadcastf64x2" => 128,
        "broadcasti64x4" | "broadcasti32x8" | "broadcastf64x4" => 256,
        _ => width_of(name),
    }
}

/// Width of an element of a rearrangement, which is that of its mask too.
fn lane_of_shuffle(name: &str) -> usize {
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
