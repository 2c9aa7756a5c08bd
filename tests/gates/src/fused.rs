//! Kernels are whole: what a kernel is made of has been inlined into it. A helper that
//! became a function of its own passes vectors through memory; cargo's default profile
//! cuts a crate in 16 units, where that happens unless it is written so that it cannot.

use std::collections::BTreeSet;

use crate::branches::{self, Dialect};
use crate::{Verdict, unknown};

/// Target, its dialect, features, where kernels are, and the functions that stand there.
const TARGETS: [(&str, Dialect, &str, &[&str], &[(&str, &str)]); 2] = [
    (
        "x86_64-unknown-linux-gnu",
        Dialect::X86,
        "simd",
        &["mldsa_core::backend::avx", "mldsa_core::lanes"],
        WHOLE_X86,
    ),
    (
        "thumbv7em-none-eabi",
        Dialect::Thumb,
        "",
        &[
            "mldsa_core::ring",
            "mldsa_core::memory::ct",
            "mldsa_core::memory::barrier",
            "mldsa_core::streaming",
        ],
        WHOLE_THUMB,
    ),
];

/// An entry of the table of a backend, or what it jumps to.
const ENTRY: &str = "entry of a table";
/// Its frame must be gone when its caller goes on, or would add to others.
const FRAME: &str = "a frame of its own";
/// Called rarely, from several places, and through memory in any case.
const SHARED: &str = "one copy for several callers";

const WHOLE_X86: &[(&str, &str)] = &[];

const WHOLE_THUMB: &[(&str, &str)] = &[];

/// A helper in `tests/gates/roots/src/planted.rs` that must be noticed.
const PLANTED: &str = "planted::note";

/// `--print`: every function that stands alone.
pub(crate) fn run(arguments: &[String]) -> Verdict {
    if let Some(argument) = unknown(arguments, &["--print"], |_| false) {
        return Verdict::Failed(format!("no option `{argument}`"));
    }
    let print = !arguments.is_empty();
    let mut complaints = Vec::new();
    let mut absent = Vec::new();
    for (target, dialect, features, rooms, whole) in TARGETS {
        if let Err(reason) = branches::installed(target) {
            absent.push(reason);
            continue;
        }
        // Level and units of cargo's default profile.
        let found = match branches::compile(target, dialect, features, "3", "16") {
            Ok(found) => found,
            Err(reason) => return Verdict::Failed(format!("{target}: {reason}")),
        };
        let names: BTreeSet<String> = found.keys().map(|name| branches::plain(name)).collect();
        let kernels = names.iter().filter(|name| {
            rooms.iter().any(|room| name.starts_with(room)) || name.ends_with(PLANTED)
        });
        let kernels: Vec<&str> = kernels.map(|name| without_closures(name)).collect();
        println!("{target}: {} functions among the kernels", kernels.len());
        if print {
            kernels.iter().for_each(|name| println!("  {name}"));
        }
        if !kernels.iter().any(|name| name.ends_with(PLANTED)) {
            complaints.push(format!("{target}: planted helper went unnoticed"));
        }
        let alone = kernels.iter().filter(|name| !name.ends_with(PLANTED));
        for name in alone.filter(|name| !whole.iter().any(|(listed, _)| listed == *name)) {
            complaints.push(format!("{target}: {name} is a function of its own"));
        }
        for (listed, _) in whole.iter().filter(|(listed, _)| !kernels.contains(listed)) {
            complaints.push(format!("{target}: {listed} stands in the list for nothing"));
        }
    }
    if !complaints.is_empty() {
        Verdict::Failed(format!(
            "\n  {}\nmake it fuse (#[inline(always)], docs/simd.md), or list it in \
             tests/gates/src/fused.rs",
            complaints.join("\n  ")
        ))
    } else if absent.is_empty() {
        Verdict::Passed
    } else {
        Verdict::NotRun(absent.join("; "))
    }
}

/// `a::b` of `a::b::{closure#0}`.
fn without_closures(name: &str) -> &str {
    name.split("::{").next().unwrap_or(name)
}
