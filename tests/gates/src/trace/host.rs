//! Traces of a program on this machine, step by step.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, OpAccess, Register, UsedMemory,
};
use libc::user_regs_struct as Registers;
use mldsa_gates::ptrace_step::{Event, step};
use nix::sys::personality::{self, Persona};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::record::Record;

/// Records sent at once.
const CHUNK: usize = 1 << 12;
/// No instruction is longer.
const LONGEST: usize = 15;

/// Switches address randomisation off for processes that this thread and those it
/// starts from now on will start.
pub(crate) fn fix_addresses() -> Result<(), String> {
    personality::get()
        .and_then(|now| personality::set(now | Persona::ADDR_NO_RANDOMIZE))
        .map(drop)
        .map_err(|e| format!("address randomisation cannot be switched off: {e}"))
}

/// Starts `program` with `arguments`, and returns its trace as it comes. The
/// functions that start at `skipped` run unseen.
pub(super) fn start(
    program: &Path,
    arguments: &[&str],
    skipped: &BTreeSet<u64>,
) -> (Receiver<Vec<Record>>, JoinHandle<Result<(), String>>) {
    let (sender, records) = sync_channel(16);
    let mut command = Command::new(program);
    command.args(arguments);
    let mut stepper = Stepper {
        program: program.display().to_string(),
        mapped: 0..0,
        skipped: skipped.clone(),
        known: HashMap::new(),
        info: InstructionInfoFactory::new(),
        called: false,
        records: Vec::new(),
        sender,
    };
    let done = std::thread::spawn(move || {
        step(&mut command, |pid, event| stepper.each(pid, event)).map_err(|e| e.to_string())
    });
    (records, done)
}

struct Stepper {
    program: String,
    /// Its path.
    mapped: core::ops::Range<u64>,
    skipped: BTreeSet<u64>,
    known: HashMap<u64, (Record, Vec<UsedMemory>)>,
    info: InstructionInfoFactory,
    /// Whether the last instruction was a call.
    called: bool,
    records: Vec<Record>,
    sender: SyncSender<Vec<Record>>,
}

impl Stepper {
    fn each(&mut self, pid: Pid, event: Event) -> io::Result<()> {
        match event {
            Event::Begin => self.mapped = mapping(pid, &self.program)?,
            Event::Instruction => {}
            Event::End => {
                self.send();
                return Ok(());
            }
        }
        let mut now = ptrace::getregs(pid)?;
        if self.called && self.skipped.contains(&self.in_file(now.rip)) {
            let back = ptrace::read(pid, now.rsp as *mut _)?.cast_unsigned();
            run_to(pid, back)?;
            now = ptrace::getregs(pid)?;
        }
        self.instruction(pid, &now)
    }

    /// Emits the instruction that comes next, and its accesses.
    fn instruction(&mut self, pid: Pid, now: &Registers) -> io::Result<()> {
        if !self.known.contains_key(&now.rip) {
            let decoded = self.decode(pid, now.rip)?;
            self.known.insert(now.rip, decoded);
        }
        let Some((record, memory)) = self.known.get(&now.rip) else {
            return Ok(());
        };
        self.called = record.returns_to().is_some();
        self.records.push(*record);
        for place in memory {
            let address = place.virtual_address(0, |register, _, _| value(register, now));
            let address = address.ok_or_else(|| {
                io::Error::other(format!("an address that cannot be seen, at {:#x}", now.rip))
            })?;
            let store = !matches!(place.access(), OpAccess::Read | OpAccess::CondRead);
            self.records.push(Record::access(address, store));
        }
        if self.records.len() >= CHUNK {
            self.send();
        }
        Ok(())
    }

    fn decode(&mut self, pid: Pid, address: u64) -> io::Result<(Record, Vec<UsedMemory>)> {
        let mut bytes = Vec::new();
        while bytes.len() < LONGEST {
            let place = address + bytes.len() as u64;
            let Ok(word) = ptrace::read(pid, place as *mut _) else {
                break; // The end of a mapping.
            };
            bytes.extend(word.to_le_bytes());
        }
        let mut decoder = Decoder::with_ip(64, &bytes, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        let call = matches!(
            instruction.flow_control(),
            FlowControl::Call | FlowControl::IndirectCall
        );
        let record = Record::instruction(self.in_file(address), instruction.len(), call);
        let memory = self.info.info(&instruction).used_memory();
        let memory = memory
            .iter()
            .filter(|m| m.access() != OpAccess::NoMemAccess);
        Ok((record, memory.copied().collect()))
    }

    /// The address as the program's file has it; others stay.
    fn in_file(&self, address: u64) -> u64 {
        if self.mapped.contains(&address) {
            address - self.mapped.start
        } else {
            address
        }
    }

    fn send(&mut self) {
        // The comparison may have ended.
        let _ = self.sender.send(core::mem::take(&mut self.records));
    }
}

/// Lets the process run until it comes to `address`.
fn run_to(pid: Pid, address: u64) -> io::Result<()> {
    const BREAKPOINT: u64 = 0xcc;
    let place = address as *mut _;
    let code = ptrace::read(pid, place)?;
    let planted = code.cast_unsigned() & !0xff | BREAKPOINT;
    ptrace::write(pid, place, planted.cast_signed())?;
    ptrace::cont(pid, None)?;
    match waitpid(pid, None)? {
        WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
        status => return Err(io::Error::other(format!("no return: {status:?}"))),
    }
    ptrace::write(pid, place, code)?;
    let mut now = ptrace::getregs(pid)?;
    now.rip = address;
    ptrace::setregs(pid, now)?;
    Ok(())
}

/// The address at which the file of the process's program is mapped.
pub(crate) fn mapping(pid: Pid, program: &str) -> io::Result<core::ops::Range<u64>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let mut ranges = maps
        .lines()
        .filter(|line| line.ends_with(program))
        .map(|line| {
            let (range, _) = line.split_once(' ')?;
            let (from, to) = range.split_once('-')?;
            Some(u64::from_str_radix(from, 16).ok()?..u64::from_str_radix(to, 16).ok()?)
        });
    let first = ranges.next().flatten();
    let last = ranges.next_back().flatten();
    first
        .zip(last)
        .map(|(first, last)| first.start..last.end)
        .ok_or_else(|| io::Error::other("the program is not mapped"))
}

/// General registers and the bases of segments; a vector of addresses is not seen.
pub(crate) fn value(register: Register, now: &Registers) -> Option<u64> {
    let full = match register.full_register() {
        Register::RAX => now.rax,
        Register::RBX => now.rbx,
        Register::RCX => now.rcx,
        Register::RDX => now.rdx,
        Register::RSI => now.rsi,
        Register::RDI => now.rdi,
        Register::RBP => now.rbp,
        Register::RSP => now.rsp,
        Register::R8 => now.r8,
        Register::R9 => now.r9,
        Register::R10 => now.r10,
        Register::R11 => now.r11,
        Register::R12 => now.r12,
        Register::R13 => now.r13,
        Register::R14 => now.r14,
        Register::R15 => now.r15,
        Register::FS => now.fs_base,
        Register::GS => now.gs_base,
        Register::CS | Register::DS | Register::ES | Register::SS => 0,
        _ => return None,
    };
    // Addresses are made of whole or of lower halves of registers.
    Some(if register.size() == 4 && register.is_gpr32() {
        full & 0xffff_ffff
    } else {
        full
    })
}
