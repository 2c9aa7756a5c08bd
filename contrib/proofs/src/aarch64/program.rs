//! The program that is checked for AArch64: this one, built for it.

use std::path::Path;
use std::process::Command;

pub(crate) const TRIPLE: &str = "aarch64-unknown-linux-gnu";
pub(crate) const COMPILER: &str = "aarch64-linux-gnu-gcc";
pub(super) const EMULATOR: &str = "qemu-aarch64";

/// Why AArch64 cannot be checked here.
pub(crate) fn lacking() -> Option<String> {
    let lacks = |tool: &&str| {
        let output = Command::new(tool).arg("--version").output();
        !output.is_ok_and(|output| output.status.success())
    };
    if let Some(tool) = [COMPILER, EMULATOR].into_iter().find(lacks) {
        return Some(format!("{tool} is not installed"));
    }
    let library = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TRIPLE])
        .output();
    let installed = library.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        !folder.is_empty() && Path::new(&folder).is_dir()
    });
    (!installed).then(|| format!("the target {TRIPLE} is not installed"))
}

/// The program, run by the emulator.
pub(crate) fn emulator(program: &Path) -> Command {
    let mut command = Command::new(EMULATOR);
    command.args(["-L", "/usr/aarch64-linux-gnu"]).arg(program);
    command
}
