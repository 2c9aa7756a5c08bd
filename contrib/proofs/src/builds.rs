//! Programs that are checked besides this one: it is built again, with the release profile.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::aarch64::{COMPILER, TRIPLE};

/// What a build is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// As a user has it, for AArch64.
    Aarch64,
    /// With the calls by which the library declassifies, for this architecture or AArch64.
    Marked { aarch64: bool },
}

impl Build {
    /// The program.
    ///
    /// # Errors
    /// What cargo says is on the standard error.
    pub(crate) fn program(self) -> Result<PathBuf, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let is_aarch64 = self != Self::Marked { aarch64: false };
        let is_marked = self != Self::Aarch64;
        let mut folder = root.join(if is_marked {
            "target/marked"
        } else {
            "target/aarch64"
        });
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .current_dir(root)
            .args(["build", "--locked", "--quiet", "--release"]);
        command.arg("--target-dir").arg(&folder);
        if is_marked {
            command.env("RUSTFLAGS", "--cfg mldsa_ct_check");
        }
        if is_aarch64 {
            command.args(["--target", TRIPLE]);
            command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", COMPILER);
            folder.push(TRIPLE);
        }
        match command.status() {
            Ok(status) if status.success() => Ok(folder.join("release/mldsa-proofs")),
            Ok(status) => Err(format!("cargo build: {status}")),
            Err(error) => Err(format!("cargo: {error}")),
        }
    }
}
