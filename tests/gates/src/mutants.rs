//! Mutation testing with cargo-mutants: every change that it makes to decoding,
//! hints, rounding, verification and signing has to be noticed by the tests of
//! `mldsa-core` alone. `docs/mutants.md` is the ledger: a survivor that is not in
//! it fails the gate.

use std::fs;
use std::process::Command;

use crate::side_by_side::{self, FEATURES};
use crate::{Verdict, root, target};

const FILES: [&str; 7] = [
    "encode", "hint", "pack", "rounding", "verify", "job", "sign",
];
const LEDGER: &str = "docs/mutants.md";

/// `mutants [FILE ...] [N/M]`: some of the files, shard N of M.
pub(crate) fn run(arguments: &[String]) -> Verdict {
    let known = Command::new("cargo")
        .args(["mutants", "--version"])
        .output();
    if !known.is_ok_and(|output| output.status.success()) {
        return Verdict::NotRun("there is no cargo-mutants: cargo install cargo-mutants".into());
    }
    match check(arguments) {
        Ok(()) => Verdict::Passed,
        Err(reason) => Verdict::Failed(reason),
    }
}

/// First the unit tests of each file alone, side by side in one build; what they
/// let through has to get past all tests, one at a time.
fn check(arguments: &[String]) -> Result<(), String> {
    let (shards, mut files): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .map(String::as_str)
        .partition(|argument| argument.contains('/'));
    if files.is_empty() {
        files.extend(FILES);
    }
    let (shard, of) = shards
        .first()
        .map_or(Some((0, 1)), |shard| {
            let (n, of) = shard.split_once('/')?;
            Some((n.parse().ok()?, of.parse().ok().filter(|of| *of > 0)?))
        })
        .ok_or("a shard is N/M")?;
    let mut left = Vec::new();
    for file in files {
        let mut outcome = side_by_side::run(file, |n| n % of == shard)?;
        println!(
            "{file}.rs: {} changes, {} caught by its unit tests, {} unviable, {} left",
            outcome.changes,
            outcome.caught,
            outcome.unviable,
            outcome.left.len()
        );
        left.append(&mut outcome.left);
    }
    let ledger = fs::read_to_string(root().join(LEDGER)).map_err(|e| e.to_string())?;
    let (mut survivors, left): (Vec<_>, Vec<_>) = left
        .into_iter()
        .partition(|mutant| ledger.contains(&without_place(mutant)));
    if !left.is_empty() {
        survivors.append(&mut all_tests(&left)?);
    }
    judge(&survivors, &ledger)
}

/// Which of these mutants survive the tests of `mldsa-core`. The time limit
/// catches endless loops.
fn all_tests(mutants: &[String]) -> Result<Vec<String>, String> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["mutants", "--in-place", "-p", "mldsa-core"])
        .args(["--no-default-features", "--features", FEATURES])
        .args(["--profile", "mutants", "--timeout", "60", "--output"])
        .arg(target())
        .args(["-C=--lib", "-C=--test=api", "-C=--test=scheme"])
        .env("CARGO_TARGET_DIR", side_by_side::build_folder())
        .current_dir(side_by_side::copy()?);
    for mutant in mutants {
        // Deleted fields get past `--re`.
        let (file, _) = mutant.split_once(':').unwrap_or_default();
        cargo.args(["-f", file]);
        cargo.args(["--re", &exactly(mutant)]);
    }
    let status = cargo.status().map_err(|e| e.to_string())?;
    // 2: some survived, 3: some ran into the time limit.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(format!("cargo mutants: {status}"));
    }
    let missed = fs::read_to_string(target().join("mutants.out/missed.txt"));
    Ok(missed
        .map_err(|e| e.to_string())?
        .lines()
        .map(String::from)
        .collect())
}

/// A regular expression that matches this text only.
fn exactly(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '0'..='9' | 'A'..='Z' | 'a'..='z' | '_' | ' ' => c.to_string(),
        _ => format!("\\x{{{:x}}}", u32::from(c)),
    });
    format!("^{}$", escaped.collect::<String>())
}

/// Survivors that the ledger does not name are an error.
fn judge(survivors: &[String], ledger: &str) -> Result<(), String> {
    let new: Vec<_> = survivors
        .iter()
        .filter(|mutant| !ledger.contains(&without_place(mutant)))
        .map(String::as_str)
        .collect();
    println!(
        "{} survived, {} of them not in {LEDGER}",
        survivors.len(),
        new.len()
    );
    if new.is_empty() {
        Ok(())
    } else {
        Err(new.join("; "))
    }
}

/// `src/hint.rs: replace ...`: lines and columns move with every edit.
fn without_place(mutant: &str) -> String {
    let mut parts = mutant.splitn(4, ':');
    let file = parts.next().unwrap_or_default();
    format!("{file}:{}", parts.nth(2).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUTANT: &str = "crates/mldsa-core/src/hint.rs:32:22: replace &= with |= in hint_bit_pack";

    #[test]
    fn places_are_left_out() {
        let expected = "crates/mldsa-core/src/hint.rs: replace &= with |= in hint_bit_pack";
        assert_eq!(without_place(MUTANT), expected);
    }

    #[test]
    fn a_survivor_that_is_not_in_the_ledger_fails() {
        let known = format!("- `{}`: no difference", without_place(MUTANT));
        let survivor = || vec![MUTANT.to_string()];
        assert_eq!(judge(&[], ""), Ok(()));
        assert_eq!(judge(&survivor(), &known), Ok(()));
        assert_eq!(judge(&survivor(), ""), Err(MUTANT.into()));
        // Another change of the same place, and one more beside a known one.
        let other = known.replace("|=", "^=");
        assert_eq!(judge(&survivor(), &other), Err(MUTANT.into()));
        let second = MUTANT.replace("hint.rs", "pack.rs");
        let both = [survivor(), vec![second.clone()]].concat();
        assert_eq!(judge(&both, &known), Err(second));
    }

    #[test]
    fn a_mutant_is_named_exactly() {
        let expected = r"^a\x{2d}b\x{2f}c\x{2e}rs\x{3a}1 \x{7c}\x{3d}$";
        assert_eq!(exactly("a-b/c.rs:1 |="), expected);
    }
}
