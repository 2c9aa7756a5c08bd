//! The jumps that may stay, by function and with the reason: `tests/gates/figures/branches.tsv`.
//!
//! A function that handles secrets has a number for each kind of jump: the most of any build; more
//! of them fail. `public` in the column of the kind means that a function sees no secret, or secrets
//! only as they are published; `secret` names a module of a public crate that does handle secrets.
//! A row with a compiler is for that one only.

use std::collections::BTreeSet;

use super::reader::Kind;
use crate::{is_after_name, is_of};

const ROWS: &str = include_str!("../../figures/branches.tsv");

/// Function and kind of a row.
pub(super) type Key = (&'static str, &'static str);

/// Function, kind, number and compiler of each row.
fn rows() -> impl Iterator<Item = (Key, usize, &'static str)> {
    ROWS.lines().skip(1).map(|row| {
        let fields: Vec<&str> = row.split('\t').collect();
        let [function, kind, most, reason, ref compiler @ ..] = fields[..] else {
            panic!("branches.tsv: a row of {} fields: {row}", fields.len());
        };
        let compiler = compiler.first().copied().unwrap_or_default();
        assert!(!reason.is_empty(), "branches.tsv: no reason: {row}");
        let most = match kind {
            "public" | "secret" => usize::MAX,
            _ => most.parse().expect("branches.tsv: a number"),
        };
        ((function, kind), most, compiler)
    })
}

/// The greatest number of jumps of a kind that function `name` may have under `compiler`.
pub(super) fn allowed(name: &str, kind: Kind, compiler: &str, used: &mut BTreeSet<Key>) -> usize {
    if name.contains(COMPARING) {
        let public = matches!(kind, Kind::Loaded | Kind::Division);
        return if public { usize::MAX } else { 0 };
    }
    let ours = name.contains("mldsa_") || name.contains("mladsa_");
    // Functions of the standard library are made for our types here. They run our
    // code where they are given a closure; without one they get lengths and addresses.
    let foreign = !is_ours(name);
    if !ours || (foreign && !name.contains("{closure")) {
        return if matches!(kind, Kind::Loaded | Kind::Division)
            || name.contains("mladsa_aggregate")
            || !ours
        {
            usize::MAX
        } else {
            0
        };
    }
    let matching: Vec<_> = rows()
        .filter(|&((function, _), _, only)| {
            (only.is_empty() || only == compiler)
                && match foreign {
                    true => is_of(name, function),
                    false => name.strip_prefix(function).is_some_and(is_after_name),
                }
        })
        .collect();
    let secret = !foreign && matching.iter().any(|((_, kind), ..)| *kind == "secret");
    let public = matching.iter().find(|((_, kind), ..)| *kind == "public");
    if let Some(&(key, ..)) = public.filter(|_| !secret) {
        used.insert(key);
        return usize::MAX;
    }
    let of_kind = matching
        .into_iter()
        .filter(|((_, of), ..)| *of == kind.name());
    let most = of_kind.map(|(key, most, _)| {
        used.insert(key);
        most
    });
    most.max().unwrap_or(0)
}

/// A crate whose functions compare our secrets. Those of `zeroize` only write.
const COMPARING: &str = "subtle::";

/// Whether a name is one of our crates'.
pub(super) fn is_ours(name: &str) -> bool {
    name.starts_with("mldsa_") || name.starts_with("mladsa_")
}

/// Rows that no build needed.
pub(super) fn unused(compiler: &str, used: &BTreeSet<Key>) -> Vec<String> {
    rows()
        .filter(|((_, kind), _, only)| *kind != "secret" && (only.is_empty() || *only == compiler))
        .filter(|(key, ..)| !used.contains(key))
        .map(|((function, kind), ..)| {
            format!("`{function}` is listed ({kind}), but no build has it")
        })
        .collect()
}
