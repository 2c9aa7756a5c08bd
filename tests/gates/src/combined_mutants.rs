//! All mutants of one file in one build: each is a module of its own next to the
//! original, in a copy of the crate, and its unit tests run in a process of their
//! own. What only other modules' tests could notice passes through.

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use serde_json::Value;

use crate::{root, target};

/// Without SIMD: the files are portable, and it builds in half the time.
pub(crate) const FEATURES: &str = "std,getrandom,hash-ml-dsa,hazmat,ml-dsa-44,ml-dsa-65,ml-dsa-87";

const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The results of the mutants of a file.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) changes: usize,
    pub(crate) caught: usize,
    pub(crate) unviable: usize,
    /// Names of those that passed or ran into the time limit, which a busy machine
    /// reaches without an endless loop.
    pub(crate) left: Vec<String>,
}

/// The path of one of the files that are changed.
pub(crate) fn source(file: &str) -> String {
    format!("crates/mldsa-core/src/{file}.rs")
}

/// Runs those of the mutants of `file` that `selected` picks by their number.
pub(crate) fn run(file: &str, selected: impl Fn(usize) -> bool) -> Result<Outcome, String> {
    let source = source(file);
    let text = read(&root().join(&source))?;
    let mutants: Vec<Value> = list(&source)?
        .into_iter()
        .enumerate()
        .filter_map(|(n, mutant)| selected(n).then_some(mutant))
        .collect();
    let tree = copy()?;
    let modules = tree.join("crates/mldsa-core/src");
    // The first module is not changed: its tests have to pass.
    write(&modules.join("mutant_0.rs"), &text)?;
    for (n, mutant) in (1..).zip(&mutants) {
        write(
            &modules.join(format!("mutant_{n}.rs")),
            &changed(&text, mutant)?,
        )?;
    }
    let (viable, program) = build(&tree, mutants.len())?;
    if !matches!(test(&program, 0)?, Some(true)) {
        return Err(format!("the unit tests of {source} fail as they are"));
    }
    let mut outcome = Outcome {
        changes: mutants.len(),
        unviable: mutants.len() + 1 - viable.len(),
        ..Outcome::default()
    };
    for n in viable.into_iter().filter(|n| *n > 0) {
        match test(&program, n)? {
            Some(false) => outcome.caught += 1,
            _ => outcome.left.push(string(&mutants[n - 1]["name"])?),
        }
    }
    Ok(outcome)
}

/// A change that cargo-mutants would make.
fn list(source: &str) -> Result<Vec<Value>, String> {
    let output = Command::new("cargo")
        .args(["mutants", "--list", "--json", "-p", "mldsa-core"])
        .args(["--features", "hazmat", "-f", source])
        .current_dir(root())
        .output()
        .map_err(|e| e.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo mutants --list: {e}"))
}

/// The source with one span replaced.
fn changed(text: &str, mutant: &Value) -> Result<String, String> {
    let place = |end: &str| {
        let number = |key| mutant["span"][end][key].as_u64().map(|n| n as usize - 1);
        let line = number("line")?;
        let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let (column, _) = text[before..].char_indices().nth(number("column")?)?;
        Some(before + column)
    };
    let span = place("start")
        .zip(place("end"))
        .ok_or("a mutant without place")?;
    let replacement = string(&mutant["replacement"])?;
    Ok([&text[..span.0], &replacement, &text[span.1..]].concat())
}

/// The folder in which the copies are built, one after the other.
pub(crate) fn build_folder() -> PathBuf {
    target().join("mutants-target")
}

/// The crate in a workspace of its own, fresh.
pub(crate) fn copy() -> Result<PathBuf, String> {
    let tree = target().join("mutants-tree");
    let _ = fs::remove_dir_all(&tree);
    fs::create_dir_all(tree.join("crates")).map_err(|e| e.to_string())?;
    let copied = Command::new("cp")
        .arg("-r")
        .arg(root().join("crates/mldsa-core"))
        .arg(tree.join("crates"))
        .status();
    if !copied.is_ok_and(|status| status.success()) {
        return Err("cp: the crate was not copied".into());
    }
    let manifest = read(&root().join("Cargo.toml"))?;
    let (_, settings) = manifest
        .split_once("[workspace.package]")
        .ok_or("Cargo.toml without [workspace.package]")?;
    let head = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/mldsa-core\"]\n\n";
    write(
        &tree.join("Cargo.toml"),
        &format!("{head}[workspace.package]{settings}"),
    )?;
    write(&tree.join("Cargo.lock"), &read(&root().join("Cargo.lock"))?)?;
    Ok(tree)
}

/// The modules that compile, of 0 to `last`, and the program with their tests.
fn build(tree: &Path, last: usize) -> Result<(Vec<usize>, PathBuf), String> {
    let lib = read(&root().join("crates/mldsa-core/src/lib.rs"))?;
    let mut viable: Vec<usize> = (0..=last).collect();
    loop {
        let modules: String = viable
            .iter()
            .map(|n| format!("#[cfg(test)]\n#[allow(warnings)]\nmod mutant_{n};\n"))
            .collect();
        write(
            &tree.join("crates/mldsa-core/src/lib.rs"),
            &format!("{lib}\n{modules}"),
        )?;
        let output = Command::new("cargo")
            .args(["test", "--no-run", "--message-format", "short", "--lib"])
            .args(["--profile", "mutants", "--no-default-features"])
            .args(["--features", FEATURES])
            .env("CARGO_TARGET_DIR", build_folder())
            .current_dir(tree)
            .output()
            .map_err(|e| e.to_string())?;
        let messages = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            let program = messages
                .rsplit_once('(')
                .and_then(|(_, path)| path.split_once(')'))
                .ok_or("cargo test names no program")?;
            return Ok((viable, tree.join(program.0)));
        }
        let before = viable.len();
        for message in messages.lines().filter(|line| line.contains(": error")) {
            let number = message
                .split_once("/mutant_")
                .and_then(|(_, rest)| rest.split_once('.'))
                .and_then(|(number, _)| number.parse::<usize>().ok());
            viable.retain(|n| Some(*n) != number);
        }
        if viable.len() == before {
            return Err(format!("the mutants do not build:\n{messages}"));
        }
    }
}

/// Whether the unit tests of module `n` pass; `None` at the time limit.
fn test(program: &Path, n: usize) -> Result<Option<bool>, String> {
    let mut child = Command::new(program)
        .args([&format!("mutant_{n}::"), "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(Some(status.success()));
        }
        if start.elapsed() > TIME_LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        sleep(Duration::from_millis(10));
    }
}

fn string(value: &Value) -> Result<String, String> {
    let text = value
        .as_str()
        .ok_or("a mutant without name or replacement")?;
    Ok(text.into())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_replaced() {
        let mutant = serde_json::json!({
            "span": { "start": { "line": 2, "column": 7 }, "end": { "line": 2, "column": 8 } },
            "replacement": "-",
        });
        let text = "// sum\n  \u{e9} * + b\n";
        assert_eq!(
            changed(text, &mutant),
            Ok("// sum\n  \u{e9} * - b\n".into())
        );
    }
}
