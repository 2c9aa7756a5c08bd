//! Commands of the steps.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::root;

/// The reason why a step ended without passing.
pub(super) enum Stop {
    Failed(String),
    NotRun(String),
}

pub(super) type Outcome = Result<(), Stop>;

/// A command line. Words are separated by blanks; there is no quoting.
pub(super) struct Line(Command, String);

/// A command at the root of the repository, without standard input.
pub(super) fn line(text: impl AsRef<str>) -> Line {
    let text = text.as_ref();
    let mut words = text.split_whitespace();
    let mut command = Command::new(words.next().expect("a command"));
    command.args(words).current_dir(root()).stdin(Stdio::null());
    Line(command, text.into())
}

/// Runs a command that must succeed.
pub(super) fn run(text: impl AsRef<str>) -> Outcome {
    line(text).run()
}

impl Line {
    pub(super) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(super) fn envs(mut self, values: &[(String, String)]) -> Self {
        self.0
            .envs(values.iter().map(|(name, value)| (name, value)));
        self
    }

    pub(super) fn dir(mut self, folder: &str) -> Self {
        self.0.current_dir(root().join(folder));
        self
    }

    pub(super) fn run(self) -> Outcome {
        let text = self.1.clone();
        match self.status()? {
            0 => Ok(()),
            status => failed(format!("status {status} of `{text}`")),
        }
    }

    /// The exit status; -1 after a signal.
    pub(super) fn status(mut self) -> Result<i32, Stop> {
        match self.0.status() {
            Ok(status) => Ok(status.code().unwrap_or(-1)),
            Err(error) => failed(format!("`{}`: {error}", self.1)),
        }
    }

    /// Whether the command succeeds; its output is dropped.
    pub(super) fn succeeds(mut self) -> bool {
        self.0.stdout(Stdio::null()).stderr(Stdio::null());
        self.0.status().is_ok_and(|status| status.success())
    }

    /// Runs the command, prints its output at the end, and returns status and output.
    pub(super) fn output(self) -> Result<(i32, String), Stop> {
        let (status, text) = self.captured()?;
        print!("{text}");
        Ok((status, text))
    }

    /// Runs the command and returns status and output, standard output first.
    pub(super) fn captured(mut self) -> Result<(i32, String), Stop> {
        match self.0.output() {
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&text).into_owned();
                Ok((output.status.code().unwrap_or(-1), text))
            }
            Err(error) => failed(format!("`{}`: {error}", self.1)),
        }
    }
}

pub(super) fn failed<T>(reason: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Failed(reason.into()))
}

pub(super) fn not_run<T>(reason: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::NotRun(reason.into()))
}

/// Whether `program` is in a folder of `PATH`.
pub(super) fn has(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

/// Installs the Debian packages of `(program or file, package)` that are missing. Whether all
/// of them are there afterwards.
pub(super) fn install(wanted: &[(&str, &str)]) -> bool {
    let there = |name: &str| {
        if name.starts_with('/') {
            Path::new(name).exists()
        } else {
            has(name)
        }
    };
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|(name, _)| !there(name))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return true;
    }
    println!("installing {}", missing.join(" "));
    apt("update");
    // Some of several packages are better than none.
    for package in missing {
        apt(&format!("install -y --no-install-recommends {package}"));
    }
    wanted.iter().all(|(name, _)| there(name))
}

/// Compiler, emulator and C headers for AArch64 Linux, for [`install`].
pub(super) const ARM_TOOLS: [(&str, &str); 3] = [
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("qemu-aarch64", "qemu-user"),
    (
        "/usr/aarch64-linux-gnu/include/stdio.h",
        "libc6-dev-arm64-cross",
    ),
];

/// Runs apt-get, through sudo without root's rights. What is missing afterwards is checked by
/// the caller.
pub(super) fn apt(arguments: &str) {
    use std::os::unix::fs::MetadataExt;
    let root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let sudo = if root { "" } else { "sudo --non-interactive " };
    let command = line(format!("{sudo}apt-get -qq {arguments}"));
    let _ = command.env("DEBIAN_FRONTEND", "noninteractive").status();
}

/// Makes `targets` usable with the compiler in use.
pub(super) fn install_targets(targets: &[&str]) -> bool {
    let text = format!("tools/install-targets.sh {}", targets.join(" "));
    line(text).status().is_ok_and(|status| status == 0)
}

/// Installs a toolchain with rustup if it is missing.
pub(super) fn install_toolchain(name: &str, components: &[&str]) -> Outcome {
    let add = components
        .iter()
        .map(|component| format!(" --component {component}"));
    let installed = line(format!("cargo +{name} --version")).succeeds()
        && components.iter().all(|component| {
            // `rust-src` is no program.
            *component == "rust-src"
                || line(format!("cargo +{name} {component} --version")).succeeds()
        });
    let text = format!(
        "rustup toolchain install {name} --profile minimal --no-self-update{}",
        add.collect::<String>()
    );
    if installed || line(text).succeeds() {
        Ok(())
    } else {
        not_run(format!("rustup cannot install {name}"))
    }
}

/// A value of the workspace's `Cargo.toml`: the first line `key = "value"`.
pub(super) fn setting(key: &str) -> String {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(" = ")?;
        (name == key).then(|| value.trim_matches('"').to_owned())
    });
    value.unwrap_or_else(|| panic!("Cargo.toml has no {key}"))
}
