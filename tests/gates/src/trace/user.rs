//! Traces of the host's program, built for another Linux, in QEMU's user mode.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Receiver;

use super::cuts::{ARM, Cuts, HOSTS};
use super::device::{Printed, folder, follow, limited};
use super::record::Record;
use crate::{cross, installed, missing, succeed};

/// A target triple, how its program is linked and how QEMU runs it.
pub(super) struct User {
    pub(super) triple: &'static str,
    emulator: &'static str,
    linker: &'static str,
    /// Arguments with which the linker compiles for the target.
    compiles: &'static [&'static str],
    /// Backends of the target, the one with the most features last.
    pub(super) backends: &'static [&'static str],
    pub(super) cuts: &'static [Cuts],
}

pub(super) const USERS: [User; 2] = [
    User {
        triple: "aarch64-unknown-linux-gnu",
        emulator: "qemu-aarch64",
        linker: "aarch64-linux-gnu-gcc",
        compiles: &[],
        backends: &["portable", "neon", "neon-sha3"],
        cuts: &[HOSTS, ARM],
    },
    User {
        triple: "i686-unknown-linux-gnu",
        emulator: "qemu-i386",
        linker: "cc",
        compiles: &["-m32"],
        backends: &["portable"],
        cuts: &[HOSTS],
    },
];

/// The function of the program at which what counts begins and ends.
pub(super) const BOUNDARY: &str = "traced::boundary";

impl User {
    /// Why it cannot be run here.
    pub(super) fn missing(&self) -> Option<String> {
        missing(self.emulator)
            .or_else(|| missing("cc"))
            .or_else(|| self.unlinkable())
            .or_else(|| installed(self.triple).err())
    }

    /// Why the linker finds no C library.
    fn unlinkable(&self) -> Option<String> {
        let mut linker = Command::new(self.linker);
        linker.args(self.compiles).arg("-print-file-name=libc.a");
        let found = linker.output().is_ok_and(|output| {
            let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Path::new(&path).is_absolute()
        });
        (!found).then(|| format!("{} has no static C library", self.linker))
    }

    /// Builds the program, at fixed addresses and with the C library in it.
    pub(super) fn build(&self) -> Result<PathBuf, String> {
        let target = folder().join("user");
        let linker = self.triple.to_uppercase().replace('-', "_");
        let mut cargo = cross(self.triple, &target);
        cargo
            .args(["-p", "mldsa-gates", "--no-default-features"])
            .args(["--bin", "traced"])
            .env("CARGO_PROFILE_RELEASE_DEBUG", "1")
            .env(format!("CARGO_TARGET_{linker}_LINKER"), self.linker)
            .env(
                "RUSTFLAGS",
                "-Crelocation-model=static -Ctarget-feature=+crt-static",
            );
        succeed(&mut cargo)?;
        Ok(target.join(self.triple).join("release/traced"))
    }

    /// Starts `operation` of `place`, `SET/BACKEND`, on `input`, a file, and returns the
    /// trace between the two calls of `boundary` as it comes.
    pub(super) fn start(
        &self,
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
        let mut emulator = limited(self.emulator);
        emulator
            .args(["-cpu", cpu, "-plugin"])
            .arg(plugin)
            .arg(program)
            .args(["marked", operation, place])
            .arg(input);
        follow(&mut emulator, Some(boundary))
    }
}
