//! Arithmetic, logic, shifts and comparisons of vectors.

use iced_x86::{Instruction, OpKind};

use crate::machine::Machine;
use crate::memory::{Bits, Step, as_number, unknown};
use crate::terms::{Compare, Extreme, Fill, Lit, Terms, any_of};
use crate::vector::{broadcast_lane, lane_of_shuffle, width_of};

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
    pub(crate) fn compute(&mut self, i: &Instruction, name: &str, vex: bool) -> Step<bool> {
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
        if name == "pslldq" {
            let a = self.operand(i, sources - 1, to)?;
            let by = 8 * immediate.min(16);
            let halves = a.chunks(128);
            let out = halves.flat_map(|half| Shift::Left.of(half, by)).collect();
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
        let same = i.op_kind(y) == OpKind::Register && i.op_register(x) == i.op_register(y);
        let is_idiom = ["pxor", "xorp", "pandn", "andnp", "psub", "pcmpeq", "pcmpgt"]
            .iter()
            .any(|start| name.starts_with(start));
        // The idioms for zeros and ones, whatever the register holds.
        let (a, b) = if same && is_idiom {
            (vec![0; to], vec![0; to])
        } else {
            (self.operand(i, x, to)?, self.operand(i, y, to)?)
        };
        let logic: Option<fn(&mut Terms, Lit, Lit) -> Lit> = match name {
            "pand" | "pandd" | "pandq" | "andps" | "andpd" => Some(Terms::and),
            "por" | "pord" | "porq" | "orps" | "orpd" => Some(Terms::or),
            "pxor" | "pxord" | "pxorq" | "xorps" | "xorpd" => Some(Terms::xor),
            "pandn" | "pandnd" | "pandnq" | "andnps" | "andnpd" => Some(|t, a, b| t.and(a ^ 1, b)),
            _ => None,
        };
        if let Some(logic) = logic {
            let pairs = a.into_iter().zip(b);
            let out = pairs.map(|(a, b)| logic(&mut self.terms, a, b)).collect();
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
        if name.starts_with("pcmp") {
            return self.comparison(i, name, vex, (&a, &b), lane, immediate);
        }
        if let Some(out) = self.two_sources(i, name, (&a, &b), immediate)? {
            return self.finish(i, out, lane_of_shuffle(name), vex);
        }
        let signed = name == "pmuldq";
        let out = match name {
            "paddb" | "paddw" | "paddd" | "paddq" => self.each(&a, &b, lane, Terms::add),
            "psubb" | "psubw" | "psubd" | "psubq" => self.each(&a, &b, lane, Terms::sub),
            "pmulld" | "pmullw" => self.each(&a, &b, lane, Terms::mul),
            "pmuldq" | "pmuludq" => self.lanes(&a, &b, 64, |t, a, b| {
                let (a, b) = (t.gather(&a[..32]), t.gather(&b[..32]));
                t.wide(a, b, signed)
            }),
            "pmulhuw" => self.each(&a, &b, 16, |t, a, b| {
                let wide = t.wide(a, b, signed);
                t.slice(wide, 16, 16)
            }),
            "pmulhrsw" => self.each(&a, &b, 16, |t, a, b| {
                let (wide, round) = (t.wide(a, b, true), t.constant(32, 1 << 14));
                let sum = t.add(wide, round);
                t.slice(sum, 15, 16)
            }),
            "pmaddwd" => self.lanes(&a, &b, 32, |t, a, b| {
                let mut products = [0, 16].map(|from| {
                    let (a, b) = (t.gather(&a[from..from + 16]), t.gather(&b[from..from + 16]));
                    t.wide(a, b, true)
                });
                products.sort_unstable();
                t.add(products[0], products[1])
            }),
            // Unsigned times signed bytes, the sum in more bits than it needs.
            "pmaddubsw" => self.lanes(&a, &b, 16, |t, a, b| {
                let products = [0, 8].map(|from| {
                    let (mut a, mut b) = (a[from..from + 8].to_vec(), b[from..from + 8].to_vec());
                    a.resize(32, 0);
                    b.resize(32, b[7]);
                    let (a, b) = (t.gather(&a), t.gather(&b));
                    t.mul(a, b)
                });
                let sum = t.add(products[0], products[1]);
                t.clamp(sum, -32768, 32767, 16)
            }),
            "psadbw" => self.lanes(&a, &b, 64, |t, a, b| {
                let mut sum = t.constant(16, 0);
                for (a, b) in a.chunks(8).zip(b.chunks(8)) {
                    let (a, b) = (t.gather(a), t.gather(b));
                    let most = t.extreme(Extreme::MaxUnsigned, a, b);
                    let least = t.extreme(Extreme::MinUnsigned, a, b);
                    let difference = t.sub(most, least);
                    let difference = t.extend(difference, 0, Fill::Zero, 16);
                    sum = t.add(sum, difference);
                }
                let mut bits = t.bits(sum);
                bits.resize(64, 0);
                t.gather(&bits)
            }),
            "pmadd52luq" => {
                let d = self.operand(i, 0, to)?;
                let mut out = Vec::with_capacity(to);
                for ((d, a), b) in d.chunks(64).zip(a.chunks(64)).zip(b.chunks(64)) {
                    out.extend(self.madd52(d, &a[..52], &b[..52])?);
                }
                return self.finish(i, out, 64, vex);
            }
            "phaddd" | "phsubd" => {
                let f = [Terms::sub, Terms::add][usize::from(name == "phaddd")];
                let halves = a.chunks(128).zip(b.chunks(128));
                let all: Bits = halves.flat_map(|(a, b)| [a, b].concat()).collect();
                self.pairs(&all, lane, f)
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
                    for half in [a, b] {
                        out.extend(self.each(half, half, from, |t, word, _| {
                            t.clamp(word, low, high, into as u8)
                        }));
                    }
                }
                return self.finish(i, out, into, vex);
            }
            _ => return Ok(false),
        };
        let unit = match name {
            "pmuldq" | "pmuludq" | "psadbw" => 64,
            "pmaddwd" => 32,
            "pmaddubsw" => 16,
            _ => lane,
        };
        self.finish(i, out, unit, vex)
    }

    fn madd52(&mut self, d: &[Lit], a: &[Lit], b: &[Lit]) -> Step<Bits> {
        let any = any_of(d.iter().chain(a).chain(b));
        let t = &mut self.terms;
        let (a, b) = (t.gather(a), t.gather(b));
        if t.is_any(&[a, b]) {
            return Ok(vec![any; 64]);
        }
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
        let mut part = bits[..52].to_vec();
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
        let is_mask = i.op_kind(0) == OpKind::Register && i.op_register(0).is_k();
        let mut out = Vec::new();
        for (a, b) in a.chunks(lane).zip(b.chunks(lane)) {
            let t = &mut self.terms;
            let (a, b) = (t.gather(a), t.gather(b));
            let greater = if name.starts_with("pcmpu") {
                Compare::GreaterUnsigned
            } else {
                Compare::GreaterSigned
            };
            out.push(match name {
                _ if name.starts_with("pcmpeq") => t.compare(Compare::Equal, a, b),
                _ if name.starts_with("pcmpgt") => t.compare(greater, a, b),
                _ if !is_mask => return Ok(false),
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
        if is_mask {
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
