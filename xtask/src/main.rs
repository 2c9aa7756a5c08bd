//! The project's own commands: `cargo xtask COMMAND`. The steps of CI are in `.ci`.

use std::path::Path;
use std::process::{Command, ExitCode};

mod armv7m;
mod dependencies;
mod tree;

type Task = fn(&[String]) -> Result<(), String>;

const TASKS: [(&str, Task, &str); 4] = [
    (
        "api",
        api,
        "public items of each interface, compared with docs/api [--bless]",
    ),
    (
        "dependencies",
        dependencies::run,
        "direct dependencies of published packages, with the reason for each",
    ),
    (
        "armv7m",
        armv7m::run,
        "assembly for ARMv7-M, compared with what is there [--bless]",
    ),
    (
        "tree",
        tree::run,
        "sizes of code and pages, and dead links; fails above a limit",
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = arguments
        .first()
        .and_then(|name| TASKS.iter().find(|task| task.0 == name));
    let Some((_, run, _)) = task else {
        eprintln!("cargo xtask COMMAND, which is one of:");
        for (name, _, about) in TASKS {
            eprintln!("  {name:<14}{about}");
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
    let status = Command::new(cargo)
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
