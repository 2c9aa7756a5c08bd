//! Traces of a program on an emulated device, from a plugin of QEMU.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::record::Record;
use crate::{cross, installed, missing, root, succeed, target};

/// A target triple and how QEMU runs it.
pub(super) struct Device {
    pub(super) triple: &'static str,
    pub(super) emulator: &'static str,
    machine: &'static [&'static str],
    /// As in `tests/gates/device/src/main.rs`.
    input_at: u64,
}

pub(super) const DEVICES: [Device; 3] = [
    Device {
        triple: "thumbv6m-none-eabi",
        emulator: "qemu-system-arm",
        machine: &["-M", "mps2-an385", "-cpu", "cortex-m3"],
        input_at: 0x2010_0000,
    },
    Device {
        triple: "thumbv7em-none-eabi",
        emulator: "qemu-system-arm",
        machine: &["-M", "mps2-an386", "-cpu", "cortex-m4"],
        input_at: 0x2010_0000,
    },
    Device {
        triple: "riscv32imac-unknown-none-elf",
        emulator: "qemu-system-riscv32",
        machine: &["-M", "virt", "-bios", "none"],
        input_at: 0x8010_0000,
    },
];

/// `emulator`, ended after the time after which a run counts as hung: 600 s, or
/// `MLDSA_TEST_HANG_SECONDS`.
pub(super) fn limited(emulator: &str) -> Command {
    let seconds = std::env::var("MLDSA_TEST_HANG_SECONDS");
    let mut command = Command::new("timeout");
    command.args([seconds.as_deref().unwrap_or("600"), emulator]);
    command
}

pub(super) fn folder() -> PathBuf {
    target().join("trace")
}

/// Compiles the plugin.
pub(super) fn plugin() -> Result<PathBuf, String> {
    fs::create_dir_all(folder()).map_err(|e| e.to_string())?;
    let plugin = folder().join("plugin.so");
    let source = root().join("tests/gates/src/trace/plugin.c");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O2", "-Wall", "-o"]);
    succeed(cc.arg(&plugin).arg(source))?;
    Ok(plugin)
}

/// The output of the program when it is done.
pub(super) type Printed = JoinHandle<Result<String, String>>;

impl Device {
    /// Why it cannot be run here.
    pub(super) fn missing(&self) -> Option<String> {
        missing(self.emulator)
            .or_else(|| missing("cc"))
            .or_else(|| installed(self.triple).err())
    }

    /// Builds the program at an `opt-level`, with the sets wanted.
    pub(super) fn build(&self, level: &str, sets: &[&str]) -> Result<PathBuf, String> {
        let target = folder().join(format!("opt-{level}"));
        let mut cargo = cross(self.triple, &target);
        cargo
            .args(["--features", &sets.join(",")])
            .current_dir(root().join("tests/gates/device"))
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level)
            .env_remove("RUSTFLAGS");
        succeed(&mut cargo)?;
        Ok(target.join(self.triple).join("release/trace-device"))
    }

    /// Starts the program on `input`, a file, and returns its trace as it comes,
    /// and what it prints.
    pub(super) fn start(
        &self,
        plugin: &Path,
        program: &Path,
        input: &Path,
    ) -> Result<(Receiver<Vec<Record>>, Printed), String> {
        let loader = format!(
            "loader,file={},addr={:#x},force-raw=on",
            input.display(),
            self.input_at
        );
        let mut emulator = limited(self.emulator);
        emulator
            .args(self.machine)
            .args(["-display", "none", "-monitor", "none", "-serial", "none"])
            .args(["-semihosting-config", "enable=on,target=native"])
            .args(["-device", &loader, "-plugin"])
            .arg(plugin)
            .arg("-kernel")
            .arg(program);
        follow(&mut emulator, None)
    }
}

/// Starts an emulator with the plugin and returns the trace as it comes, and what the
/// program prints as an error. With `boundary`, the address of a function, only what
/// is between its first and its second call.
pub(super) fn follow(
    emulator: &mut Command,
    boundary: Option<u64>,
) -> Result<(Receiver<Vec<Record>>, Printed), String> {
    let mut child = emulator
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{}: {e}", emulator.get_program().display()))?;
    let (sender, records) = sync_channel(16);
    let printed = std::thread::spawn(move || {
        let (mut trace, mut text) = (child.stdout.take(), String::new());
        if let Some(trace) = &mut trace {
            forward(trace, &sender, boundary).map_err(|e| e.to_string())?;
        }
        drop(sender);
        if let Some(mut stderr) = child.stderr.take() {
            stderr
                .read_to_string(&mut text)
                .map_err(|e| e.to_string())?;
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(text.trim().to_owned()),
            Ok(status) => Err(format!("the emulator: {status} {text}")),
            Err(error) => Err(error.to_string()),
        }
    });
    Ok((records, printed))
}

fn forward(
    trace: &mut impl Read,
    sender: &SyncSender<Vec<Record>>,
    boundary: Option<u64>,
) -> std::io::Result<()> {
    let mut inside = boundary.is_none();
    loop {
        let mut bytes = Vec::new();
        trace.by_ref().take(1 << 18).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let words = bytes.as_chunks::<8>().0.iter();
        let records = words
            .map(|&word| Record(u64::from_le_bytes(word)))
            .filter(|record| {
                let crossed = record.is_instruction() && Some(record.address()) == boundary;
                inside ^= crossed;
                inside
            })
            .collect();
        // Without a receiver the emulator is read to its end.
        let _ = sender.send(records);
    }
}
