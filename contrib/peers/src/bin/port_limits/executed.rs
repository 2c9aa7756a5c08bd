//! Instructions that a process executes, by execution port.

use std::collections::HashMap;
use std::io;
use std::process::Command;

use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind};
use mldsa_gates::ptrace_step::{Event, step};
use nix::sys::ptrace;
use nix::unistd::Pid;

/// Instructions of one call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Executed {
    pub(super) instructions: u64,
    /// Operations on 512-bit registers: on the first port only, on the second only, on either.
    pub(super) ports: [u64; 3],
}

impl Executed {
    /// Minimum number of cycles.
    pub(super) fn cycles(&self) -> f64 {
        let [first, second, either] = self.ports;
        first.max(second).max((first + second + either).div_ceil(2)) as f64
    }
}

/// Steps through `command` as [`benches::instructions::count`] does.
pub(super) fn executed(command: &mut Command) -> io::Result<Vec<Executed>> {
    let (mut parts, mut part) = (Vec::new(), Executed::default());
    let mut known = HashMap::new();
    step(command, |pid, event| {
        match event {
            Event::Begin => part = Executed::default(),
            Event::Instruction => {
                let address = ptrace::getregs(pid)?.rip;
                let [port, count] = match known.get(&address) {
                    Some(&known) => known,
                    None => {
                        let count = operations(&decode(pid, address)?);
                        known.insert(address, count);
                        count
                    }
                };
                part.instructions += 1;
                part.ports[port] += count as u64;
            }
            Event::End => parts.push(part),
        }
        Ok(())
    })?;
    Ok(parts)
}

fn decode(pid: Pid, address: u64) -> io::Result<Instruction> {
    let mut bytes = Vec::new();
    // No instruction is longer than 15 bytes.
    for place in [address, address + 8] {
        let Ok(word) = ptrace::read(pid, place as *mut _) else {
            break; // End of the mapping.
        };
        bytes.extend(word.to_le_bytes());
    }
    Ok(Decoder::with_ip(64, &bytes, address, DecoderOptions::NONE).decode())
}

/// Index in [`Executed::ports`] and number of operations, by the published tables of Intel's cores
/// from Skylake-X to Emerald Rapids (uops.info), where ports 0 and 1 are joined for 512 bits. Loads,
/// stores and copies of whole registers take none.
fn operations(instruction: &Instruction) -> [usize; 2] {
    const FIRST: usize = 0;
    const SECOND: usize = 1;
    const EITHER: usize = 2;
    let wide = (0..instruction.op_count()).any(|n| instruction.op_register(n).is_zmm());
    let from_memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    let name = format!("{:?}", instruction.mnemonic());
    let is = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
    if !wide || is(&["Vmov"]) || from_memory && is(&["Vpbroadcast", "Vbroadcast"]) {
        [EITHER, 0]
    } else if is(&["Vpmulld"]) {
        [FIRST, 2]
    } else if is(&[
        "Vpmul", "Vpmadd", "Vpsll", "Vpsrl", "Vpsra", "Vprol", "Vpror", "Vpsh",
    ]) && !is(&["Vpshuf"])
    {
        [FIRST, 1]
    } else if is(&["Vpcompress", "Vpexpand", "Vpmov"]) {
        [SECOND, 2]
    } else if is(&[
        "Vperm",
        "Vpshuf",
        "Vshuf",
        "Vpunpck",
        "Vpack",
        "Valign",
        "Vpalign",
        "Vinsert",
        "Vextract",
        "Vpcmp",
        "Vptest",
        "Vpbroadcast",
        "Vbroadcast",
    ]) {
        [SECOND, 1]
    } else {
        [EITHER, 1]
    }
}
