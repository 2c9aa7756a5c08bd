//! Moves, extensions and truncations of vectors.

use iced_x86::{Instruction, OpKind, Register};

use crate::machine::{Flags, Machine};
use crate::memory::{Bits, Step, Value, leak, unknown};
use crate::terms::Lit;
use crate::vector::{letter, widened, width_of};

impl Machine<'_> {
    /// Moves, extensions and truncations.
    pub(crate) fn moves(&mut self, i: &Instruction, name: &str, vex: bool) -> Step<bool> {
        let to = self.width(i, 0);
        match name {
            "movdqa" | "movdqu" | "movaps" | "movups" | "movapd" | "movupd" | "movdqa64"
            | "movdqu64" | "movdqa32" | "movdqu32" | "movdqu8" => {
                let lane = match name {
                    "movdqu8" => 8,
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
                                let element = self
                                    .memory
                                    .read((region, offset + (n * lane / 8) as i64), lane / 8)?;
                                bits[n * lane..(n + 1) * lane].copy_from_slice(&element);
                            }
                            _ => return leak("a mask of a load depends on data"),
                        }
                    }
                    return self.finish(i, bits, lane, vex);
                }
                let bits = self.operand(i, 1, to)?;
                self.finish(i, bits, lane, vex)
            }
            "movd" | "movq" | "movss" | "movsd" if i.op_count() == 2 => {
                let is_register = |n: &u32| i.op_kind(*n) == OpKind::Register;
                let is_merge = name.starts_with("movs") && is_register(&0) && is_register(&1);
                if is_merge || i.op_mask() != Register::None {
                    return Ok(false);
                }
                let mut registers = (0..2).filter(is_register);
                let general = registers.find(|&n| i.op_register(n).is_gpr());
                let narrow = if matches!(name, "movd" | "movss") {
                    32
                } else {
                    64
                };
                let narrow = general.map_or(narrow, |n| narrow.max(self.width(i, n)));
                let mut bits = self.operand(i, 1, narrow)?;
                bits.truncate(narrow);
                if general == Some(0) {
                    self.set_general(i.op_register(0), Value::Bits(bits))?;
                    return Ok(true);
                }
                if is_register(&0) {
                    bits.resize(128, 0);
                }
                self.put(i, bits, vex)
            }
            "movmskps" | "pmovmskb" => {
                let lane = if name == "movmskps" { 32 } else { 8 };
                let bits = self.vector(i.op_register(1))?;
                let mut signs: Bits = bits.chunks(lane).map(|lane| lane[lane.len() - 1]).collect();
                signs.resize(to, 0);
                self.set_general(i.op_register(0), Value::Bits(signs))?;
                Ok(true)
            }
            "extracti128" | "extracti32x4" => {
                let bits = self.vector(i.op_register(1))?;
                let from = (i.immediate(2) as usize % (bits.len() / 128)) * 128;
                self.finish(i, bits[from..from + 128].to_vec(), 32, vex)
            }
            "inserti128" | "insertf128" | "inserti32x4" | "inserti64x4" => {
                let width = if name.ends_with("64x4") { 256 } else { 128 };
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
                self.set_general(i.op_register(0), Value::Bits(part))?;
                Ok(true)
            }
            "testpd" => {
                let (a, b) = (self.operand(i, 0, to)?, self.operand(i, 1, to)?);
                let t = &mut self.terms;
                let mut none = |flip: Lit| {
                    let signs = (63..to).step_by(64).map(|n| t.and(a[n] ^ flip, b[n]));
                    let signs: Bits = signs.collect();
                    t.none(&signs)
                };
                self.flags = Flags::all([none(0), none(1), 0, 0]);
                Ok(true)
            }
            "pexpandq" | "pcompressd" => {
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
                // Only as many elements as the mask has are touched.
                let source = if i.op_kind(1) == OpKind::Memory {
                    let at = self.address(i)?;
                    self.memory.read(at, len / 8)?
                } else {
                    self.vector(i.op_register(1))?
                };
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
                let signed = name.starts_with("pmovs");
                let out = widened(&bits[..count * from], from, into, signed);
                self.finish(i, out, into, vex)
            }
            "pmovwb" => {
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
            _ => Ok(false),
        }
    }
}
