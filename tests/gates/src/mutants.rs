//! Mutation testing with cargo-mutants: every change that it makes to decoding,
//! hints, rounding, verification and signing has to be noticed by the tests of
//! `mldsa-core` alone. `docs/mutants.md` is the ledger: a survivor that is not in
//! it fails the gate.

use std::fs;
use std::process::Command;

use crate::combined_mutants::{self, FEATURES};
use crate::{Verdict, root, target};

/// Below `crates/mldsa-core/src`, without `.rs`.
const FILES: [&str; 6] = [
    "coding/encode",
    "coding/hint",
    "coding/pack",
    "ring/rounding",
    "scheme/verify",
    "scheme/sign",
];
const LEDGER: &str = "docs/mutants.md";

/// `mutants [FILE ...] [N/M]`: some of the files, with their folder or without it,
/// and shard N of M.
pub(crate) fn run(arguments: &[String]) -> Verdict {
    let known = Command::new("cargo")
        .args(["mutants", "--version"])
        .output();
    if !known.is_ok_and(|output| output.status.success()) {
        return Verdict::NotRun("there is no cargo-mutants: cargo install cargo-mutants".into());
    }
    check(arguments).into()
}

/// First the unit tests of each file alone, side by side in one build; what they
/// let through has to get past all tests, one at a time.
fn check(arguments: &[String]) -> Result<(), String> {
    let (files, (shard, of)) = selection(arguments)?;
    let mut left = Vec::new();
    for file in files {
        let mut outcome = combined_mutants::run(file, |n| n % of == shard)?;
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

/// The files and the shard that the arguments ask for: without any, all of them.
fn selection(arguments: &[String]) -> Result<(Vec<&'static str>, (usize, usize)), String> {
    let mut files = Vec::new();
    let mut shard = (0, 1);
    for argument in arguments {
        let named = |file: &&str| file == argument || file.ends_with(&format!("/{argument}"));
        if let Some(file) = FILES.into_iter().find(named) {
            files.push(file);
        } else {
            shard = argument
                .split_once('/')
                .and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)))
                .filter(|(n, of)| n < of)
                .ok_or_else(|| {
                    format!("`{argument}` is neither a shard N/M nor one of {FILES:?}")
                })?;
        }
    }
    if files.is_empty() {
        files.extend(FILES);
    }
    Ok((files, shard))
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
        .env("CARGO_TARGET_DIR", combined_mutants::build_folder())
        .current_dir(combined_mutants::copy()?);
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

/// `src/coding/hint.rs: replace ...`: lines and columns move with every edit.
fn without_place(mutant: &str) -> String {
    let mut parts = mutant.splitn(4, ':');
    let file = parts.next().unwrap_or_default();
    format!("{file}:{}", parts.nth(2).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUTANT: &str =
        "crates/mldsa-core/src/coding/hint.rs:32:22: replace &= with |= in hint_bit_pack";

    #[test]
    fn every_file_is_there() {
        let ledger = fs::read_to_string(root().join(LEDGER)).unwrap();
        let (_, survivors) = ledger.split_once("## Survivors").unwrap();
        let named = survivors.lines().filter_map(|line| {
            let (file, _) = line.strip_prefix("- `")?.split_once(':')?;
            Some(file.to_owned())
        });
        let files: Vec<_> = FILES.map(combined_mutants::source).into_iter().collect();
        for file in files.iter().cloned().chain(named) {
            assert!(root().join(&file).is_file(), "{file}");
            assert!(files.contains(&file), "{file} is in the ledger only");
        }
    }

    #[test]
    fn files_and_a_shard_are_told_apart() {
        let select = |arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
            selection(&arguments)
        };
        assert_eq!(select(&[]), Ok((FILES.to_vec(), (0, 1))));
        let rounding = vec!["ring/rounding"];
        assert_eq!(select(&["ring/rounding"]), Ok((rounding.clone(), (0, 1))));
        assert_eq!(select(&["rounding", "3/4"]), Ok((rounding, (3, 4))));
        assert_eq!(select(&["1/2"]), Ok((FILES.to_vec(), (1, 2))));
        for wrong in ["ring", "ring/poly", "4/4", "0/0", "1/", "g"] {
            assert!(select(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn places_are_left_out() {
        let expected = "crates/mldsa-core/src/coding/hint.rs: replace &= with |= in hint_bit_pack";
        assert_eq!(without_place(MUTANT), expected);
    }

    #[test]
    fn a_survivor_that_is_not_in_the_ledger_fails() {
        let known = format!("- `{}`: no difference", without_place(MUTANT));
        let survivor = || vec![MUTANT.to_string()];
        assert_eq!(judge(&[], ""), Ok(()));
        assert_eq!(judge(&survivor(), &known), Ok(()));
        assert_eq!(judge(&survivor(), ""), Err(MUTANT.into()));
        // Another change of the same place, and one more next to a known one.
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
