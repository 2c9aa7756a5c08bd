//! AArch64 instructions as operands.
//!
//! The decoder gives bit fields by encoding, and a text without aliases. The text is read
//! here: it names the arrangement of lanes, the extension and the address mode of an encoding.

use disarm64::decoder;
use disarm64::format_insn::format_insn_pc;

/// A shift or an extension of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modifier {
    Lsl,
    Lsr,
    Asr,
    Ror,
    /// A shift that fills with ones.
    Msl,
    /// Extension of that many bits, signed or not.
    Extend(usize, bool),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// Number and width; 31 is the stack pointer, no number the zero register.
    General(Option<usize>, usize),
    /// The lowest bits of a vector register: number, width.
    Scalar(usize, usize),
    /// Number of the register, width and number of lanes.
    Vector(usize, usize, usize),
    /// Number of the register, width and index of a lane.
    Element(usize, usize, usize),
    /// Registers, width of a lane, number of lanes; all lanes or the one with the index.
    List(Vec<usize>, usize, usize, Option<usize>),
    Immediate(u64),
    /// Modifies the operand before it.
    Shift(Modifier, usize),
    Condition(String),
    Address(Address),
    /// An address in the program.
    Target(u64),
    /// A system register or another name.
    Word(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: usize,
    pub(crate) offset: i64,
    /// Number of a register, its extension and its shift.
    pub(crate) index: Option<(Option<usize>, Modifier, usize)>,
    pub(crate) update: Update,
}

/// When the offset is added to the base register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    Never,
    Before,
    After,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) at: u64,
    pub(crate) word: u32,
    pub(crate) mnemonic: String,
    pub(crate) operands: Vec<Operand>,
}

impl Instruction {
    pub(crate) fn decode(word: u32, at: u64) -> Option<Self> {
        let mut text = String::new();
        format_insn_pc(at, &mut text, &decoder::decode(word)?).ok()?;
        let (mnemonic, rest) = text.split_once('\t').unwrap_or((&text, ""));
        let mut operands: Vec<Operand> = Vec::new();
        for token in split(rest) {
            let operand = operand(token)?;
            // An operand after the address is added to its base afterwards.
            if let Some(Operand::Address(address)) = operands.last_mut() {
                address.update = Update::After;
                match operand {
                    Operand::Immediate(value) => address.offset = value as i64,
                    Operand::General(number, 64) => {
                        address.index = Some((number, Modifier::Lsl, 0));
                    }
                    _ => return None,
                }
                continue;
            }
            operands.push(operand);
        }
        // Of a lane that is repeated the text has other numbers of lanes.
        if let Some(Operand::List(_, lane, lanes, None)) = operands.first_mut()
            && mnemonic.trim().ends_with('r')
        {
            *lanes = (64 << (word >> 30 & 1)) / *lane;
        }
        Some(Self {
            at,
            word,
            mnemonic: mnemonic.trim().to_owned(),
            operands,
        })
    }

    pub(crate) fn operand(&self, n: usize) -> Option<&Operand> {
        self.operands.get(n)
    }

    /// The instruction without its registers, addresses and those immediates that are operands
    /// as registers are.
    pub(crate) fn form(&self) -> String {
        const OPERANDS: [&str; 12] = [
            "add", "adds", "sub", "subs", "and", "ands", "orr", "eor", "movz", "movn", "movi",
            "mvni",
        ];
        let is_operand = OPERANDS.contains(&&self.mnemonic[..]);
        let number = |n: usize| if n == 31 { n } else { 0 };
        let all = self.operands.iter().cloned().map(|operand| match operand {
            Operand::General(n, width) => Operand::General(n.map(number), width),
            Operand::Scalar(_, width) => Operand::Scalar(0, width),
            Operand::Vector(_, lane, count) => Operand::Vector(0, lane, count),
            Operand::Element(_, lane, index) => Operand::Element(0, lane, index),
            Operand::List(registers, lane, count, index) => {
                Operand::List(vec![0; registers.len()], lane, count, index)
            }
            Operand::Immediate(_) if is_operand => Operand::Immediate(0),
            Operand::Address(a) => Operand::Address(Address {
                base: number(a.base),
                offset: 0,
                index: a
                    .index
                    .map(|(n, modifier, by)| (n.map(|_| 0), modifier, by)),
                ..a
            }),
            Operand::Target(_) => Operand::Target(0),
            other => other,
        });
        format!("{} {:?}", self.mnemonic, all.collect::<Vec<_>>())
    }
}

/// Parts between the commas outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn number(text: &str) -> Option<u64> {
    let text = text.strip_prefix('#').unwrap_or(text);
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    text.parse::<i64>().ok().map(|value| value as u64)
}

fn modifier(text: &str) -> Option<(Modifier, usize)> {
    let (name, by) = text.split_once(' ').unwrap_or((text, "#0"));
    let modifier = match &name.to_lowercase()[..] {
        "lsl" => Modifier::Lsl,
        "lsr" => Modifier::Lsr,
        "asr" => Modifier::Asr,
        "ror" => Modifier::Ror,
        "msl" => Modifier::Msl,
        "uxtb" => Modifier::Extend(8, false),
        "uxth" => Modifier::Extend(16, false),
        "uxtw" => Modifier::Extend(32, false),
        "uxtx" => Modifier::Extend(64, false),
        "sxtb" => Modifier::Extend(8, true),
        "sxth" => Modifier::Extend(16, true),
        "sxtw" => Modifier::Extend(32, true),
        "sxtx" => Modifier::Extend(64, true),
        _ => return None,
    };
    Some((modifier, number(by)? as usize))
}

fn lane_width(letter: &str) -> Option<usize> {
    Some(match letter {
        "b" => 8,
        "h" => 16,
        "s" => 32,
        "d" => 64,
        "q" => 128,
        _ => return None,
    })
}

fn register(text: &str) -> Option<Operand> {
    match text {
        "sp" => return Some(Operand::General(Some(31), 64)),
        "wsp" => return Some(Operand::General(Some(31), 32)),
        "xzr" => return Some(Operand::General(None, 64)),
        "wzr" => return Some(Operand::General(None, 32)),
        _ => {}
    }
    let rest = text.get(1..)?;
    let (digits, arrangement) = rest.split_once('.').unwrap_or((rest, ""));
    let number: usize = digits.parse().ok().filter(|&n| n < 32)?;
    match &text[..1] {
        "x" => Some(Operand::General(Some(number), 64)),
        "w" => Some(Operand::General(Some(number), 32)),
        "v" => {
            if let Some((letter, index)) = arrangement.split_once('[') {
                let index = index.strip_suffix(']')?.parse().ok()?;
                return Some(Operand::Element(number, lane_width(letter)?, index));
            }
            let at = arrangement.find(|c: char| c.is_ascii_alphabetic())?;
            let (count, letter) = arrangement.split_at(at);
            let lane = lane_width(letter)?;
            // In a list with an index the number of lanes is not written.
            let count = if count.is_empty() {
                0
            } else {
                count.parse().ok()?
            };
            Some(Operand::Vector(number, lane, count))
        }
        letter => Some(Operand::Scalar(number, lane_width(letter)?)),
    }
}

fn list(text: &str) -> Option<Operand> {
    let (inner, index) = text.strip_prefix('{')?.split_once('}')?;
    let index = match index.trim().strip_prefix('[') {
        Some(index) => Some(index.strip_suffix(']')?.parse().ok()?),
        None => None,
    };
    let (mut registers, mut shape) = (Vec::new(), (0, 0));
    for part in inner.split(',') {
        match register(part.trim())? {
            Operand::Vector(number, lane, count) => {
                registers.push(number);
                shape = (lane, count);
            }
            // One lane of 64 bits has the name of a scalar.
            Operand::Scalar(number, lane) => {
                registers.push(number);
                shape = (lane, 1);
            }
            _ => return None,
        }
    }
    Some(Operand::List(registers, shape.0, shape.1, index))
}

fn address(text: &str) -> Option<Operand> {
    let (inner, rest) = text.strip_prefix('[')?.split_once(']')?;
    let mut parts = inner.split(',').map(str::trim);
    let Some(Operand::General(Some(base), 64)) = register(parts.next()?) else {
        return None;
    };
    let mut address = Address {
        base,
        offset: 0,
        index: None,
        update: match rest {
            "" => Update::Never,
            "!" => Update::Before,
            _ => return None,
        },
    };
    for part in parts {
        if let Some((modifier, by)) = modifier(part) {
            let (_, known, shift) = address.index.as_mut()?;
            (*known, *shift) = (modifier, by);
        } else if part.starts_with('#') {
            address.offset = number(part)? as i64;
        } else if let Operand::General(number, width) = register(part)? {
            let modifier = if width == 32 {
                Modifier::Extend(32, false)
            } else {
                Modifier::Lsl
            };
            address.index = Some((number, modifier, 0));
        }
    }
    Some(Operand::Address(address))
}

fn operand(text: &str) -> Option<Operand> {
    const CONDITIONS: [&str; 18] = [
        "eq", "ne", "cs", "hs", "cc", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt",
        "le", "al", "nv",
    ];
    match text.as_bytes()[0] {
        b'[' => return address(text),
        b'{' => return list(text),
        b'#' => return number(text).map(Operand::Immediate),
        b'<' | b':' => return None,
        b'0' => return number(text).map(Operand::Target),
        _ => {}
    }
    if let Some((modifier, by)) = modifier(text) {
        return Some(Operand::Shift(modifier, by));
    }
    if CONDITIONS.contains(&text) {
        return Some(Operand::Condition(text.to_owned()));
    }
    Some(register(text).unwrap_or_else(|| Operand::Word(text.to_owned())))
}
