//! One command per gate: `cargo run -p mldsa-gates -- GATE`. Every gate runs its
//! negative controls too, and fails if one is not detected.

use core::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

mod counts;
mod ct;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod faults;
mod stack;
mod trace;

/// The verdict of a gate. A tool that is missing is never a pass.
enum Verdict {
    Passed,
    Failed(String),
    NotRun(String),
}

impl Verdict {
    /// Of complaints, with advice for them, and of reasons why parts were not run.
    fn of(complaints: &[String], advice: &str, absent: &[String]) -> Self {
        if !complaints.is_empty() {
            Self::Failed(format!("\n  {}{advice}", complaints.join("\n  ")))
        } else if !absent.is_empty() {
            Self::NotRun(absent.join("; "))
        } else {
            Self::Passed
        }
    }
}

impl From<Result<(), String>> for Verdict {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Passed)
    }
}

/// The exit status if nothing failed and something was not run.
const NOT_RUN: u8 = 77;

type Gate = fn(&[String]) -> Verdict;

const GATES: [(&str, Gate, &str); 6] = [
    ("ct", ct::run, "constant time under Valgrind"),
    (
        "wiping",
        wiping,
        "dead stack and heap hold no secrets [LEVEL ...]",
    ),
    ("stack", stack::run, "stack and heap table [--bless]"),
    (
        "counts",
        counts::run,
        "instruction counts under Callgrind [--bless]",
    ),
    (
        "trace",
        trace::run,
        "the same instructions and addresses for all secrets [--all] [TARGET]",
    ),
    (
        "faults",
        faults,
        "single faults in the machine code of signing [--all] [COUNT]",
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((wanted, rest)) = arguments.split_first() else {
        eprintln!("cargo run -p mldsa-gates -- GATE, which is `all` or one of:");
        for (name, _, about) in GATES {
            eprintln!("  {name:<10}{about}");
        }
        return ExitCode::from(2);
    };
    let (mut known, mut failed, mut not_run) = (false, false, false);
    for (name, run, _) in GATES {
        if wanted == name || wanted == "all" {
            known = true;
            match run(rest) {
                Verdict::Passed => println!("{name}: passed"),
                Verdict::NotRun(reason) => {
                    println!("{name}: not run: {reason}");
                    not_run = true;
                }
                Verdict::Failed(reason) => {
                    println!("{name}: FAILED: {reason}");
                    failed = true;
                }
            }
        }
    }
    if !known {
        eprintln!("no gate `{wanted}`");
    }
    ExitCode::from(match (failed || !known, not_run) {
        (true, _) => 1,
        (false, true) => NOT_RUN,
        (false, false) => 0,
    })
}

/// The first of `arguments` that is none of `options` and that `target` does not take.
fn unknown<'a>(
    arguments: &'a [String],
    options: &[&str],
    target: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let mut arguments = arguments.iter().map(String::as_str);
    arguments.find(|argument| !options.contains(argument) && !target(argument))
}

/// Makes faults in a program of this machine.
fn faults(arguments: &[String]) -> Verdict {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return faults::run(arguments);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    Verdict::NotRun(format!("{} arguments: not x86-64 Linux", arguments.len()))
}

/// Unoptimised, a little, and optimised for speed and for size: compilers leave different traces.
const WIPING: [(&str, &str); 5] = [
    ("unoptimised", "0"),
    ("debug-build", "1"),
    ("release", "3"),
    ("release", "s"),
    ("release", "z"),
];

/// Runs the tests at the named levels, or at all.
fn wiping(arguments: &[String]) -> Verdict {
    let known = |name: &str| WIPING.iter().any(|(_, level)| *level == name);
    if let Some(argument) = unknown(arguments, &[], known) {
        return Verdict::Failed(format!("no level `{argument}`"));
    }
    for (profile, level) in WIPING {
        if !arguments.is_empty() && !arguments.iter().any(|argument| argument == level) {
            continue;
        }
        let mut test = cargo("test", profile);
        if profile == "release" {
            test.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level);
        }
        // A folder of its own does not rebuild what other gates need.
        if ["s", "z"].contains(&level) {
            test.env("CARGO_TARGET_DIR", target().join(level));
        }
        test.args(["--test", "wiping", "--", "--nocapture"]);
        if let Err(reason) = succeed(&mut test) {
            return Verdict::Failed(reason);
        }
    }
    Verdict::Passed
}

/// `cargo COMMAND -p mldsa-gates` in a target folder of its own, so that settings
/// do not rebuild what the caller has built.
fn cargo(command: &str, profile: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").expect("set by cargo"));
    cargo
        .args([
            command,
            "--quiet",
            "-p",
            "mldsa-gates",
            "--no-default-features",
            "--profile",
            profile,
        ])
        .current_dir(root())
        .env("CARGO_TARGET_DIR", target())
        .env_remove("RUSTFLAGS")
        // With the paths of functions that were inlined.
        .env("CARGO_PROFILE_RELEASE_DEBUG", "1");
    cargo
}

/// `cargo build` in the release profile for `target`, in a target folder of its own.
fn cross(target: &str, folder: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").expect("set by cargo"));
    cargo
        .args(["build", "--quiet", "--locked", "--release"])
        .args(["--target", target])
        .current_dir(root())
        .env("CARGO_TARGET_DIR", folder);
    cargo
}

/// Whether a standard library for `target` is installed, otherwise the reason.
fn installed(target: &str) -> Result<(), String> {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .current_dir(root())
        .output();
    let folder = output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    );
    if !folder.is_empty() && Path::new(&folder).is_dir() {
        Ok(())
    } else {
        Err(format!(
            "no standard library for {target} (tools/install-targets.sh {target})"
        ))
    }
}

/// The release of the compiler in use, as `1.95.0`.
fn compiler() -> Result<String, String> {
    let output = Command::new("rustc")
        .arg("--version")
        .current_dir(root())
        .output()
        .map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let release = text.split(' ').nth(1);
    release
        .map(str::to_owned)
        .ok_or_else(|| "rustc tells no version".into())
}

/// The rows of a file of recorded figures, if they are of the compiler in use, which its
/// first line names; otherwise the reason.
fn recorded<'a>(text: &'a str, compiler: &str) -> Result<&'a str, String> {
    let (first, rows) = text.split_once('\n').unwrap_or((text, ""));
    if first == heading(compiler) {
        Ok(rows)
    } else {
        Err(format!(
            "the figures are of {}, this is {compiler}",
            first.replace('\t', " ")
        ))
    }
}

/// The first line of a file of recorded figures.
fn heading(compiler: &str) -> String {
    format!("rustc\t{compiler}")
}

fn root() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect()
}

fn target() -> PathBuf {
    let base =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    base.join("gates")
}

/// Builds program `name` under further settings and returns its path.
fn build(name: &str, profile: &str, settings: &[(&str, &str)]) -> Result<PathBuf, String> {
    let mut cargo = cargo("build", profile);
    succeed(cargo.args(["--bin", name]).envs(settings.iter().copied()))?;
    // The one profile whose folder has another name.
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target().join(folder).join(name))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{}: {status}", command.get_program().display())),
        Err(error) => Err(could_not_start(command, error)),
    }
}

fn could_not_start(command: &Command, error: impl Display) -> String {
    format!("{}: {error}", command.get_program().display())
}

/// `Some(reason)` if `tool --version` does not run.
fn missing(tool: &str) -> Option<String> {
    match Command::new(tool).arg("--version").output() {
        Ok(output) if output.status.success() => None,
        _ => Some(format!("there is no {tool}")),
    }
}
