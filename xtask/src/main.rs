//! The project's own commands: `cargo xtask COMMAND`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod ci;
mod language;
mod loaded;
mod loc;

type Command = fn(&[String]) -> Result<(), String>;

const COMMANDS: [(&str, Command, &str); 5] = [
    (
        "api",
        api,
        "public items per library crate, compared with docs/api [--bless]",
    ),
    ("ci", ci::run, "the steps of .ci/run [STEP ...]"),
    (
        "language",
        language::run,
        "findings of the language rules [FOLDER ...]",
    ),
    ("loc", loc::run, "lines of Rust code per crate"),
    (
        "loaded",
        loaded::run,
        "the tests on one loaded core [--times N] [PACKAGE ...]; an hour, with --times 1 ten minutes",
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = arguments
        .first()
        .and_then(|name| COMMANDS.iter().find(|command| command.0 == name));
    let Some((_, run, _)) = command else {
        eprintln!("cargo xtask COMMAND, which is one of:");
        for (name, _, about) in COMMANDS {
            eprintln!("  {name:<10}{about}");
        }
        return ExitCode::from(2);
    };
    match run(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Starts the program `api`, whose dependencies the other commands do without.
fn api(arguments: &[String]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = std::process::Command::new(cargo)
        .args(["run", "--locked", "--quiet", "--package", "xtask"])
        .args(["--features", "api", "--bin", "api", "--"])
        .args(arguments)
        .current_dir(root())
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(status.to_string())
    }
}

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package is in a folder of the repository")
}

/// Files below the root with one of `extensions`, relative to the root and sorted.
/// Build output and hidden folders are left out.
fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("a readable folder");
        for entry in entries.map(|entry| entry.expect("a readable entry")) {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !name.starts_with('.') && name != "target" && name != "node_modules" {
                    folders.push(path);
                }
            } else if path
                .extension()
                .is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted))
            {
                found.push(path.strip_prefix(root()).expect("below the root").into());
            }
        }
    }
    found.sort();
    found
}

/// The part of the tree that a file belongs to: `crates/mldsa-core`, `docs`, `.`.
fn part_of(file: &Path) -> String {
    let mut names = file.components().map(|name| name.as_os_str());
    let first = names.next().expect("a path").to_string_lossy();
    let second = names.next().map(|name| name.to_string_lossy());
    match (first.as_ref(), second) {
        (_, None) => ".".into(),
        (group @ ("crates" | "tests"), Some(member)) => format!("{group}/{member}"),
        (part, Some(_)) => part.into(),
    }
}
