//! Stack and heap: `figures/stack.tsv` holds the depth of every operation,
//! unoptimised and in release. A run may not exceed it by more than
//! [`TOLERANCE`]; `--bless` records new figures, and the commit says why.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::{Verdict, build, cargo, root, succeed};

const TOLERANCE: usize = 256;
const FIGURES: &str = "tests/gates/figures/stack.tsv";

/// What a thread of 128 KiB has left for an operation: its own start and
/// thread-local memory take less than 8 KiB.
const CEILING: usize = 120 * 1024;

/// What the low-memory signer promises, in every parameter set and tier: keygen,
/// sign, verify. Workspaces are not counted.
const SMALL_RELEASE: [(&str, usize); 3] = [("keygen", 3_500), ("sign", 4_200), ("verify", 4_600)];
/// The same with nothing optimised in any crate.
const SMALL_DEBUG: usize = 12 * 1024;
/// Signatures of each tier. Unoptimised ones are slow, and depth does not depend
/// on the number of attempts.
const SIGNATURES: [(&str, &str); 2] = [("unoptimised", "8"), ("release", "200")];

/// Operation to depth, unoptimised and release.
type Depths = BTreeMap<String, [usize; 2]>;

pub(crate) fn run(arguments: &[String]) -> Verdict {
    let outcome =
        heap().and_then(|()| check(arguments.iter().any(|argument| argument == "--bless")));
    outcome.map_or_else(Verdict::Failed, |()| Verdict::Passed)
}

/// Zero blocks for the forms that promise it: `tests/heap.rs`, with dhat.
fn heap() -> Result<(), String> {
    succeed(cargo("test", "release").args(["--test", "heap", "--", "--nocapture"]))
}

fn check(bless: bool) -> Result<(), String> {
    let mut depths = Depths::new();
    for (n, (profile, signatures)) in SIGNATURES.into_iter().enumerate() {
        for (name, depth) in measure(profile, &[signatures])? {
            depths.entry(name).or_default()[n] = depth;
        }
    }
    let small = depths.remove("planted small").unwrap_or_default();
    // An unoptimised build holds the array twice.
    if small.iter().any(|depth| !(3_000..6_500).contains(depth)) {
        return Err(format!(
            "the planted frame of 3000 bytes measured {small:?}"
        ));
    }
    let planted = depths.remove("planted").unwrap_or_default();
    if planted
        .iter()
        .any(|depth| !(99_000..210_000).contains(depth))
    {
        return Err(format!(
            "the planted frame of 100000 bytes measured {planted:?}"
        ));
    }
    let path = root().join(FIGURES);
    if bless {
        let lines = depths
            .iter()
            .map(|(name, [a, b])| format!("{name}\t{a}\t{b}\n"));
        fs::write(&path, lines.collect::<String>()).map_err(|e| e.to_string())?;
    }
    let known = parse(&fs::read_to_string(path).map_err(|e| format!("{FIGURES}: {e}"))?);
    println!("| operation | opt-level 0 | release |\n|---|--:|--:|");
    for (name, [unoptimised, release]) in &depths {
        println!("| {name} | {unoptimised} | {release} |");
    }
    let mut complaints = compare(&known, &depths);
    complaints.extend(small_promises(&depths));
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "{}; if meant: -- stack --bless",
            complaints.join("; ")
        ))
    }
}

fn compare(known: &Depths, measured: &Depths) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, depths) in measured {
        let Some(recorded) = known.get(name) else {
            complaints.push(format!("{name}: not recorded"));
            continue;
        };
        for (&depth, &recorded) in depths.iter().zip(recorded) {
            if depth > recorded + TOLERANCE {
                complaints.push(format!("{name}: {recorded} became {depth}"));
            }
            if depth > CEILING {
                complaints.push(format!("{name}: {depth} is too much for 128 KiB"));
            }
        }
    }
    complaints
}

fn small_promises(depths: &Depths) -> Vec<String> {
    let promises = depths.iter().filter_map(|(name, [unoptimised, release])| {
        let operation = name.split_once(" lowmem ")?.1;
        let (_, limit) = SMALL_RELEASE
            .iter()
            .find(|(of, _)| operation.starts_with(of))?;
        (release > limit || *unoptimised > SMALL_DEBUG).then(|| {
            format!("{name}: {unoptimised} and {release}, promised were {SMALL_DEBUG} and {limit}")
        })
    });
    promises.collect()
}

fn parse(text: &str) -> Depths {
    let line = |line: &str| {
        let mut fields = line.split('\t');
        let name = fields.next()?.to_owned();
        let mut depth = || fields.next()?.parse().ok();
        Some((name, [depth()?, depth()?]))
    };
    text.lines().filter_map(line).collect()
}

fn measure(profile: &str, arguments: &[&str]) -> Result<Vec<(String, usize)>, String> {
    let program = build("depths", profile, &[])?;
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!(
            "{profile}: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |line: &str| {
        let (name, depth) = line.split_once('\t')?;
        Some((name.to_owned(), depth.parse().ok()?))
    };
    Ok(text.lines().filter_map(line).collect())
}
