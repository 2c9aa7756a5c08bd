//! The registers and the memory that an instruction reads and writes.

use std::collections::BTreeSet;

use super::{Dialect, Line};

impl Dialect {
    /// The register that an instruction moves on: by adding to it, or as the
    /// address that advances after its load.
    pub(super) fn moves(self, line: &Line<'_>) -> Option<String> {
        let plain = line.mnemonic.split('.').next().unwrap_or("");
        if let Some(memory) = self.memory(line) {
            let last = line.operands.last().copied().unwrap_or("");
            let steps = self != Self::Riscv
                && self != Self::X86
                && (memory.ends_with('!') || last != memory);
            return self.registers(memory).into_iter().next().filter(|_| steps);
        }
        let adds = ["add", "sub", "inc", "dec", "lea", "c.add"]
            .iter()
            .any(|stem| plain.starts_with(stem));
        let target = self.targets(line).into_iter().next()?;
        let same = self == Self::X86 && !plain.starts_with("lea")
            || line.operands.len() == 2 && self == Self::Thumb
            || self.sources(line).contains(&target);
        (adds && same).then_some(target)
    }

    /// Whether the instruction loads an element of a row, not a constant and not from the stack.
    pub(super) fn loads(
        self,
        line: &Line<'_>,
        stretch: &[Line<'_>],
        moved: &BTreeSet<String>,
    ) -> bool {
        let Some(memory) = self.memory(line) else {
            let base = line.operands.first().copied().unwrap_or("");
            return self == Self::Thumb && line.mnemonic.starts_with("ldm") && base.ends_with('!');
        };
        if self.stores(line) {
            return false;
        }
        let address = self.registers(memory);
        let stack = |name: &String| matches!(name.as_str(), "sp" | "ip" | "pc");
        match address.as_slice() {
            [base] if stack(base) => false,
            [base] => {
                let here = || stretch.iter().filter_map(|line| self.moves(line));
                let apart = match self {
                    Self::Thumb | Self::Arm64 => memory.contains('#'),
                    Self::Riscv => !memory.starts_with("0("),
                    Self::X86 => !memory.starts_with('('),
                };
                moved.contains(base) && (!apart || here().any(|name| name == *base))
            }
            registers => !registers.is_empty() && !registers.iter().any(stack),
        }
    }

    pub(super) fn stores(self, line: &Line<'_>) -> bool {
        match self {
            Self::Thumb | Self::Arm64 => line.mnemonic.starts_with("st"),
            Self::Riscv => matches!(line.mnemonic, "sb" | "sh" | "sw"),
            Self::X86 => {
                line.mnemonic.starts_with("mov")
                    && line.operands.last().is_some_and(|last| last.contains('('))
            }
        }
    }

    /// The operand that is an address.
    pub(super) fn memory<'a>(self, line: &Line<'a>) -> Option<&'a str> {
        if self == Self::X86 && line.mnemonic.starts_with("lea") {
            return None;
        }
        let open = match self {
            Self::Thumb | Self::Arm64 => '[',
            Self::Riscv | Self::X86 => '(',
        };
        let address = |operand: &&&str| {
            operand.contains(open) && !operand.contains('%')
                || operand.contains("(%")
                || (self == Self::X86 && operand.contains("(,%"))
        };
        line.operands.iter().find(address).copied()
    }

    /// The registers that an instruction writes.
    pub(super) fn targets(self, line: &Line<'_>) -> Vec<String> {
        let plain = line.mnemonic.split('.').next().unwrap_or("");
        let compares = matches!(plain, "cmp" | "cmn" | "tst" | "teq" | "ccmp")
            || (self == Self::X86 && (plain.starts_with("cmp") || plain.starts_with("test")));
        if compares || self.stores(line) || self.jump(line).is_some() {
            return Vec::new();
        }
        let pair = matches!(
            plain,
            "ldp" | "ldrd" | "umull" | "smull" | "umlal" | "smlal" | "umaal"
        );
        let operands = match self {
            Self::X86 if line.operands.last().is_some_and(|last| last.contains('(')) => &[],
            Self::X86 => &line.operands[line.operands.len().saturating_sub(1)..],
            Self::Thumb if plain.starts_with("ldm") => &line.operands[line.operands.len().min(1)..],
            _ if pair && self != Self::Riscv => &line.operands[..line.operands.len().min(2)],
            _ => &line.operands[..line.operands.len().min(1)],
        };
        operands
            .iter()
            .flat_map(|operand| self.registers(operand))
            .collect()
    }

    /// The registers that an instruction reads, without those of an address.
    pub(super) fn sources(self, line: &Line<'_>) -> Vec<String> {
        let two = line.operands.len() <= 2;
        let copies = line.mnemonic.starts_with("mov")
            || line.mnemonic.starts_with("lea")
            || matches!(line.mnemonic, "mv" | "li" | "lui");
        let test = self.targets(line).is_empty();
        let skip_target = !test && (!two || copies || self == Self::Riscv);
        let operands: Vec<_> = match self {
            // The last one is read too, but by copies.
            Self::X86 if copies => line.operands.iter().rev().skip(1).collect(),
            Self::X86 => line.operands.iter().collect(),
            _ => line
                .operands
                .iter()
                .skip(usize::from(skip_target))
                .collect(),
        };
        operands
            .into_iter()
            .flat_map(|operand| self.registers(operand))
            .collect()
    }

    /// The general registers that a text names, under one name for all widths.
    pub(super) fn registers(self, text: &str) -> Vec<String> {
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '%' && c != '#' && c != '.')
            .filter_map(|word| self.register(word))
            .collect()
    }

    pub(super) fn register(self, word: &str) -> Option<String> {
        let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
        match self {
            Self::Thumb => match word {
                "sp" | "lr" | "pc" => Some(word.into()),
                _ => word
                    .strip_prefix('r')
                    .filter(|rest| number(rest))
                    .map(|_| word.into()),
            },
            Self::Arm64 => match word {
                "sp" => Some(word.into()),
                _ => word
                    .strip_prefix(['w', 'x'])
                    .filter(|rest| number(rest))
                    .map(|rest| format!("x{rest}")),
            },
            Self::Riscv => match word {
                "sp" | "ra" | "gp" | "tp" => Some(word.into()),
                _ => word
                    .strip_prefix(['a', 's', 't'])
                    .filter(|rest| number(rest))
                    .map(|_| word.into()),
            },
            Self::X86 => {
                let name = word.strip_prefix('%')?;
                let name = name.strip_prefix(['r', 'e']).unwrap_or(name);
                if let Some(rest) = name.strip_prefix(|c: char| c.is_ascii_digit()) {
                    let _ = rest;
                    return Some(name.trim_end_matches(['d', 'w', 'b']).into());
                }
                Some(match name {
                    "al" | "ah" => "ax".into(),
                    "bl" | "bh" => "bx".into(),
                    "cl" | "ch" => "cx".into(),
                    "dl" | "dh" => "dx".into(),
                    "sil" => "si".into(),
                    "dil" => "di".into(),
                    "bpl" => "bp".into(),
                    _ if name.contains("mm") => return None,
                    _ => name.into(),
                })
            }
        }
    }
}
