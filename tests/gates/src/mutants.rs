//! Mutation testing with cargo-mutants: every change that it makes to decoding,
//! hints, rounding, verification and signing has to be noticed by the tests of
//! `mldsa-core` alone. `docs/mutants.md` is the ledger: a survivor that is not in
//! it fails the gate.

use std::fs;
use std::process::Command;

use crate::{Verdict, root, target};

const FILES: [&str; 6] = ["encode", "hint", "pack", "rounding", "verify", "sign"];
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

fn check(arguments: &[String]) -> Result<(), String> {
    let (shard, mut files): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .map(String::as_str)
        .partition(|argument| argument.contains('/'));
    if files.is_empty() {
        files.extend(FILES);
    }
    let out = target();
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "mutants",
            "-p",
            "mldsa-core",
            "--features",
            "hazmat",
            "--profile",
            "mutants",
        ])
        .args(["--timeout", "60", "--output"])
        .arg(&out)
        .args(
            shard
                .iter()
                .flat_map(|shard| ["--sharding", "round-robin", "--shard", shard]),
        )
        .args(
            files
                .iter()
                .flat_map(|file| ["-f".into(), format!("crates/mldsa-core/src/{file}.rs")]),
        )
        .args(["--", "--lib", "--test", "api", "--test", "scheme"])
        .current_dir(root());
    let status = cargo.status().map_err(|e| e.to_string())?;
    // 2: some survived, 3: some ran into the time limit, which is noticed too.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(format!("cargo mutants: {status}"));
    }
    let missed =
        fs::read_to_string(out.join("mutants.out/missed.txt")).map_err(|e| e.to_string())?;
    let ledger = fs::read_to_string(root().join(LEDGER)).map_err(|e| e.to_string())?;
    let new: Vec<_> = missed
        .lines()
        .filter(|mutant| !ledger.contains(&without_place(mutant)))
        .collect();
    println!(
        "{} survived, {} of them not in {LEDGER}",
        missed.lines().count(),
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
    #[test]
    fn places_are_left_out() {
        let mutant = "crates/mldsa-core/src/hint.rs:32:22: replace &= with |= in hint_bit_pack";
        let expected = "crates/mldsa-core/src/hint.rs: replace &= with |= in hint_bit_pack";
        assert_eq!(super::without_place(mutant), expected);
    }
}
