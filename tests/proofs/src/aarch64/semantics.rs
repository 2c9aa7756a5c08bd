//! Every form of instruction that the rows met, against an emulator of the CPU.
//!
//! One program has a block for each form: it loads the registers that the instruction names,
//! executes it and stores them. Its words are those of the program that is checked.

use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use super::SP;
use super::decode::{Address, Instruction, Modifier, Operand, Update};
use super::general::modified;
use super::program::{COMPILER, EMULATOR};
use crate::image::Image;
use crate::machine::Machine;
use crate::memory::{Value, as_number, constant_bits};
use crate::one_instruction::BATCH;
use crate::semantics::{Random, Terms, in_scratch_folder, on_cases, on_cpu, print_control};
use crate::terms::Lit;

/// Bytes of a case: memory, flags, number of the block, general registers, vectors.
const MEMORY: usize = 64;
const FLAGS: usize = MEMORY;
const BLOCK: usize = FLAGS + 8;
const GENERAL: usize = BLOCK + 8;
const VECTORS: usize = 128;
const CASE: usize = 256;
/// Zero, carry, sign, overflow.
const FLAG_BITS: [u32; 4] = [30, 29, 31, 28];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    General(usize),
    Vector(usize),
    Memory,
}

/// An instruction with its registers and their places in a case.
struct Form<'a> {
    name: &'a str,
    block: usize,
    instruction: &'a Instruction,
    sources: Vec<(Source, usize)>,
}

/// Instructions that registers do not show: control flow, and addresses of the program.
fn is_control(i: &Instruction) -> bool {
    let is_target = |operand: &Operand| matches!(operand, Operand::Target(_));
    matches!(&i.mnemonic[..], "br" | "blr" | "ret" | "nop" | "bti")
        || i.operands.iter().any(is_target) && !i.mnemonic.starts_with("ld")
}

/// Compares all forms; their number, and those that differ or could not be compared.
pub(crate) fn compare(
    image: &Image,
    met: &BTreeMap<Vec<u8>, u64>,
) -> Result<(usize, Vec<String>), String> {
    let mut forms: BTreeMap<String, Instruction> = BTreeMap::new();
    let mut control = BTreeSet::new();
    for (bytes, &at) in met {
        let word = bytes
            .first_chunk()
            .map_or(0, |word| u32::from_le_bytes(*word));
        let i = Instruction::decode(word, at).ok_or("an invalid instruction")?;
        if is_control(&i) {
            control.insert(i.mnemonic.to_string());
        } else {
            forms.entry(i.form()).or_insert(i);
        }
    }
    let forms: Vec<Form<'_>> = forms
        .iter()
        .enumerate()
        .map(|(block, (name, i))| Form {
            name,
            block,
            instruction: i,
            sources: sources(i),
        })
        .collect();
    let (mut compared, mut bad) = (0, Vec::new());
    in_scratch_folder(|folder| {
        let program = assemble(&forms, folder)?;
        for form in &forms {
            let result = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
                form.one(image, &program)
            }));
            match result.unwrap_or_else(|_| Err("the domain gave up".into())) {
                Ok(()) => compared += 1,
                Err(text) => bad.push(format!("{}: {text}", form.name)),
            }
        }
        Ok(())
    })?;
    print_control(control);
    Ok((compared, bad))
}

fn address(i: &Instruction) -> Option<&Address> {
    i.operands.iter().find_map(|operand| match operand {
        Operand::Address(address) => Some(address),
        _ => None,
    })
}

/// The registers that an instruction names, with the place of each in a case.
fn sources(i: &Instruction) -> Vec<(Source, usize)> {
    let mut named = Vec::new();
    for operand in &i.operands {
        match operand {
            Operand::General(Some(n), _) => named.push(Source::General(*n)),
            Operand::Scalar(n, _) | Operand::Vector(n, ..) | Operand::Element(n, ..) => {
                named.push(Source::Vector(*n));
            }
            Operand::List(registers, ..) => {
                named.extend(registers.iter().map(|&n| Source::Vector(n)));
            }
            Operand::Address(address) => {
                named.push(Source::General(address.base));
                named.extend(address.index.and_then(|index| index.0).map(Source::General));
                named.push(Source::Memory);
            }
            _ => {}
        }
    }
    let (mut general, mut vectors) = (GENERAL, VECTORS);
    let mut out: Vec<(Source, usize)> = Vec::new();
    for source in named {
        if out.iter().any(|(known, _)| *known == source) {
            continue;
        }
        let (next, len) = match source {
            Source::Memory => {
                out.push((source, 0));
                continue;
            }
            Source::General(_) => (&mut general, 8),
            Source::Vector(_) => (&mut vectors, 16),
        };
        out.push((source, *next));
        *next += len;
    }
    out
}

/// The program: a batch is read, each case is executed by its block, and the batch is written.
fn assemble(forms: &[Form<'_>], folder: &Path) -> Result<std::path::PathBuf, String> {
    let len = BATCH * CASE;
    let mut text = format!(
        ".arch armv8.2-a+sha3\n.text\n.global _start\n_start:\n\
         ldr x1, =buffer\nldr x2, ={len}\n\
         1: mov x0, 0\nmov x8, 63\nsvc 0\ncmp x0, 0\nb.le 9f\n\
         add x1, x1, x0\nsubs x2, x2, x0\nb.ne 1b\n\
         ldr x0, =buffer\n\
         2: ldr x1, [x0, {BLOCK}]\nldr x2, =blocks\nldr x1, [x2, x1, lsl 3]\nbr x1\n\
         after: add x0, x0, {CASE}\nldr x1, =buffer+{len}\ncmp x0, x1\nb.ne 2b\n\
         ldr x1, =buffer\nldr x2, ={len}\n\
         3: mov x0, 1\nmov x8, 64\nsvc 0\ncmp x0, 0\nb.le 9f\n\
         add x1, x1, x0\nsubs x2, x2, x0\nb.ne 3b\nb _start\n\
         9: mov x0, 0\nmov x8, 93\nsvc 0\n.ltorg\n"
    );
    for form in forms {
        form.block(&mut text).map_err(|e| e.to_string())?;
    }
    text.push_str(".data\n.balign 8\nblocks:\n");
    for form in forms {
        let _ = writeln!(text, ".quad block{}", form.block);
    }
    let _ = writeln!(text, ".bss\n.balign 64\nbuffer: .skip {len}");
    let (source, program) = (folder.join("forms.s"), folder.join("forms"));
    std::fs::write(&source, text).map_err(|e| e.to_string())?;
    let status = Command::new(COMPILER)
        .args(["-nostdlib", "-static", "-o"])
        .args([&program, &source])
        .status()
        .map_err(|e| format!("{COMPILER}: {e}"))?;
    if status.success() {
        Ok(program)
    } else {
        Err("the program of forms does not assemble".into())
    }
}

impl Form<'_> {
    fn uses(&self, n: usize) -> bool {
        self.sources
            .iter()
            .any(|(source, _)| *source == Source::General(n))
    }

    /// Whether the register is a pointer into the memory of the case, before and afterwards.
    fn is_pointer(&self, n: usize) -> (bool, bool) {
        match address(self.instruction) {
            Some(address) if address.base == n => (true, address.update != Update::Never),
            _ => (false, false),
        }
    }

    /// Whether a load overwrites the base register.
    fn overwrites(&self, n: usize) -> bool {
        let is_load = self.instruction.mnemonic.starts_with("ld");
        let named = |operand: &Operand| matches!(operand, Operand::General(Some(m), _) if *m == n);
        is_load && self.instruction.operands.iter().any(named)
    }

    fn block(&self, text: &mut String) -> core::fmt::Result {
        let mut free = (9..28).filter(|&n| !self.uses(n));
        let (case, temporary) = (free.next().unwrap_or(28), free.next().unwrap_or(28));
        let (p, t) = (format!("x{case}"), format!("x{temporary}"));
        writeln!(
            text,
            "block{}: mov {p}, x0\nldr {t}, [{p}, {FLAGS}]\nmsr nzcv, {t}",
            self.block
        )?;
        for &(source, at) in &self.sources {
            match source {
                Source::Vector(n) => writeln!(text, "ldr q{n}, [{p}, {at}]")?,
                Source::General(n) => {
                    let x = if n == SP { t.clone() } else { format!("x{n}") };
                    writeln!(text, "ldr {x}, [{p}, {at}]")?;
                    if self.is_pointer(n).0 {
                        writeln!(text, "add {x}, {x}, {p}")?;
                    }
                    if n == SP {
                        writeln!(text, "mov sp, {t}")?;
                    }
                }
                Source::Memory => {}
            }
        }
        writeln!(text, ".inst {:#x}", self.instruction.word)?;
        for &(source, at) in &self.sources {
            match source {
                Source::Vector(n) => writeln!(text, "str q{n}, [{p}, {at}]")?,
                Source::General(n) => {
                    let x = if n == SP { t.clone() } else { format!("x{n}") };
                    if n == SP {
                        writeln!(text, "mov {t}, sp")?;
                    }
                    if self.is_pointer(n).1 {
                        writeln!(text, "sub {x}, {x}, {p}")?;
                    }
                    writeln!(text, "str {x}, [{p}, {at}]")?;
                }
                Source::Memory => {}
            }
        }
        writeln!(
            text,
            "mrs {t}, nzcv\nstr {t}, [{p}, {FLAGS}]\nmov x0, {p}\nb after"
        )
    }

    /// Offset of the base register from the case, so that the access is at its beginning, and
    /// the value of the index register.
    fn base(&self) -> (i64, u64) {
        let Some(address) = address(self.instruction) else {
            return (0, 0);
        };
        let (mut offset, mut value) = (address.offset, 3);
        if let Some((_, modifier, by)) = address.index {
            // Bits above the index must not count.
            let width = match modifier {
                Modifier::Extend(32, true) => {
                    value = 0x5555_5555_ffff_fffd;
                    32
                }
                Modifier::Extend(32, false) => {
                    value = 0x5555_5555_0000_0003;
                    32
                }
                _ => 64,
            };
            let bits = modified(&constant_bits(value, width), modifier, by, 64);
            let index = bits.ok().and_then(|bits| as_number(&bits)).unwrap_or(0);
            offset = offset.wrapping_add(index as i64);
        }
        if address.update == Update::After {
            offset = 0;
        }
        (offset.wrapping_neg(), value)
    }

    fn one(&self, image: &Image, program: &Path) -> Result<(), String> {
        let index = address(self.instruction).and_then(|address| address.index?.0);
        let (base, index_value) = self.base();
        let mut random = Random(0x1234_5678_9abc_def1);
        let fresh = || -> Vec<u8> {
            let mut case = vec![0; CASE];
            let mut put = |at: usize, value: u64| {
                case[at..at + 8].copy_from_slice(&value.to_le_bytes());
            };
            for &(source, at) in &self.sources {
                match source {
                    Source::General(n) if self.is_pointer(n).0 => put(at, base as u64),
                    Source::General(n) if index == Some(n) => put(at, index_value),
                    Source::General(_) => put(at, random.number()),
                    Source::Vector(_) => (0..2).for_each(|n| put(at + 8 * n, random.number())),
                    Source::Memory => (0..8).for_each(|n| put(8 * n, random.number())),
                }
            }
            put(FLAGS, random.next() & 0xf000_0000);
            put(BLOCK, self.block as u64);
            case
        };
        let places = self.sources.iter().map(|&(source, at)| {
            let len = match source {
                Source::General(_) => 8,
                Source::Vector(_) => 16,
                Source::Memory => MEMORY,
            };
            (source, at, len)
        });
        let is_vector = |(source, _): &(Source, usize)| matches!(source, Source::Vector(_));
        let mut emulator = Command::new(EMULATOR);
        emulator.args(["-cpu", "max"]).arg(program);
        on_cases(
            &places.collect::<Vec<_>>(),
            1 + usize::from(self.sources.iter().any(is_vector)),
            fresh,
            |set, case| self.terms(image, set, case),
            |input| on_cpu(&mut emulator, CASE, input),
            (FLAGS, FLAG_BITS),
        )
    }

    /// The terms of the instruction on unknown sources.
    fn terms<'a>(
        &self,
        image: &'a Image,
        constants: &[Source],
        case: &[u8],
    ) -> Result<Terms<'a>, String> {
        let mut machine = Machine::new(image);
        let mut inputs = Vec::new();
        let region = machine.memory.region("memory", MEMORY, true, 64);
        let index = address(self.instruction).and_then(|address| address.index?.0);
        let base = self.base().0;
        for &(source, at) in &self.sources {
            let is_constant = constants.contains(&source)
                || matches!(source, Source::General(n) if index == Some(n));
            let mut value = |at: usize| {
                if is_constant {
                    let value = u64::from_le_bytes(core::array::from_fn(|n| case[at + n]));
                    return constant_bits(value, 64);
                }
                let word = machine.terms.input(64, 0, u64::MAX.into(), false);
                inputs.push((at, word));
                machine.terms.bits(word)
            };
            match source {
                Source::General(n) if self.is_pointer(n).0 => {
                    machine.general[n] = Value::Pointer(region, base);
                }
                Source::General(n) => {
                    let bits = value(at);
                    machine.general[n] = Value::Bits(bits);
                }
                Source::Vector(n) => {
                    let bits = [value(at), value(at + 8)].concat();
                    machine.set_vector_register(n, bits);
                }
                Source::Memory => {
                    let bits: Vec<Lit> = (0..8).flat_map(|n| value(8 * n)).collect();
                    machine.memory.set_bits(region, 0, &bits);
                }
            }
        }
        let flags = machine.any_flags();
        machine
            .step_aarch64(self.instruction)
            .map_err(|stop| format!("{stop:?}"))?;
        let mut outputs = Vec::new();
        for &(source, at) in &self.sources {
            let bits = match source {
                Source::General(n) => match &machine.general[n] {
                    Value::Bits(bits) => bits.clone(),
                    Value::Pointer(_, offset) if self.is_pointer(n).1 => {
                        constant_bits(*offset as u64, 64)
                    }
                    // As it was, unless it is what a load writes.
                    Value::Pointer(..) if !self.overwrites(n) => continue,
                    Value::Pointer(..) => return Err("a pointer".into()),
                },
                Source::Vector(n) => machine.vectors[n][..128].to_vec(),
                Source::Memory => machine.memory.region_bits(region).to_vec(),
            };
            let words = bits.chunks(64).enumerate();
            outputs.extend(words.map(|(n, bits)| (at + 8 * n, bits.to_vec())));
        }
        Ok(Terms {
            machine,
            inputs,
            flags,
            outputs,
        })
    }
}
