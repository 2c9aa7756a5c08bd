//! One instruction for x86-64 as a form that is compared with this CPU.

use std::sync::LazyLock;

use iced_x86::{
    Decoder, DecoderOptions, Encoder, FlowControl, Instruction, InstructionInfoFactory,
    Mnemonic as M, OpKind, Register,
};

use crate::features::Features;
use crate::machine::Machine;
use crate::memory::Step;
use crate::semantics::{Base, Cpu, Form, Named, Source, Tested};

/// The stack pointer is the address of the case.
const FRAME: &str = "\
.text
.global _start
_start: lea buffer(%rip), %rsi
mov $LEN, %edx
1: xor %edi, %edi
xor %eax, %eax
syscall
test %rax, %rax
jle 9f
add %rax, %rsi
sub %rax, %rdx
jnz 1b
lea buffer(%rip), %rsp
2: mov BLOCK(%rsp), %rax
lea blocks(%rip), %rcx
jmp *(%rcx,%rax,8)
after: add $CASE, %rsp
lea buffer+LEN(%rip), %rax
cmp %rax, %rsp
jb 2b
lea buffer(%rip), %rsi
mov $LEN, %edx
3: mov $1, %edi
mov $1, %eax
syscall
test %rax, %rax
jle 9f
add %rax, %rsi
sub %rax, %rdx
jnz 3b
jmp _start
9: mov $60, %eax
xor %edi, %edi
syscall
";

#[rustfmt::skip]
const GENERAL: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
];

/// The widest vectors of this CPU: their bytes, how they are loaded, and the names of the registers.
/// What an instruction does to bits above them is not compared.
fn vectors() -> (usize, &'static str, &'static str) {
    if here().has("avx512f") {
        (64, "vmovdqu64", "zmm")
    } else if here().has("avx2") {
        (32, "vmovdqu", "ymm")
    } else {
        (16, "movdqu", "xmm")
    }
}

/// What this CPU has.
fn here() -> &'static Features {
    static HERE: LazyLock<Features> = LazyLock::new(Features::here);
    &HERE
}

/// Operands that are registers.
fn registers(i: &Instruction) -> impl Iterator<Item = (u32, Register)> {
    let named = (0..i.op_count()).filter(|&n| i.op_kind(n) == OpKind::Register);
    named.map(|n| (n, i.op_register(n)))
}

fn has_memory(i: &Instruction) -> bool {
    (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory) && i.mnemonic() != M::Lea
}

impl Tested for Instruction {
    const CPU: Cpu = Cpu {
        compiler: "cc",
        emulator: &[],
        frame: FRAME,
        vector: || vectors().0,
        flags: [6, 0, 7, 11],
        always: 2,
    };

    fn decoded(code: &[u8], at: u64) -> Option<Self> {
        let i = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
        (!i.is_invalid()).then_some(i)
    }

    /// Returns the name of the instruction, and whether it works on pointers or control flow: such
    /// instructions are not compared.
    fn name(&self) -> (String, bool) {
        use M::{Div, Endbr64, Nop, Pop, Push, Vzeroall, Vzeroupper};
        let others = [Push, Pop, Nop, Endbr64, Div, Vzeroall, Vzeroupper];
        let is_control = self.flow_control() != FlowControl::Next;
        let name = format!("{:?}", self.mnemonic());
        (name, is_control || others.contains(&self.mnemonic()))
    }

    fn form(&self) -> String {
        // The immediate of a sum and the like is an operand; that of a shift or a shuffle is not.
        use M::{Add, And, Cmp, Imul, Mov, Or, Sub, Test, Xor};
        let sums = [Add, Sub, Cmp, And, Or, Xor, Test, Mov, Imul];
        let is_sum = sums.contains(&self.mnemonic());
        let is_immediate = |n: &u32| {
            use OpKind as K;
            !matches!(self.op_kind(*n), K::Register | K::Memory | K::NearBranch64)
        };
        let immediates = (0..self.op_count()).filter(|n| !is_sum && is_immediate(n));
        let immediates: Vec<u64> = immediates.map(|n| self.immediate(n)).collect();
        let has_mask = self.op_mask() != Register::None;
        let modes = (has_mask, self.zeroing_masking(), self.is_broadcast());
        format!("{:?} {immediates:?} {modes:?}", self.code())
    }

    /// `[base]` is in the place of the memory operand, and there is no stack pointer.
    fn canonical(mut self) -> Result<Self, String> {
        let named: Vec<_> = registers(&self).collect();
        for &(n, register) in &named {
            if register.full_register() == Register::RSP {
                self.set_op_register(n, Register::RBX);
            }
        }
        let is_stack = self.is_ip_rel_memory_operand() || self.memory_base() == Register::RSP;
        if self.mnemonic() == M::Lea && is_stack {
            return Err("an address of the stack or of the program".into());
        }
        if has_memory(&self) {
            let mut free = [Register::R15, Register::R14, Register::R13, Register::R12].into_iter();
            let free = free.find(|free| named.iter().all(|(_, r)| r.full_register() != *free));
            self.set_memory_base(free.ok_or("no free register")?);
            self.set_memory_index(Register::None);
            self.set_memory_displacement64(0);
            self.set_memory_displ_size(0);
        }
        Ok(self)
    }

    fn named(&self) -> Named {
        let mut factory = InstructionInfoFactory::new();
        let used = factory.info(self).used_registers().iter();
        let source = |register: Register| match register.number() {
            n if register.is_k() => Some(Source::Mask(n)),
            n if register.is_vector_register() => Some(Source::Vector(n)),
            _ if register.is_gpr() => Some(Source::General(register.full_register().number())),
            _ => None,
        };
        let mut sources: Vec<_> = used.filter_map(|used| source(used.register())).collect();
        let base = has_memory(self).then(|| Base {
            register: self.memory_base().number(),
            ..Base::default()
        });
        sources.extend(base.map(|_| Source::Memory));
        let vectors = registers(self).filter(|(_, register)| register.is_vector_register());
        Named {
            sources,
            base,
            index: None,
            is_narrow: self.name().0.starts_with("Vpmadd52"),
            elements: vectors.map(|(_, r)| r.size() / 8).max().unwrap_or(1),
        }
    }

    fn block(form: &Form<Self>) -> Result<String, String> {
        let (mut before, mut after) = (String::new(), String::from("pushfq\npop FLAGS(%rsp)\n"));
        for &(source, at) in &form.sources {
            let (load, name) = match source {
                Source::General(n) => ("mov", GENERAL[n].to_owned()),
                Source::Mask(n) => ("kmovq", format!("k{n}")),
                Source::Vector(n) => {
                    let (_, load, register) = vectors();
                    (load, format!("{register}{n}"))
                }
                Source::Memory => continue,
            };
            before += &format!("{load} {at}(%rsp), %{name}\n");
            after += &format!("{load} %{name}, {at}(%rsp)\n");
            if form.base(source).is_some() {
                before += &format!("add %rsp, %{name}\n");
            }
        }
        let mut encoder = Encoder::new(64);
        let encoded = encoder.encode(&form.instruction, 0);
        encoded.map_err(|e| e.to_string())?;
        let code: Vec<_> = encoder.take_buffer().iter().map(u8::to_string).collect();
        let code = code.join(", ");
        Ok(format!(
            "{before}push FLAGS(%rsp)\npopfq\n.byte {code}\n{after}jmp after\n"
        ))
    }

    fn execute(&self, machine: &mut Machine<'_>) -> Step<u64> {
        machine.step(self)
    }

    fn is_here(&self) -> bool {
        here().lacks(self).is_none()
    }
}
