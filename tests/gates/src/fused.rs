//! Kernels are whole: what a kernel is made of has been inlined into it. A helper that
//! became a function of its own passes vectors through memory; cargo's default profile
//! cuts a crate in 16 units, where that happens unless it is written so that it cannot.

use std::collections::BTreeSet;

use crate::branches::{self, Dialect};
use crate::{Verdict, installed, unknown};

/// The functions that are not inlined, by target and with the reason; names without `mldsa_core::`.
const ALONE: &str = include_str!("../figures/fused.tsv");

/// Target, its dialect, its features, and where its kernels are.
const TARGETS: [(&str, Dialect, &str, &[&str]); 2] = [
    (
        "x86_64-unknown-linux-gnu",
        Dialect::X86,
        "simd",
        &["backend::avx2::", "backend::avx512::"],
    ),
    (
        "thumbv7em-none-eabi",
        Dialect::Thumb,
        "",
        &["memory::ct::", "memory::barrier::", "ring::", "streaming::"],
    ),
];

/// A helper in `tests/gates/roots/src/planted.rs` that must be detected.
const PLANTED: &str = "planted::note";

/// `--print`: every function that is not fused.
pub(crate) fn run(arguments: &[String]) -> Verdict {
    if let Some(argument) = unknown(arguments, &["--print"], |_| false) {
        return Verdict::Failed(format!("no option `{argument}`"));
    }
    let print = !arguments.is_empty();
    let mut complaints = Vec::new();
    let mut absent = Vec::new();
    for (target, dialect, features, places) in TARGETS {
        if let Err(reason) = installed(target) {
            absent.push(reason);
            continue;
        }
        // Level and units of cargo's default profile.
        let found = match branches::compile(target, dialect, features, "3", "16") {
            Ok(found) => found,
            Err(reason) => return Verdict::Failed(format!("{target}: {reason}")),
        };
        let names: BTreeSet<String> = found
            .jumps
            .keys()
            .map(|name| branches::plain(name))
            .collect();
        if !names.iter().any(|name| name.ends_with(PLANTED)) {
            complaints.push(format!("{target}: planted helper was not detected"));
        }
        let kernels: BTreeSet<&str> = names
            .iter()
            .filter_map(|name| name.strip_prefix("mldsa_core::"))
            .filter(|name| places.iter().any(|place| name.starts_with(place)))
            .map(without_closures)
            .collect();
        println!("{target}: {} kernels stand alone", kernels.len());
        if print {
            kernels.iter().for_each(|name| println!("  {name}"));
        }
        let listed: BTreeSet<&str> = ALONE
            .lines()
            .filter_map(|row| row.strip_prefix(target)?.trim_start().split('\t').next())
            .collect();
        for name in kernels.difference(&listed) {
            complaints.push(format!("{target}: {name} is a function of its own"));
        }
        for name in listed.difference(&kernels) {
            complaints.push(format!(
                "{target}: {name} is listed, but is not a function of its own"
            ));
        }
    }
    let advice = "\nmake it fuse (#[inline(always)], docs/simd.md), or list it in \
                  tests/gates/figures/fused.tsv";
    Verdict::of(&complaints, advice, &absent)
}

/// `a::b` of `a::b::{closure#0}`.
fn without_closures(name: &str) -> &str {
    name.split("::{").next().unwrap_or(name)
}
