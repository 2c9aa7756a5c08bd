//! A program that executes one instruction on cases from its standard input.

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Mnemonic, OpKind, Register};

pub(crate) const BASE: u64 = 0x40_0000;
pub(crate) const BATCH: usize = 64;
/// Bytes of a case: memory, flags, general registers, masks, vectors.
pub(crate) const MEMORY: usize = 0;
pub(crate) const FLAGS: usize = 64;
pub(crate) const GENERAL: usize = 72;
pub(crate) const MASKS: usize = GENERAL + 128;
pub(crate) const VECTORS: usize = 320;
/// The last 64 bytes are the stack of the next case.
pub(crate) const CASE: usize = VECTORS + 32 * 64 + 64;
/// The same without vectors.
pub(crate) const SHORT_CASE: usize = VECTORS + 64;

/// The instruction with other addresses: `[base]` in the place of its memory operand, and no
/// stack pointer.
pub(crate) fn canonical(i: &Instruction) -> Result<(Instruction, Option<Register>), String> {
    let mut c = *i;
    let has_memory =
        (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory) && i.mnemonic() != Mnemonic::Lea;
    let named: Vec<Register> = (0..i.op_count())
        .filter(|&n| i.op_kind(n) == OpKind::Register)
        .map(|n| i.op_register(n).full_register())
        .collect();
    let free = [Register::R15, Register::R14, Register::R13, Register::R12]
        .into_iter()
        .find(|r| !named.contains(r));
    let free = free.ok_or("no free register")?;
    for n in 0..i.op_count() {
        if i.op_kind(n) == OpKind::Register && i.op_register(n).full_register() == Register::RSP {
            c.set_op_register(n, Register::RBX);
        }
    }
    if i.mnemonic() == Mnemonic::Lea {
        if i.is_ip_rel_memory_operand() || i.memory_base() == Register::RSP {
            return Err("an address of the stack or of the program".into());
        }
        return Ok((c, None));
    }
    if !has_memory {
        return Ok((c, None));
    }
    c.set_memory_base(free);
    c.set_memory_index(Register::None);
    c.set_memory_displacement64(0);
    c.set_memory_displ_size(0);
    Ok((c, Some(free)))
}

/// Code that loads a case, executes the instruction, and stores the case.
pub(crate) fn program(
    i: &Instruction,
    base: Option<Register>,
    case: usize,
) -> Result<Vec<u8>, String> {
    let mut code = Vec::new();
    let mut add = |i: Instruction| -> Result<usize, String> {
        let mut encoder = Encoder::new(64);
        let len = encoder
            .encode(&i, BASE + 120 + code.len() as u64)
            .map_err(|e| e.to_string())?;
        code.extend(encoder.take_buffer());
        Ok(len)
    };
    let text = |e: iced_x86::IcedError| e.to_string();
    let buffer = BASE + 0x1_0000;
    let general: [Register; 16] = core::array::from_fn(|n| Register::RAX + n as u32);
    let at = |offset: usize| MemoryOperand::with_base_displ(Register::RSP, offset as i64);
    let load = |register, value: u64| Instruction::with2(Code::Mov_r64_imm64, register, value);
    let len = (BATCH * case) as u64;
    // mov rsi, buffer; mov rdx, len
    let mut prologue = vec![0x48, 0xbe];
    prologue.extend(buffer.to_le_bytes());
    prologue.extend([0x48, 0xba]);
    prologue.extend(len.to_le_bytes());
    // 1: xor edi, edi; xor eax, eax; syscall; test rax, rax; jle exit
    prologue.extend([
        0x31, 0xff, 0x31, 0xc0, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7e, 0x0a,
    ]);
    // add rsi, rax; sub rdx, rax; jnz 1b; jmp over; exit: mov eax, 60; xor edi, edi; syscall
    prologue.extend([
        0x48, 0x01, 0xc6, 0x48, 0x29, 0xc2, 0x75, 0xed, 0xeb, 0x09, 0xb8, 0x3c, 0, 0, 0, 0x31,
        0xff, 0x0f, 0x05,
    ]);
    add(load(Register::RSP, buffer).map_err(text)?)?;
    for n in 0..if case == CASE { 32 } else { 0u32 } {
        let register = Register::ZMM0 + n;
        add(Instruction::with2(
            Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
            register,
            at(VECTORS + 64 * n as usize),
        )
        .map_err(text)?)?;
    }
    for n in 0..if case == CASE { 8 } else { 0u32 } {
        add(Instruction::with2(
            Code::VEX_Kmovq_kr_km64,
            Register::K0 + n,
            at(MASKS + 8 * n as usize),
        )
        .map_err(text)?)?;
    }
    // Flags by way of the memory below the case.
    add(Instruction::with1(Code::Push_rm64, at(FLAGS)).map_err(text)?)?;
    add(Instruction::with(Code::Popfq))?;
    for (n, &register) in general.iter().enumerate() {
        if register != Register::RSP {
            add(
                Instruction::with2(Code::Mov_r64_rm64, register, at(GENERAL + 8 * n))
                    .map_err(text)?,
            )?;
        }
    }
    if let Some(base) = base {
        add(Instruction::with2(Code::Lea_r64_m, base, at(MEMORY)).map_err(text)?)?;
    }
    add(*i)?;
    for (n, &register) in general.iter().enumerate() {
        if register != Register::RSP {
            add(
                Instruction::with2(Code::Mov_rm64_r64, at(GENERAL + 8 * n), register)
                    .map_err(text)?,
            )?;
        }
    }
    add(Instruction::with(Code::Pushfq))?;
    add(Instruction::with1(
        Code::Pop_rm64,
        MemoryOperand::with_base_displ(Register::RSP, FLAGS as i64),
    )
    .map_err(text)?)?;
    for n in 0..if case == CASE { 32 } else { 0u32 } {
        add(Instruction::with2(
            Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
            at(VECTORS + 64 * n as usize),
            Register::ZMM0 + n,
        )
        .map_err(text)?)?;
    }
    for n in 0..if case == CASE { 8 } else { 0u32 } {
        add(Instruction::with2(
            Code::VEX_Kmovq_m64_kr,
            at(MASKS + 8 * n as usize),
            Register::K0 + n,
        )
        .map_err(text)?)?;
    }
    add(Instruction::with2(Code::Lea_r64_m, Register::RSP, at(case)).map_err(text)?)?;
    add(load(Register::RAX, buffer + len).map_err(text)?)?;
    add(Instruction::with2(Code::Cmp_r64_rm64, Register::RSP, Register::RAX).map_err(text)?)?;
    let body = code;
    let mut all = prologue;
    let start = all.len();
    all.extend(body);
    // jb body, after the stack pointer is set (10 bytes); then write the batch and start again.
    let back = start as i64 + 10 - (all.len() as i64 + 6);
    all.extend([0x0f, 0x82]);
    all.extend((back as i32).to_le_bytes());
    all.extend([0x48, 0xbe]);
    all.extend(buffer.to_le_bytes());
    all.extend([0x48, 0xba]);
    all.extend(len.to_le_bytes());
    // 1: mov edi, 1; mov eax, 1; syscall; test rax, rax; jle 2; add rsi, rax; sub rdx, rax; jnz 1b; 2: jmp start
    all.extend([
        0xbf, 1, 0, 0, 0, 0xb8, 1, 0, 0, 0, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7e, 0x08, 0x48, 0x01,
        0xc6, 0x48, 0x29, 0xc2, 0x75, 0xe7,
    ]);
    let back = -(all.len() as i64 + 5);
    all.push(0xe9);
    all.extend((back as i32).to_le_bytes());
    // A static program of one segment.
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    elf.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    elf.extend((BASE + 120).to_le_bytes());
    elf.extend(64u64.to_le_bytes());
    elf.extend(0u64.to_le_bytes());
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    elf.extend([1, 0, 0, 0, 7, 0, 0, 0]);
    elf.extend(0u64.to_le_bytes());
    elf.extend(BASE.to_le_bytes());
    elf.extend(BASE.to_le_bytes());
    elf.extend((120 + all.len() as u64).to_le_bytes());
    elf.extend((0x1_0000 + len + 0x1000).to_le_bytes());
    elf.extend(0x1000u64.to_le_bytes());
    elf.extend(all);
    Ok(elf)
}
