//! Traces of the host's program, built for AArch64 Linux, in QEMU's user mode.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use super::device::{Printed, folder, follow, limited};
use super::record::Record;
use crate::{cross, installed, missing, succeed};

pub(super) const TRIPLE: &str = "aarch64-unknown-linux-gnu";
const EMULATOR: &str = "qemu-aarch64";
const LINKER: &str = "aarch64-linux-gnu-gcc";

/// Backends of that target, the one with the most features last.
pub(super) const BACKENDS: [&str; 3] = ["portable", "neon", "neon-sha3"];

/// The function of the program at which what counts begins and ends.
pub(super) const BOUNDARY: &str = "traced::boundary";

/// Why it cannot be run here.
pub(super) fn lacking() -> Option<String> {
    missing(EMULATOR)
        .or_else(|| missing(LINKER))
        .or_else(|| missing("cc"))
        .or_else(|| installed(TRIPLE).err())
}

/// Builds the program, at fixed addresses and with the C library in it.
pub(super) fn build() -> Result<PathBuf, String> {
    let target = folder().join("arm");
    let mut cargo = cross(TRIPLE, &target);
    cargo
        .args(["-p", "mldsa-gates", "--no-default-features"])
        .args(["--bin", "traced"])
        .env("CARGO_PROFILE_RELEASE_DEBUG", "1")
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env(
            "RUSTFLAGS",
            "-Crelocation-model=static -Ctarget-feature=+crt-static",
        );
    succeed(&mut cargo)?;
    Ok(target.join(TRIPLE).join("release/traced"))
}

/// Starts `operation` of `place`, `SET/BACKEND`, on `input`, a file, and returns the
/// trace between the two calls of `boundary` as it comes.
pub(super) fn start(
    plugin: &Path,
    program: &Path,
    boundary: u64,
    [operation, place]: [&str; 2],
    input: &Path,
) -> Result<(Receiver<Vec<Record>>, Printed), String> {
    // Without the SHA-3 instructions the form of Keccak is the core's: N1 has the one that
    // others with a table entry share.
    let cpu = if place.ends_with("/neon") {
        "neoverse-n1"
    } else {
        "max"
    };
    let mut emulator = limited(EMULATOR);
    emulator
        .args(["-cpu", cpu, "-plugin"])
        .arg(plugin)
        .arg(program)
        .args(["marked", operation, place])
        .arg(input);
    follow(&mut emulator, Some(boundary))
}
