//! The direct dependencies of published packages, each with the reason for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::root;

/// Lines `NAME: REASON`.
const REASONS: &str = "xtask/dependencies.txt";

/// Prints the direct dependencies of the packages in `crates`, with versions, users and reasons.
/// Fails if one has no reason, or if a reason has no dependency.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let Some(argument) = arguments.first() {
        return Err(format!("`dependencies` takes no argument `{argument}`"));
    }
    let text = fs::read_to_string(root().join(REASONS)).map_err(|e| format!("{REASONS}: {e}"))?;
    let reasons: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .collect();
    let output = Command::new("cargo")
        .args([
            "tree",
            "--locked",
            "--workspace",
            "--depth",
            "1",
            "--no-dedupe",
        ])
        .args(["--edges", "normal,build", "--prefix", "depth"])
        .args(["--all-features", "--target", "all"])
        .current_dir(root())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let used = used(&String::from_utf8_lossy(&output.stdout));
    println!("| dependency | used by | reason |\n|---|---|---|");
    let mut complaints = Vec::new();
    for (dependency, users) in &used {
        let name = dependency.split(' ').next().unwrap_or_default();
        let users: Vec<&str> = users.iter().map(String::as_str).collect();
        let reason = reasons.get(name).copied().unwrap_or_default();
        println!("| {dependency} | {} | {reason} |", users.join(", "));
        if reason.is_empty() {
            complaints.push(format!("{REASONS}: no reason for {name}"));
        }
    }
    let is_used = |name: &&str| used.keys().any(|used| used.split(' ').next() == Some(name));
    let unused = reasons.keys().filter(|name| !is_used(name));
    complaints.extend(unused.map(|name| format!("{REASONS}: {name} is no dependency")));
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(complaints.join("\n")),
    }
}

/// The dependencies `NAME VERSION` from the registry, with the packages in `crates` that have them, of
/// a tree of depth one whose lines begin with their depth.
fn used(tree: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut used = BTreeMap::<String, BTreeSet<String>>::new();
    let mut package = None;
    for line in tree.lines() {
        let Some((depth, rest)) = line.split_at_checked(1) else {
            continue;
        };
        let name = rest.split(' ').next().unwrap_or_default();
        if depth == "0" {
            package = rest.contains("/crates/").then(|| name.to_owned());
        } else if let (Some(package), false) = (&package, rest.contains("(/")) {
            let version = rest.split(' ').take(2).collect::<Vec<_>>().join(" ");
            used.entry(version).or_default().insert(package.clone());
        }
    }
    used
}

#[cfg(test)]
mod tests {
    #[test]
    fn dependencies_of_published_packages() {
        let tree = "0a v1 (/x/crates/a)\n1b v2\n1c v3 (/x/crates/c)\n\n0d v1 (/x/tests/d)\n1e v1\n";
        let used = super::used(tree);
        assert_eq!(used.len(), 1);
        assert!(used["b v2"].contains("a"));
    }
}
