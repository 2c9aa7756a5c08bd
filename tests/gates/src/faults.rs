//! Single faults in the machine code of signing with self-verification. Whatever one of them
//! releases is valid for the caller's message and made of the masks of an attempt of the key.
//!
//! The program `signed` runs once for each form of signing with a breakpoint at every instruction,
//! which gives those that it executes. Then it runs again for each fault: one of its instructions is
//! skipped, or has other flags, another result or other memory, once. Instructions are chosen at
//! random with a fixed seed, each with the same probability however often it is executed, and so
//! is one of its first executions. Instructions of the C library are left out.
//!
//! Not a fault of signing: finished bytes that are changed behind their verification, so a
//! difference is admitted where the fault wrote into the output; and a message or digest that is
//! changed in the memory of the caller. Not detected: a batch that gives a signature under the number
//! of another of its messages, after a fault in that number.

mod code;
mod judge;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use iced_x86::{OpAccess, Register};
use libc::user_regs_struct as Registers;
use mldsa_core::{Backend, Set, with_set};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use self::code::{Code, Site, TRAP};
use self::judge::judge;
use crate::trace::host::{fix_addresses, mapping, value};
use crate::{Verdict, build, unknown};

const FORMS: [&str; 5] = ["unprepared", "prepared", "prepared-in", "digest", "batch"];
const LOWMEM: [&str; 4] = ["minimal", "cache-w0", "balanced", "cache-matrix"];
/// Ways in which an instruction fails.
const KINDS: [&str; 9] = [
    "skipped",
    "flags",
    "result zero",
    "result ones",
    "result bit",
    "memory zero",
    "memory ones",
    "memory bit",
    "memory 1 KiB zero",
];
/// Most executions of an instruction before its fault.
const LATEST: u64 = 64;

#[derive(Clone, Copy, Debug)]
struct Fault {
    address: u64,
    execution: u64,
    kind: usize,
    seed: u64,
}

/// What a run has released for each message, and the bytes that its fault wrote into the output.
#[derive(Default)]
struct Released {
    /// With the address at which it was released.
    signatures: Vec<Option<(u64, Vec<u8>)>>,
    is_made: bool,
    /// Whether the fault changed what is to be signed.
    is_input: bool,
    written: core::ops::Range<u64>,
}

pub(crate) fn run(arguments: &[String]) -> Verdict {
    if let Some(argument) = unknown(arguments, &["--all"], |name| name.parse::<usize>().is_ok()) {
        return Verdict::Failed(format!("no option `{argument}`"));
    }
    let count = arguments
        .iter()
        .find_map(|name| name.parse().ok())
        .unwrap_or(100);
    gate(arguments.iter().any(|name| name == "--all"), count).into()
}

fn gate(all: bool, count: usize) -> Result<(), String> {
    fix_addresses()?;
    let program = build("signed", "release", &[])?;
    let program = fs::canonicalize(program).map_err(|e| e.to_string())?;
    let mut cases = Vec::new();
    let backends = Backend::available().map(Backend::name);
    let backends: Vec<_> = backends
        .into_iter()
        .flat_map(|name| FORMS.map(|form| (name, form)))
        .collect();
    for (n, (backend, form)) in backends
        .into_iter()
        .chain(LOWMEM.map(|form| ("portable", form)))
        .enumerate()
    {
        for (m, set) in Set::ALL.into_iter().enumerate() {
            if all || n % 3 == m {
                cases.push((set, backend, form));
            }
        }
    }
    for (set, backend, form) in cases {
        let run = Run {
            program: &program,
            set,
            backend,
            form,
            is_checked: true,
        };
        let wrong = run.faults(count)?;
        if let Some(first) = wrong.first() {
            return Err(format!("{} wrong releases, such as {first}", wrong.len()));
        }
    }
    // Without self-verification some of the faults have to show.
    let run = Run {
        program: &program,
        set: Set::MlDsa44,
        backend: "portable",
        form: "prepared",
        is_checked: false,
    };
    match run.faults(count)?.is_empty() {
        true => Err("the negative control released nothing wrong".into()),
        false => Ok(()),
    }
}

struct Run<'a> {
    program: &'a Path,
    set: Set,
    backend: &'static str,
    form: &'static str,
    is_checked: bool,
}

impl Run<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command
            .args([self.set.name(), self.form])
            .env("MLDSA_BACKEND", self.backend);
        if !self.is_checked {
            command.arg("unchecked");
        }
        command
    }

    /// Makes faults, and describes those after which something wrong was released.
    fn faults(&self, count: usize) -> Result<Vec<String>, String> {
        let name = format!("{} {} {}", self.set, self.backend, self.form);
        let text = |error: io::Error| format!("{name}: {error}");
        let sites = self.sites().map_err(text)?;
        let addresses: Vec<_> = sites.keys().copied().collect();
        let good = self.release(&sites, None).map_err(text)?;
        self.judge(&good)
            .map_err(|reason| format!("{name} without a fault: {reason}"))?;
        let (mut withheld, mut others, mut wrong) = (0, 0, Vec::new());
        let mut random = Random(1);
        for n in 0..count {
            let kind = n % KINDS.len();
            let address = loop {
                let address = addresses[random.below(addresses.len() as u64) as usize];
                let site = &sites[&address];
                if match kind {
                    0 | 1 => true,
                    2..=4 => site.result.is_some(),
                    _ => site.memory.is_some(),
                } {
                    break address;
                }
            };
            let mut fault = Fault {
                address,
                execution: random.below(LATEST),
                kind,
                seed: random.next(),
            };
            let released = loop {
                let released = self.release(&sites, Some(fault)).map_err(text)?;
                // The instruction is executed less often.
                match fault.execution {
                    execution if execution > 0 && !released.is_made => fault.execution /= 4,
                    _ => break released,
                }
            };
            let kept = |of: &Released| of.signatures.iter().flatten().count();
            let is_complete = kept(&released) == kept(&good);
            withheld += usize::from(!is_complete);
            if !released.is_input && !released.is_changed_afterwards(&good) {
                others += usize::from(is_complete);
                if let Err(reason) = self.judge(&released) {
                    wrong.push(format!(
                        "{name}: {reason} after {} at {address:#x}, execution {}",
                        KINDS[kind], fault.execution
                    ));
                }
            }
        }
        println!(
            "{name}: {} instructions, {count} faults: {withheld} withheld, {others} other releases, {} wrong",
            sites.len(),
            wrong.len()
        );
        Ok(wrong)
    }

    /// Runs the program with a breakpoint at every instruction, each of which is removed when it is
    /// reached, and returns those that signing executes.
    fn sites(&self) -> io::Result<BTreeMap<u64, Site>> {
        let mut sites = BTreeMap::new();
        let (_child, pid) = self.start()?;
        let mapped = mapping(pid, &self.program.display().to_string())?;
        let code = Code::read(self.program, mapped.start)?;
        let memory = memory(pid)?;
        let mut is_inside = false;
        loop {
            match waitpid(pid, None)? {
                WaitStatus::Stopped(_, Signal::SIGSTOP) => {
                    is_inside = !is_inside;
                    for (start, bytes) in &code.parts {
                        let mut planted = bytes.clone();
                        let all = code.sites.range(start..&(start + bytes.len() as u64));
                        let new =
                            all.filter(|(address, _)| is_inside && !sites.contains_key(*address));
                        new.for_each(|(address, _)| planted[(address - start) as usize] = TRAP);
                        memory.write_all_at(&planted, *start)?;
                    }
                }
                WaitStatus::Stopped(_, Signal::SIGTRAP) => {
                    let mut now = ptrace::getregs(pid)?;
                    now.rip -= 1;
                    ptrace::setregs(pid, now)?;
                    let unknown = || io::Error::other("a breakpoint that was not planted");
                    let (site, byte) = code.at(now.rip).ok_or_else(unknown)?;
                    memory.write_all_at(&[byte], now.rip)?;
                    sites.insert(now.rip, site);
                }
                WaitStatus::Exited(..) => return Ok(sites),
                status => return Err(io::Error::other(format!("{status:?}"))),
            }
            ptrace::cont(pid, None)?;
        }
    }

    /// Starts the program, which waits before its first part.
    fn start(&self) -> io::Result<(Child, Pid)> {
        let mut command = self.command();
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::null()).spawn()?;
        let pid = Pid::from_raw(child.id().cast_signed());
        ptrace::seize(pid, ptrace::Options::PTRACE_O_EXITKILL)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&[1])?;
        }
        Ok((child, pid))
    }

    /// Runs the program with a fault.
    fn release(&self, sites: &BTreeMap<u64, Site>, fault: Option<Fault>) -> io::Result<Released> {
        let (mut child, pid) = self.start()?;
        let written = match fault {
            Some(fault) => trap(pid, &sites[&fault.address], fault)?,
            None => None,
        };
        if fault.is_none() || written.is_some() {
            wait_for_end(pid)?;
        }
        let is_made = written.is_some();
        let mut text = String::new();
        if let Some(mut output) = child.stdout.take() {
            output.read_to_string(&mut text)?;
        }
        let (inputs, lines): (Vec<_>, Vec<_>) =
            text.lines().partition(|line| line.starts_with("input"));
        let written = written.unwrap_or(0..0);
        let is_input = inputs.iter().any(|line| {
            let mut numbers = line
                .split(' ')
                .skip(1)
                .map(|number| number.parse().unwrap_or(0));
            let (start, len) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            written.start < start + len && start < written.end
        });
        let signatures = lines.iter().map(|line| {
            let (address, bytes) = line.split_once(' ')?;
            Some((address.parse().ok()?, hex::decode(bytes).ok()?))
        });
        Ok(Released {
            signatures: signatures.collect(),
            is_made,
            is_input,
            written,
        })
    }

    fn judge(&self, released: &Released) -> Result<(), String> {
        with_set!(self.set, P => judge::<P>(self.form, &released.signatures))
    }
}

impl Released {
    /// Returns whether it differs from `good` only where the fault wrote.
    fn is_changed_afterwards(&self, good: &Self) -> bool {
        let mut pairs = self.signatures.iter().zip(&good.signatures);
        pairs.all(|pair| match pair {
            (Some((address, found)), Some((_, wanted))) => {
                let bytes = (*address..).zip(found.iter().zip(wanted));
                let mut changed = bytes.filter(|(_, (found, wanted))| found != wanted);
                changed.all(|(at, _)| self.written.contains(&at))
            }
            _ => true,
        })
    }
}

fn memory(pid: Pid) -> io::Result<fs::File> {
    let path = format!("/proc/{pid}/mem");
    fs::OpenOptions::new().read(true).write(true).open(path)
}

/// Stops at the chosen execution of an instruction and makes the fault. Returns the memory that it
/// wrote, or nothing if the program ends before.
fn trap(pid: Pid, site: &Site, fault: Fault) -> io::Result<Option<core::ops::Range<u64>>> {
    let place = fault.address as *mut _;
    let mut is_inside = false;
    let mut executions = 0;
    let mut code = 0;
    loop {
        match waitpid(pid, None)? {
            WaitStatus::Stopped(_, Signal::SIGSTOP) => {
                is_inside = !is_inside;
                match is_inside {
                    true => {
                        code = ptrace::read(pid, place)?;
                        plant(pid, place, code)?;
                    }
                    false => ptrace::write(pid, place, code)?,
                }
            }
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {
                let mut now = ptrace::getregs(pid)?;
                now.rip = fault.address;
                ptrace::setregs(pid, now)?;
                ptrace::write(pid, place, code)?;
                if executions == fault.execution {
                    return inject(pid, site, fault, now).map(Some);
                }
                executions += 1;
                ptrace::step(pid, None)?;
                waitpid(pid, None)?;
                plant(pid, place, code)?;
            }
            WaitStatus::Exited(_, 0) => return Ok(None),
            status => return Err(io::Error::other(format!("before a fault: {status:?}"))),
        }
        ptrace::cont(pid, None)?;
    }
}

fn plant(pid: Pid, place: *mut libc::c_void, code: libc::c_long) -> io::Result<()> {
    let planted = code.cast_unsigned() & !0xff | 0xcc;
    Ok(ptrace::write(pid, place, planted.cast_signed())?)
}

fn inject(
    pid: Pid,
    site: &Site,
    fault: Fault,
    mut now: Registers,
) -> io::Result<core::ops::Range<u64>> {
    let address = site
        .memory
        .and_then(|memory| memory.virtual_address(0, |register, _, _| value(register, &now)));
    // Results and what is stored come after the instruction, what is loaded before it.
    let is_store = site
        .memory
        .is_some_and(|memory| !matches!(memory.access(), OpAccess::Read | OpAccess::CondRead));
    if matches!(fault.kind, 2..=4) || fault.kind >= 5 && is_store {
        ptrace::step(pid, None)?;
        if !matches!(waitpid(pid, None)?, WaitStatus::Stopped(_, Signal::SIGTRAP)) {
            return Ok(0..0);
        }
        now = ptrace::getregs(pid)?;
    }
    let mut written = 0..0;
    match fault.kind {
        0 => now.rip += site.len,
        // CF, ZF, SF and OF.
        1 => now.eflags ^= [1, 0x40, 0x80, 0x800, 0x8c1][fault.seed as usize % 5],
        2..=4 => {
            let result = site.result.and_then(|result| register(&mut now, result));
            if let Some(result) = result {
                *result = [0, u64::MAX, *result ^ 1 << (fault.seed % 64)][fault.kind - 2];
            }
        }
        _ => {
            if let (Some(address), Some(memory)) = (address, site.memory) {
                written = damage(pid, address, memory.memory_size().size(), fault)?;
            }
        }
    }
    ptrace::setregs(pid, now)?;
    ptrace::cont(pid, None)?;
    Ok(written)
}

/// Changes memory; what is not mapped stays.
fn damage(pid: Pid, address: u64, size: usize, fault: Fault) -> io::Result<core::ops::Range<u64>> {
    let file = memory(pid)?;
    let mut bytes = vec![0; if fault.kind == 8 { 1024 } else { size }];
    let read = file.read_at(&mut bytes, address).unwrap_or(0);
    bytes.truncate(read);
    match fault.kind {
        6 => bytes.fill(0xff),
        7 if read > 0 => bytes[fault.seed as usize % read] ^= 1 << (fault.seed >> 32 & 7),
        _ => bytes.fill(0),
    }
    let _ = file.write_at(&bytes, address);
    Ok(address..address + read as u64)
}

fn register(now: &mut Registers, register: Register) -> Option<&mut u64> {
    Some(match register {
        Register::RAX => &mut now.rax,
        Register::RBX => &mut now.rbx,
        Register::RCX => &mut now.rcx,
        Register::RDX => &mut now.rdx,
        Register::RSI => &mut now.rsi,
        Register::RDI => &mut now.rdi,
        Register::RBP => &mut now.rbp,
        Register::R8 => &mut now.r8,
        Register::R9 => &mut now.r9,
        Register::R10 => &mut now.r10,
        Register::R11 => &mut now.r11,
        Register::R12 => &mut now.r12,
        Register::R13 => &mut now.r13,
        Register::R14 => &mut now.r14,
        Register::R15 => &mut now.r15,
        _ => return None,
    })
}

/// Lets the process run to its end, whatever it is.
fn wait_for_end(pid: Pid) -> io::Result<()> {
    loop {
        match waitpid(pid, None)? {
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => return Ok(()),
            WaitStatus::Stopped(_, Signal::SIGSTOP) => ptrace::cont(pid, None)?,
            WaitStatus::Stopped(_, signal) => ptrace::cont(pid, signal)?,
            _ => ptrace::cont(pid, None)?,
        }
    }
}

/// A reproducible source of words (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound.max(1)
    }
}
