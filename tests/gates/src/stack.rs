//! Stack and heap: `figures/stack.tsv` holds the depth of every operation on every
//! backend: unoptimised, in cargo's default release profile, and in one codegen
//! unit. A run may not exceed it by more than [`tolerance`]; `--bless` records new
//! figures, and the commit says why. Backends that the CPU lacks are not run.
//!
//! `lanes` are nine signatures in one call from the encoded keys, `batch` is `batch-verify` on the calling
//! thread, over expanded, packed, compact and unknown keys. The tiers of `mldsa-lowmem` run over 200
//! signatures each in release, 8 at opt-level 0, and those rejected for every reason.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use mldsa_core::Backend;

use crate::{Verdict, build, cargo, compiler, heading, recorded, root, succeed};

const FIGURES: &str = "tests/gates/figures/stack.tsv";

/// The part of a thread of 128 KiB that is left for an operation: its own start and
/// thread-local memory take less than 8 KiB. SIMD kernels that nothing optimised do
/// not promise it; those of a debug build with an optimised core do.
const CEILING: usize = 120 * 1024;
/// The most that an optimised operation takes that does not sign, whatever the backend and however
/// many signatures.
const MOST: usize = 48 * 1024;
/// The same in a debug build with an optimised core.
const MOST_DEBUG: usize = 52 * 1024;
/// A debug build as users have it: signatures of each low-memory tier, and threads of 128 KiB on
/// every backend.
const DEBUG: (&str, [&str; 2]) = ("debug-build", ["8", "small"]);
/// The most that optimised key generation, import and signing take on any backend,
/// 44, 65 and 87: what they took on the portable one when this was promised, and 1 kB more for
/// signing since its wipe of kernel frames covers 4 kB. In 65 and 87 signing keeps packed masks for
/// later attempts: 3,072 and 1,792 bytes more.
const SECRET: [(&str, [usize; 3]); 4] = [
    ("keygen", [25_896, 41_256, 69_928]),
    ("import", [26_088, 41_448, 70_120]),
    ("sign", [44_120, 67_672, 101_144]),
    ("sign prepared", [19_160, 25_304, 28_120]),
];

/// The limits of the low-memory signer, in every parameter set and tier: keygen,
/// sign, verify. Workspaces are not counted.
const SMALL_RELEASE: [(&str, usize); 3] = [("keygen", 3_500), ("sign", 4_200), ("verify", 4_600)];
/// The same with nothing optimised in any crate.
const SMALL_DEBUG: usize = 12 * 1024;
/// The builds: title, profile, codegen units, signatures of each low-memory tier.
/// Unoptimised ones are slow, and depth does not depend on the number of attempts.
/// 16 units are cargo's default.
const BUILDS: [(&str, &str, Option<&str>, &str); 3] = [
    ("opt-level 0", "unoptimised", None, "8"),
    ("release", "release", None, "200"),
    ("one unit", "release", Some("1"), "200"),
];

/// Operation to depth in each of [`BUILDS`].
type Depths = BTreeMap<String, [usize; BUILDS.len()]>;

pub(crate) fn run(arguments: &[String]) -> Verdict {
    let outcome =
        heap().and_then(|()| check(arguments.iter().any(|argument| argument == "--bless")));
    outcome.unwrap_or_else(Verdict::Failed)
}

/// Counts blocks and bytes with dhat: `tests/heap.rs` of the core and the low-memory signer, and
/// `tests/allocation.rs` of batches.
fn heap() -> Result<(), String> {
    for name in ["heap", "allocation"] {
        succeed(cargo("test", "release").args(["--test", name, "--", "--nocapture"]))?;
    }
    Ok(())
}

fn check(bless: bool) -> Result<Verdict, String> {
    let mut depths = Depths::new();
    for (n, (_, profile, units, signatures)) in BUILDS.into_iter().enumerate() {
        for (name, depth) in measure(profile, units, &[signatures])? {
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
    let text = fs::read_to_string(&path).map_err(|e| format!("{FIGURES}: {e}"))?;
    let compiler = compiler()?;
    let rows = recorded(&text, &compiler);
    let mut known = parse(rows.as_ref().unwrap_or(&""));
    let missing: Vec<&str> = ["avx2", "avx512"]
        .into_iter()
        .filter(|name| Backend::from_name(name).is_none())
        .collect();
    for name in &missing {
        println!("{name}: not run, this CPU lacks it");
    }
    // Operations that cannot run here keep their record.
    let absent = |name: &str| name.split(' ').any(|word| missing.contains(&word));
    if bless {
        known.retain(|name, _| absent(name));
        known.extend(depths.clone());
        let lines = known.iter().map(|(name, depths)| {
            let depths = depths.map(|depth| depth.to_string());
            format!("{name}\t{}\n", depths.join("\t"))
        });
        let text = format!("{}\n{}", heading(&compiler), lines.collect::<String>());
        fs::write(&path, text).map_err(|e| e.to_string())?;
    }
    let titles = BUILDS.map(|(title, ..)| title);
    println!("| operation | {} |\n|---|--:|--:|--:|", titles.join(" | "));
    for (name, depths) in &depths {
        let depths = depths.map(|depth| depth.to_string());
        println!("| {name} | {} |", depths.join(" | "));
    }
    let mut complaints = match rows {
        Ok(_) => compare(&known, &depths),
        Err(_) => Vec::new(),
    };
    let gone = known.keys().filter(|name| !depths.contains_key(*name));
    for name in gone.filter(|name| !absent(name)) {
        complaints.push(format!("{name}: recorded, but nothing ran under that name"));
    }
    complaints.extend(small_promises(&depths));
    complaints.extend(backend_promises(&depths));
    println!("| operation | {} |\n|---|--:|", DEBUG.0);
    for (name, depth) in measure(DEBUG.0, None, &DEBUG.1)? {
        println!("| {name} | {depth} |");
        let limit = if name.contains(" sign") {
            CEILING
        } else {
            MOST_DEBUG
        };
        if depth > limit && !name.starts_with("planted") {
            complaints.push(format!(
                "{name}: {depth} in a debug build, promised were {limit}"
            ));
        }
    }
    // Negative control: a byte too many has to be detected.
    let planted = [
        ("ML-DSA-87 avx2 verify lanes", [0, MOST + 1, 0]),
        ("ML-DSA-65 avx512 sign", [0, 0, 67_673]),
        ("ML-DSA-44 portable keygen", [CEILING + 1, 0, 0]),
    ];
    for (name, depths) in planted {
        if backend_promises(&BTreeMap::from([(name.into(), depths)])).len() != 1 {
            complaints.push(format!("planted: {name} was not detected"));
        }
    }
    if !complaints.is_empty() {
        Err(format!(
            "{}; if meant: -- stack --bless",
            complaints.join("; ")
        ))
    } else if let Err(reason) = rows
        && !bless
    {
        Ok(Verdict::NotRun(reason))
    } else {
        Ok(Verdict::Passed)
    }
}

/// Returns by how many bytes a depth may exceed its record: 256, and one part in 128 of it. Deep
/// operations move more, on CPUs too whose figures cannot be recorded where the change is made.
fn tolerance(recorded: usize) -> usize {
    256 + recorded / 128
}

fn compare(known: &Depths, measured: &Depths) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, depths) in measured {
        let Some(recorded) = known.get(name) else {
            complaints.push(format!("{name}: not recorded"));
            continue;
        };
        for (&depth, &recorded) in depths.iter().zip(recorded) {
            if depth > recorded + tolerance(recorded) {
                complaints.push(format!("{name}: {recorded} became {depth}"));
            }
        }
    }
    complaints
}

fn small_promises(depths: &Depths) -> Vec<String> {
    let promises = depths
        .iter()
        .filter_map(|(name, [unoptimised, release @ ..])| {
            let operation = name.split_once(" lowmem ")?.1;
            let (_, limit) = SMALL_RELEASE
                .iter()
                .find(|(of, _)| operation.starts_with(of))?;
            (release.iter().any(|depth| depth > limit) || *unoptimised > SMALL_DEBUG).then(|| {
                format!(
                    "{name}: {unoptimised} and {release:?}, promised were {SMALL_DEBUG} and {limit}"
                )
            })
        });
    promises.collect()
}

fn backend_promises(depths: &Depths) -> Vec<String> {
    let mut broken = Vec::new();
    for (name, [unoptimised, optimised @ ..]) in depths {
        let mut words = name.splitn(3, ' ');
        let (Some(set), Some(backend), Some(operation)) =
            (words.next(), words.next(), words.next())
        else {
            continue;
        };
        if backend == "portable" && *unoptimised > CEILING {
            broken.push(format!("{name}: {unoptimised} is too much for 128 KiB"));
        }
        let secret = SECRET.iter().find(|(of, _)| *of == operation);
        let limit = match (secret, set) {
            (Some((_, limits)), "ML-DSA-44") => limits[0],
            (Some((_, limits)), "ML-DSA-65") => limits[1],
            (Some((_, limits)), _) => limits[2],
            (None, _) => MOST,
        };
        if let Some(depth) = optimised.iter().find(|depth| **depth > limit) {
            broken.push(format!("{name}: {depth}, promised were {limit}"));
        }
    }
    broken
}

fn parse(text: &str) -> Depths {
    let line = |line: &str| {
        let mut fields = line.split('\t');
        let name = fields.next()?.to_owned();
        let mut depth = || fields.next()?.parse().ok();
        Some((name, [depth()?, depth()?, depth()?]))
    };
    text.lines().filter_map(line).collect()
}

fn measure(
    profile: &str,
    units: Option<&str>,
    arguments: &[&str],
) -> Result<Vec<(String, usize)>, String> {
    let settings = units.map(|units| ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", units));
    let program = build("depths", profile, settings.as_slice())?;
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
