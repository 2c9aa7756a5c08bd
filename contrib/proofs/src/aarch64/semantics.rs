//! One instruction for AArch64 as a form that is compared with an emulator of the CPU.

use super::SP;
use super::decode::{Address, Instruction, Modifier, Operand, Update};
use super::general::modified;
use super::program::{COMPILER, EMULATOR};
use crate::machine::Machine;
use crate::memory::{Step, as_number, constant_bits};
use crate::semantics::{Base, Cpu, Form, Named, Source, Tested};

/// Register 0 is the address of the case.
const FRAME: &str = "\
.arch armv8.2-a+sha3
.text
.global _start
_start: ldr x1, =buffer
ldr x2, =LEN
1: mov x0, 0
mov x8, 63
svc 0
cmp x0, 0
b.le 9f
add x1, x1, x0
subs x2, x2, x0
b.ne 1b
ldr x0, =buffer
2: ldr x1, [x0, BLOCK]
ldr x2, =blocks
ldr x1, [x2, x1, lsl 3]
br x1
after: add x0, x0, CASE
ldr x1, =buffer+LEN
cmp x0, x1
b.ne 2b
ldr x1, =buffer
ldr x2, =LEN
3: mov x0, 1
mov x8, 64
svc 0
cmp x0, 0
b.le 9f
add x1, x1, x0
subs x2, x2, x0
b.ne 3b
b _start
9: mov x0, 0
mov x8, 93
svc 0
.ltorg
";

fn address(i: &Instruction) -> Option<&Address> {
    i.operands.iter().find_map(|operand| match operand {
        Operand::Address(address) => Some(address),
        _ => None,
    })
}

impl Tested for Instruction {
    const CPU: Cpu = Cpu {
        compiler: COMPILER,
        emulator: &[EMULATOR, "-cpu", "max"],
        frame: FRAME,
        vector: || 16,
        flags: [30, 29, 31, 28],
        always: 0,
    };

    fn decoded(code: &[u8], at: u64) -> Option<Self> {
        Self::decode(u32::from_le_bytes(*code.first_chunk()?), at)
    }

    /// Not compared are addresses of the program, besides control flow.
    fn name(&self) -> (String, bool) {
        let name = &self.mnemonic[..];
        let is_target = |operand: &Operand| matches!(operand, Operand::Target(_));
        let is_control = matches!(name, "br" | "blr" | "ret" | "nop" | "bti")
            || self.operands.iter().any(is_target) && !name.starts_with("ld");
        (name.to_owned(), is_control)
    }

    fn form(&self) -> String {
        self.form()
    }

    fn canonical(self) -> Result<Self, String> {
        Ok(self)
    }

    fn named(&self) -> Named {
        let mut sources = Vec::new();
        for operand in &self.operands {
            match operand {
                Operand::General(Some(n), _) => sources.push(Source::General(*n)),
                Operand::Scalar(n, _) | Operand::Vector(n, ..) | Operand::Element(n, ..) => {
                    sources.push(Source::Vector(*n));
                }
                Operand::List(registers, ..) => {
                    sources.extend(registers.iter().map(|&n| Source::Vector(n)));
                }
                Operand::Address(address) => {
                    sources.push(Source::General(address.base));
                    let index = address.index.and_then(|index| index.0);
                    sources.extend(index.map(Source::General));
                    sources.push(Source::Memory);
                }
                _ => {}
            }
        }
        let is_vector = |source: &Source| matches!(source, Source::Vector(_));
        let mut named = Named {
            elements: 1 + usize::from(sources.iter().any(is_vector)),
            sources,
            ..Named::default()
        };
        if let Some(address) = address(self) {
            let (mut offset, mut value) = (address.offset, 3);
            if let Some((n, modifier, by)) = address.index {
                // Bits above the index must not count.
                let width = match modifier {
                    Modifier::Extend(32, signed) => {
                        value = [0x5555_5555_0000_0003, 0x5555_5555_ffff_fffd][usize::from(signed)];
                        32
                    }
                    _ => 64,
                };
                let bits = modified(&constant_bits(value, width), modifier, by, 64);
                let index = bits.ok().and_then(|bits| as_number(&bits)).unwrap_or(0);
                offset = offset.wrapping_add(index as i64);
                named.index = n.map(|n| (n, value));
            }
            if address.update == Update::After {
                offset = 0;
            }
            let is_base = |operand: &Operand| matches!(operand, Operand::General(Some(n), _) if *n == address.base);
            let is_load = self.mnemonic.starts_with("ld");
            named.base = Some(Base {
                register: address.base,
                offset: offset.wrapping_neg(),
                is_updated: address.update != Update::Never,
                is_overwritten: is_load && self.operands.iter().any(is_base),
            });
        }
        named
    }

    fn block(form: &Form<Self>) -> Result<String, String> {
        let is_named = |n: &usize| form.named.sources.contains(&Source::General(*n));
        let mut free = (9..28).filter(|n| !is_named(n));
        let (case, temporary) = (free.next().unwrap_or(28), free.next().unwrap_or(28));
        let (p, t) = (format!("x{case}"), format!("x{temporary}"));
        let mut before = format!("mov {p}, x0\nldr {t}, [{p}, FLAGS]\nmsr nzcv, {t}\n");
        let mut after = String::new();
        for &(source, at) in &form.sources {
            let x = match source {
                Source::General(SP) => t.clone(),
                Source::General(n) => format!("x{n}"),
                Source::Vector(n) => format!("q{n}"),
                _ => continue,
            };
            before += &format!("ldr {x}, [{p}, {at}]\n");
            if form.base(source).is_some() {
                before += &format!("add {x}, {x}, {p}\n");
            }
            if source == Source::General(SP) {
                before += &format!("mov sp, {t}\n");
                after += &format!("mov {t}, sp\n");
            }
            if form.base(source).is_some_and(|base| base.is_updated) {
                after += &format!("sub {x}, {x}, {p}\n");
            }
            after += &format!("str {x}, [{p}, {at}]\n");
        }
        let word = form.instruction.word;
        Ok(format!(
            "{before}.inst {word:#x}\n{after}\
             mrs {t}, nzcv\nstr {t}, [{p}, FLAGS]\nmov x0, {p}\nb after\n"
        ))
    }

    fn execute(&self, machine: &mut Machine<'_>) -> Step<u64> {
        machine.step_aarch64(self)
    }

    fn is_here(&self) -> bool {
        true
    }
}
