//! Steps on the host, without cross compilers or emulators.

use std::fs;

use super::shell::{
    Outcome, Stop, failed, has, install, install_toolchain, line, not_run, run, setting,
};
use crate::root;

/// A C and a C++ compiler and CMake for the other implementations, rustfmt and clippy.
pub(super) fn tools() -> Outcome {
    install(&[
        ("cc", "gcc"),
        ("c++", "g++"),
        ("make", "make"),
        ("cmake", "cmake"),
        ("git", "git"),
        // The C library's headers come with neither compiler.
        ("/usr/include/stdio.h", "libc6-dev"),
    ]);
    for component in ["fmt", "clippy"] {
        if !line(format!("cargo {component} --version")).succeeds() {
            let name = component.replace("fmt", "rustfmt");
            run(format!("rustup component add {name}"))?;
        }
    }
    run("rustc --version --verbose")?;
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if let Some(model) = cpus.lines().find(|line| line.starts_with("model name")) {
        println!("{model}");
    }
    let vectors = std::env::var("MLDSA_VECTORS");
    let vectors = vectors
        .unwrap_or_else(|_| "unset: the large published suites say so and are not run".into());
    println!("MLDSA_VECTORS={vectors}");
    Ok(())
}

/// Formatting of every package, inside the workspace and outside. Downloads nothing.
pub(super) fn fmt() -> Outcome {
    // Without `--all`, which would resolve the dependencies of the packages.
    run("cargo fmt --check")?;
    for folder in OTHER_WORKSPACES {
        let all = if folder.starts_with("contrib/") {
            " --all"
        } else {
            ""
        };
        line(format!("cargo fmt{all} --check")).dir(folder).run()?;
    }
    Ok(())
}

/// Every lock file fits its manifests. The build of the integrations takes 12 minutes of CPU and
/// is no step.
pub(super) fn locks() -> Outcome {
    for package in OTHER_WORKSPACES.iter().chain(&["."]) {
        let (status, _) = line("cargo metadata --locked --format-version 1")
            .dir(package)
            .captured()?;
        if status != 0 {
            return failed(format!("{package}/Cargo.lock is not up to date"));
        }
    }
    Ok(())
}

pub(super) fn clippy() -> Outcome {
    run("cargo clippy --locked --workspace --all-targets -- -D warnings")?;
    run("cargo clippy --locked --workspace --all-targets --all-features -- -D warnings")?;
    // The core's tests with one parameter set, without the others.
    for set in ["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] {
        for features in [
            format!("std,{set}"),
            format!("std,simd,unstable-internals,{set}"),
        ] {
            run(format!(
                "cargo clippy --locked -p mldsa-core --all-targets --no-default-features \
                 --features {features} -- -D warnings"
            ))?;
        }
    }
    // Tests may unwrap, published code may not.
    run(
        "cargo clippy --locked --workspace --lib --bins --all-features -- \
         -D warnings -D clippy::unwrap_used",
    )
}

/// The command of the README, and the features that it leaves out.
pub(super) fn tests() -> Outcome {
    let command = readme_command("cargo test")?;
    println!("README.md says: {command}");
    run(command)?;
    // Rounds with open commitments need a feature: known answers and attacks. The other
    // tests do not use it.
    run(
        "cargo test --locked -p mladsa-aggregate --features insecure-open-commitments \
         --lib --test open_commitments --example aggregate_attacks",
    )?;
    run("cargo test --locked -p mldsa-cli --features encrypted-keys --test suite encrypted")
}

/// Published vectors: with checks of overflows on a part of the inputs, then all of them.
pub(super) fn kat() -> Outcome {
    run("cargo test --locked -p mldsa-kat")?;
    run("cargo test --locked --release -p mldsa-kat -- --nocapture")
}

/// Keys and signatures of other implementations, and the corpora of the fuzz targets.
pub(super) fn interop() -> Outcome {
    run("cargo test --locked -p mldsa-interop -- --nocapture")
}

pub(super) fn doc() -> Outcome {
    line("cargo doc --locked --quiet --workspace --all-features --no-deps")
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}

/// The comparisons with other implementations build and run. Figures are for quiet machines.
pub(super) fn peers() -> Outcome {
    let peers = |text: &str| line(text).dir("contrib/peers").run();
    peers("cargo clippy --locked --workspace --all-targets -- -D warnings")?;
    peers("cargo bench --locked --no-run")?;
    // The shortest run: every contender is checked before its clock starts.
    peers("cargo run --locked --profile bench --bin scorecard -- --only verify --seconds 0")?;
    peers(
        "cargo test --locked --profile bench --workspace --lib --bin mempool --bin migration_cost --test aws_lc",
    )?;
    peers("cargo run --locked --profile bench --bin migration_cost -- --blocks 1")
}

/// Licences, sources and duplicates of the dependencies.
pub(super) fn deny() -> Outcome {
    install_cargo_deny()?;
    run("cargo deny --workspace check licenses bans sources")
}

/// Known vulnerabilities of the dependencies. On demand, because its verdict on a commit changes
/// with the database.
pub(super) fn advisories() -> Outcome {
    install_cargo_deny()?;
    // A copy of the database on this machine serves as long as deny.toml does not call it stale.
    line("timeout 300 cargo deny --workspace fetch db").status()?;
    if !has_advisories() {
        return not_run("the advisory database cannot be fetched");
    }
    run("cargo deny --workspace --offline check advisories")
}

fn install_cargo_deny() -> Outcome {
    if !line("cargo deny --version").succeeds()
        && line("timeout 900 cargo install --quiet --locked --debug cargo-deny --version 0.20.2")
            .status()?
            != 0
    {
        return not_run("cargo-deny cannot be installed");
    }
    Ok(())
}

/// Whether a copy of the advisory database exists. A fetch that failed leaves a lock file.
fn has_advisories() -> bool {
    let home =
        std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"));
    home.is_ok_and(|home| {
        let folders = fs::read_dir(format!("{home}/advisory-dbs"))
            .into_iter()
            .flatten();
        folders
            .flatten()
            .any(|folder| folder.path().join(".git").is_dir())
    })
}

pub(super) fn fuzz() -> Outcome {
    run("cargo check --locked --manifest-path fuzz/Cargo.toml")
}

/// ML-DSA inside the EVM: the generator's output is the committed one and compiles to the
/// committed code, the contracts agree with the core, and the figures can be printed.
pub(super) fn evm() -> Outcome {
    let scratch = root().join("target/evm.jsonl");
    run("cargo fmt --manifest-path contrib/evm/Cargo.toml --all --check")?;
    run("cargo test --locked --release --manifest-path contrib/evm/Cargo.toml -- --nocapture")?;
    let rows = scratch.display();
    run(format!(
        "cargo run --locked --release --manifest-path contrib/evm/Cargo.toml --bin evm-bench -- --jsonl {rows}"
    ))?;
    if fs::metadata(&scratch).is_ok_and(|file| file.len() > 0) {
        Ok(())
    } else {
        failed("evm-bench wrote no rows")
    }
}

/// The README's main command. Its file has tampered votes, so `batch-verify` has to end with
/// status 1: some are invalid, none is unusable.
pub(super) fn readme() -> Outcome {
    let command = readme_command("cargo run --release --bin mldsa")?;
    let expected = i32::from(command.contains("batch-verify"));
    println!("README.md says: {command}");
    let (status, output) = line(&command).captured()?;
    let lines: Vec<&str> = output.lines().collect();
    for line in &lines[lines.len().saturating_sub(10)..] {
        println!("{}", line.chars().take(200).collect::<String>());
    }
    println!(
        "exit status {status}, expected {expected}, {} lines",
        lines.len()
    );
    if status == expected && !lines.is_empty() {
        Ok(())
    } else {
        failed("the README's command does not do what it says")
    }
}

/// The public items of the library crates are the listed ones.
pub(super) fn api() -> Outcome {
    install_toolchain(&setting("nightly"), &[])?;
    run("cargo xtask api")
}

/// The loop of a contributor: formatting, lints and tests of the default members.
pub(super) fn quick() -> Outcome {
    run("cargo fmt --check")?;
    run("cargo clippy --locked --all-targets -- -D warnings")?;
    run("cargo test --locked")
}

/// The first command line of README.md that starts with `start`.
fn readme_command(start: &str) -> Result<String, Stop> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap_or_default();
    let mut quoted = false;
    for line in readme.lines() {
        quoted ^= line.starts_with("```");
        let command = line.strip_prefix("$ ").unwrap_or(line);
        let command = command.split(" #").next().unwrap_or("").trim_end();
        if quoted && (command == start || command.starts_with(&format!("{start} "))) {
            return Ok(command.into());
        }
    }
    failed(format!("README.md has no command `{start}`"))
}

/// The folders of the workspaces besides the main one.
const OTHER_WORKSPACES: [&str; 8] = [
    "contrib/boards",
    "contrib/engines",
    "contrib/evm",
    "contrib/peers",
    "contrib/proofs",
    "examples/cortex-m",
    "fuzz",
    "tests/gates/device",
];

/// Libraries for devices: every feature alone, every parameter set with everything else,
/// everything else with all parameter sets, nothing, all.
pub(super) fn combinations(all: &[String]) -> Vec<String> {
    let (sets, others): (Vec<&String>, Vec<&String>) = all
        .iter()
        .partition(|feature| feature.starts_with("ml-dsa-"));
    let join = |parts: &[&[&String]]| {
        let names: Vec<&str> = parts
            .iter()
            .flat_map(|part| *part)
            .map(|name| name.as_str())
            .collect();
        names.join(",")
    };
    let mut lists = vec![String::new()];
    lists.extend(all.iter().cloned());
    lists.extend(sets.iter().map(|set| join(&[&[*set], &others])));
    lists.extend(others.iter().map(|other| join(&[&sets, &[*other]])));
    lists.push(all.join(","));
    lists
}

/// Whether a program for cross builds or emulation is there.
pub(super) fn have_all(programs: &[&str]) -> Outcome {
    match programs.iter().find(|program| !has(program)) {
        Some(program) => not_run(format!("{program} cannot be installed")),
        None => Ok(()),
    }
}
