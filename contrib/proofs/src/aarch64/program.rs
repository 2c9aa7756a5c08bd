//! The program that is checked for AArch64: this one, built for it.

use std::path::{Path, PathBuf};
use std::process::Command;

const TRIPLE: &str = "aarch64-unknown-linux-gnu";
pub(super) const COMPILER: &str = "aarch64-linux-gnu-gcc";
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

/// Builds the program with the release profile.
pub(crate) fn build() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/aarch64");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--locked", "--quiet", "--release"])
        .args(["--target", TRIPLE, "--target-dir"])
        .arg(&folder)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", COMPILER)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        return Err(format!("the program for {TRIPLE} does not build"));
    }
    Ok(folder.join(TRIPLE).join("release/mldsa-proofs"))
}
