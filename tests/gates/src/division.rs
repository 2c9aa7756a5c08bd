//! No integer division where secrets are handled: its time depends on the
//! operands on most CPUs. Compilers make multiplications of divisions by
//! constants, but not at every size, so the release build is read.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::{Verdict, build, is_of, missing};

/// Functions that divide public values: how many instructions at most, and what.
/// One 64-bit division may be two instructions, the other for short operands.
const ALLOWED: [(&str, usize, &str); 10] = [
    ("mldsa_core::sample::expand_a", 2, ENTRY),
    ("mldsa_core::backend::avx2::reject::expand_a", 8, ENTRY),
    ("mldsa_core::backend::avx2::product::product_of", 12, ROWS),
    (
        "mldsa_core::backend::avx512::reject::Stream::expand",
        32,
        ENTRY,
    ),
    ("mldsa_core::backend::avx512::verify::prepare", 2, ROWS),
    ("mldsa_core::backend::rows::commitment", 2, ROWS),
    ("mldsa_core::scheme::sign::commit", 2, ROWS),
    ("mldsa_core::scheme::sign::respond_z", 2, ROWS),
    ("mldsa_core::scheme::keygen::check_secret_range", 2, ROWS),
    ("mldsa_core::scheme::keygen::unpack_ntt", 2, ROWS),
];
const ENTRY: &str = "the index of an entry of A, by the length of a row";
const ROWS: &str = "the length of a section, by that of a row";

/// The names of the library and of this package in symbols.
const OURS: [&str; 2] = ["mldsa_core", "counts"];

pub(crate) fn run(_: &[String]) -> Verdict {
    if !cfg!(target_arch = "x86_64") {
        return Verdict::NotRun("reads x86-64 only".into());
    }
    if let Some(reason) = missing("objdump") {
        return Verdict::NotRun(reason);
    }
    check().into()
}

fn check() -> Result<(), String> {
    let program = build("counts", "release", &[])?;
    let output = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn"])
        .arg(program)
        .output()
        .map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (functions, divisions) = divisions(&text);
    println!("{functions} functions of this workspace read");
    if functions < 50 {
        return Err("too few functions: are the symbols stripped?".into());
    }
    let planted = |name: &str| name.contains("planted_division");
    if !divisions.keys().any(|name| planted(name)) {
        return Err("the planted division was not detected".into());
    }
    let mut used = BTreeSet::new();
    let mut complaints = Vec::new();
    for (name, count) in divisions.iter().filter(|(name, _)| !planted(name)) {
        let entry = ALLOWED.iter().find(|(entry, ..)| is_of(name, entry));
        let most = entry.map_or(0, |&(entry, most, what)| {
            used.insert(entry);
            println!("{entry}: {what}");
            most
        });
        if *count > most {
            complaints.push(format!("{name} divides {count} times, listed {most}"));
        }
    }
    // Backends that the CPU lacks were compiled all the same.
    for (entry, ..) in ALLOWED.iter().filter(|entry| !used.contains(entry.0)) {
        complaints.push(format!("{entry} is listed, but no function has it"));
    }
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(complaints.join("; "))
    }
}

/// The number of functions of this workspace, and the divisions of each.
fn divisions(disassembly: &str) -> (usize, BTreeMap<String, usize>) {
    let (mut functions, mut found) = (0, BTreeMap::new());
    let mut current = None;
    for line in disassembly.lines() {
        if let Some(name) = line
            .strip_suffix(">:")
            .and_then(|line| line.split_once('<'))
        {
            current = Some(name.1).filter(|name| OURS.iter().any(|ours| name.contains(ours)));
            functions += usize::from(current.is_some());
        } else if let Some(name) = current {
            let instruction = line.split_once(":\t").map_or("", |(_, text)| text);
            let mnemonic = instruction.split_whitespace().next().unwrap_or("");
            if mnemonic
                .trim_end_matches(['b', 'w', 'l', 'q'])
                .trim_start_matches('i')
                == "div"
            {
                *found.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
    (functions, found)
}
