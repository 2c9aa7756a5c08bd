//! Reads assembler as the compiler writes it and finds the conditional jumps that
//! may depend on data.
//!
//! Loops and checks of bounds jump on counters, lengths and addresses, everywhere,
//! and differently with every compiler. The jumps in question differ in what they
//! test:
//!
//! - a sign or a signed order: what masks turn into. Counters are unsigned.
//! - a value that the same stretch of code has loaded from a row: through a pointer
//!   that the function advances, or with an index. Fields (lengths, parameters) are
//!   read through pointers that are constant, or at an offset from advancing ones.
//! - `memcmp`, whose time depends on what it compares.
//!
//! It also finds divisions of integers, whose time depends on the operands on
//! most CPUs.
//!
//! A test that a stretch of code takes over from another one, or from the stack,
//! is not followed. RV32 shifts 64 bits by a distance with a jump on `distance -
//! 32`; no distance in this library is secret, and these are left out.

use std::collections::{BTreeMap, BTreeSet};

mod operands;

/// The data that a jump depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A sign or a signed order.
    Sign,
    /// An element that was just loaded from a row.
    Loaded,
    /// A call of `memcmp`.
    Compare,
    /// A division, or a call of a function that divides.
    Division,
}

impl Kind {
    /// As in `figures/branches.tsv`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sign => "sign",
            Self::Loaded => "loaded",
            Self::Compare => "compare",
            Self::Division => "division",
        }
    }
}

/// The assembler syntax of a family of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Thumb,
    Arm64,
    Riscv,
    X86,
}

/// One instruction.
struct Line<'a> {
    mnemonic: &'a str,
    operands: Vec<&'a str>,
}

/// The jumps and calls of the functions of a build, by mangled name.
#[derive(Default)]
pub(crate) struct Found {
    /// The number of jumps of each function, by kind.
    pub(crate) jumps: BTreeMap<String, BTreeMap<Kind, usize>>,
    /// The functions that each function calls, one entry for each call.
    pub(super) calls: BTreeMap<String, Vec<String>>,
}

/// Reads one file; every function of it gets an entry.
pub(super) fn read(dialect: Dialect, text: &str, found: &mut Found) {
    let probing = probing(dialect, text);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(name) = label(line).filter(|name| is_function(name)) else {
            continue;
        };
        // Stretches from label to label.
        let mut stretches = vec![Vec::new()];
        while let Some(&line) = lines.peek() {
            match label(line) {
                Some(name) if is_function(name) => break,
                Some(_) => stretches.push(Vec::new()),
                None => {
                    let current = stretches.last_mut().expect("never empty");
                    current.extend(instruction(dialect, line));
                }
            }
            lines.next();
        }
        if stretches.iter().all(Vec::is_empty) {
            continue;
        }
        let moved = stretches.iter().flatten();
        let moved = moved.filter_map(|line| dialect.moves(line)).collect();
        let jumps = found.jumps.entry(name.to_owned()).or_default();
        let calls = found.calls.entry(name.to_owned()).or_default();
        for stretch in &stretches {
            for (at, line) in stretch.iter().enumerate() {
                if dialect.is_call(line) {
                    calls.push(callee(line).to_owned());
                }
                if let Some(kind) = dialect.kind(line, &stretch[..at], &moved, &probing) {
                    *jumps.entry(kind).or_default() += 1;
                }
            }
        }
    }
}

/// The functions of the compiler's own making that compare the stack pointer.
fn probing(dialect: Dialect, text: &str) -> BTreeSet<&str> {
    let mut probing = BTreeSet::new();
    let mut current = None;
    for line in text.lines() {
        match label(line) {
            Some(name) if is_function(name) => {
                current = Some(name).filter(|name| name.starts_with("OUTLINED_FUNCTION"));
            }
            _ => {
                let (Some(name), Some(line)) = (current, instruction(dialect, line)) else {
                    continue;
                };
                if dialect.sets_flags(&line) {
                    probing.remove(name);
                    if dialect.sources(&line).iter().any(|source| source == "sp") {
                        probing.insert(name);
                    }
                }
            }
        }
    }
    probing
}

fn is_function(label: &str) -> bool {
    !label.starts_with(".L") && !label.starts_with('$')
}

fn label(line: &str) -> Option<&str> {
    let (label, rest) = line.split_once(':')?;
    let alone = rest.is_empty() || rest.trim_start().starts_with(['#', '@', '/']);
    let name = |c: char| c.is_ascii_alphanumeric() || "_.$@".contains(c);
    (alone && !label.is_empty() && label.trim_matches('"').chars().all(name))
        .then(|| label.trim_matches('"'))
}

fn instruction(dialect: Dialect, line: &str) -> Option<Line<'_>> {
    let line = line.strip_prefix('\t')?;
    let comment = match dialect {
        Dialect::Thumb => "@",
        Dialect::Arm64 => "//",
        Dialect::Riscv | Dialect::X86 => "#",
    };
    let line = match line.find(comment) {
        // `#` opens numbers on Arm only.
        Some(at) => &line[..at],
        None => line,
    };
    let (mnemonic, operands) = line.trim().split_once('\t').unwrap_or((line.trim(), ""));
    if mnemonic.is_empty() || mnemonic.starts_with(['.', '/']) {
        return None;
    }
    Some(Line {
        mnemonic,
        operands: split_operands(operands),
    })
}

/// The function that a call is of.
fn callee<'a>(line: &Line<'a>) -> &'a str {
    let target = line.operands.last().copied().unwrap_or("");
    let target = target.trim_start_matches('*').trim_matches('"');
    target.split(['@', '(']).next().unwrap_or("")
}

/// By commas outside brackets.
fn split_operands(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c| {
        match c {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|operand| !operand.is_empty())
    .collect()
}

/// Helpers that compilers call to divide 64 bits. Cortex-M0 calls a function for 32 bits too,
/// whose steps the gate `trace` follows.
const DIVIDING: [&str; 6] = [
    "__aeabi_ldivmod",
    "__aeabi_uldivmod",
    "__divdi3",
    "__moddi3",
    "__udivdi3",
    "__umoddi3",
];
/// Signed orders and signs, as Arm calls them.
const SIGNED: [&str; 6] = ["mi", "pl", "lt", "ge", "gt", "le"];
/// Arithmetic that leaves flags, as Arm calls it; a condition may look like its `s`.
const FLAGGED: [&str; 16] = [
    "adds", "adcs", "ands", "asrs", "bics", "eors", "lsls", "lsrs", "muls", "mvns", "negs", "orrs",
    "rors", "rsbs", "sbcs", "subs",
];
const UNSIGNED: [&str; 8] = ["eq", "ne", "hs", "lo", "hi", "ls", "cs", "cc"];

impl Dialect {
    /// The kind of this instruction, if it is a jump that depends on data.
    fn kind(
        self,
        line: &Line<'_>,
        before: &[Line<'_>],
        moved: &BTreeSet<String>,
        probing: &BTreeSet<&str>,
    ) -> Option<Kind> {
        if self.is_call(line) {
            return match callee(line) {
                "memcmp" | "bcmp" | "__aeabi_memcmp" => Some(Kind::Compare),
                target if DIVIDING.contains(&target) => Some(Kind::Division),
                _ => None,
            };
        }
        if self.divides(line) {
            return Some(Kind::Division);
        }
        let signed = self.jump(line)?;
        if signed {
            let public = self.probes_stack(before, probing) || self.chooses_shift(line, before);
            return (!public).then_some(Kind::Sign);
        }
        self.tests_loaded(line, before, moved)
            .then_some(Kind::Loaded)
    }

    /// Whether the instruction calls another function or jumps to one.
    fn is_call(self, line: &Line<'_>) -> bool {
        let elsewhere = |jump: &[&str]| {
            let to = line.operands.last().copied().unwrap_or("");
            jump.contains(&line.mnemonic) && !to.contains(".L")
        };
        match self {
            Self::Thumb | Self::Arm64 => {
                matches!(line.mnemonic, "bl" | "blx" | "blr") || elsewhere(&["b", "b.w"])
            }
            Self::Riscv => {
                matches!(line.mnemonic, "call" | "jal" | "jalr" | "tail") || elsewhere(&["j"])
            }
            Self::X86 => line.mnemonic.starts_with("call") || elsewhere(&["jmp", "jmpl", "jmpq"]),
        }
    }

    fn divides(self, line: &Line<'_>) -> bool {
        match self {
            Self::Thumb | Self::Arm64 => matches!(line.mnemonic, "udiv" | "sdiv"),
            Self::Riscv => matches!(line.mnemonic, "div" | "divu" | "rem" | "remu"),
            Self::X86 => matches!(
                line.mnemonic.trim_start_matches('i'),
                "divb" | "divw" | "divl" | "divq"
            ),
        }
    }

    /// Whether a conditional jump is one on a sign; `None` if it is none.
    fn jump(self, line: &Line<'_>) -> Option<bool> {
        let mnemonic = line.mnemonic;
        match self {
            Self::Thumb => {
                let plain = mnemonic.split('.').next().unwrap_or("");
                if matches!(plain, "cbz" | "cbnz") {
                    return Some(false);
                }
                // After `it` everything may be conditional; arithmetic that is not
                // done takes the time of arithmetic, the rest is a jump.
                let condition = [
                    "b", "bx", "bl", "pop", "ldr", "ldrb", "ldrh", "ldrd", "str", "strb", "strh",
                    "strd", "ldm", "stm", "push",
                ]
                .iter()
                .find_map(|stem| plain.strip_prefix(stem).filter(|rest| rest.len() == 2))?;
                condition_of(condition)
            }
            Self::Arm64 => match mnemonic {
                "cbz" | "cbnz" => Some(false),
                "tbz" | "tbnz" => {
                    let bit = line.operands.get(1).copied().unwrap_or("");
                    Some(matches!(bit, "#31" | "#63"))
                }
                _ => condition_of(mnemonic.strip_prefix("b.")?),
            },
            Self::Riscv => match mnemonic {
                "beq" | "bne" | "bltu" | "bgeu" | "beqz" | "bnez" | "bgtu" | "bleu" => Some(false),
                "blt" | "bge" | "bgt" | "ble" | "bltz" | "bgez" | "bgtz" | "blez" => Some(true),
                _ => None,
            },
            Self::X86 => match mnemonic.strip_prefix('j')? {
                "mp" | "mpl" | "mpq" => None,
                "s" | "ns" | "l" | "ge" | "g" | "le" => Some(true),
                _ => Some(false),
            },
        }
    }

    /// Large frames are touched page by page, until the stack is there.
    fn probes_stack(self, before: &[Line<'_>], probing: &BTreeSet<&str>) -> bool {
        // At opt-level z the comparison may be in a function of its own.
        if let Some(last) = before.last().filter(|line| self.is_call(line)) {
            return last.operands.iter().any(|to| probing.contains(*to));
        }
        let test = before.iter().rev().find(|line| self.sets_flags(line));
        test.is_some_and(|test| self.sources(test).iter().any(|name| name == "sp"))
    }

    /// `addi jump, distance, -32` with a shift by `distance`.
    fn chooses_shift(self, jump: &Line<'_>, before: &[Line<'_>]) -> bool {
        let distance = before
            .iter()
            .rev()
            .find(|line| line.operands.first() == jump.operands.first());
        self == Self::Riscv
            && distance.is_some_and(|less| {
                less.mnemonic == "addi"
                    && less.operands.get(2) == Some(&"-32")
                    && before.iter().any(|line| {
                        matches!(line.mnemonic, "sll" | "srl" | "sra")
                            && line.operands.get(2) == less.operands.get(1)
                    })
            })
    }

    /// Whether what `jump` tests was loaded in this stretch, or computed from that.
    fn tests_loaded(self, jump: &Line<'_>, before: &[Line<'_>], moved: &BTreeSet<String>) -> bool {
        let mut wanted = BTreeSet::new();
        let mut rest = before;
        let direct = match self {
            Self::Riscv => true,
            Self::Thumb | Self::Arm64 => jump.mnemonic.starts_with(['c', 't']),
            Self::X86 => false,
        };
        if direct {
            wanted.extend(jump.operands.iter().flat_map(|text| self.registers(text)));
        } else {
            let Some(at) = before.iter().rposition(|line| self.sets_flags(line)) else {
                return false;
            };
            rest = &before[..at];
            if self.loads(&before[at], before, moved) {
                return true;
            }
            wanted.extend(self.sources(&before[at]));
        }
        for line in rest.iter().rev() {
            if self.is_call(line) {
                // Results of functions are their business.
                return false;
            }
            let targets = self.targets(line);
            if !targets.iter().any(|target| wanted.contains(target)) {
                continue;
            }
            if self.loads(line, before, moved) {
                return true;
            }
            for target in &targets {
                wanted.remove(target);
            }
            if self.memory(line).is_none() {
                wanted.extend(self.sources(line));
            }
        }
        false
    }

    fn sets_flags(self, line: &Line<'_>) -> bool {
        let plain = line.mnemonic.split('.').next().unwrap_or("");
        match self {
            Self::Thumb | Self::Arm64 => {
                matches!(plain, "cmp" | "cmn" | "tst" | "teq" | "ccmp" | "ccmn")
                    || FLAGGED.contains(&plain)
            }
            Self::Riscv => false,
            Self::X86 => [
                "cmp", "test", "and", "or", "xor", "add", "sub", "shl", "sar", "shr", "dec", "inc",
                "neg", "sbb", "adc", "bt",
            ]
            .iter()
            .any(|stem| plain.starts_with(stem)),
        }
    }
}

/// Whether an Arm condition is one of sign; `None` if it is no condition.
fn condition_of(text: &str) -> Option<bool> {
    if SIGNED.contains(&text) {
        Some(true)
    } else {
        UNSIGNED.contains(&text).then_some(false)
    }
}

#[cfg(test)]
mod tests;
