//! Instruction counts: `figures/instructions.tsv` holds what each operation
//! took, and a run may differ by [`TOLERANCE`] of it, in either direction: a gain
//! is recorded too, with `--bless`, and the commit says why.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use mldsa_core::Backend;

use crate::{Verdict, build, compiler, heading, missing, recorded, root, succeed, target};

/// Callgrind counts the same program alike every time; other builds of one
/// compiler differ by layout.
const TOLERANCE: f64 = 0.005;
const FIGURES: &str = "tests/gates/figures/instructions.tsv";

pub(crate) fn run(arguments: &[String]) -> Verdict {
    if let Some(reason) = missing("valgrind") {
        return Verdict::NotRun(reason);
    }
    let counted = match count() {
        Ok(counted) => counted,
        Err(reason) => return Verdict::Failed(reason),
    };
    let path = root().join(FIGURES);
    let (compiler, text) = match (compiler(), fs::read_to_string(&path)) {
        (Ok(compiler), Ok(text)) => (compiler, text),
        (Err(reason), _) => return Verdict::Failed(reason),
        (_, Err(error)) => return Verdict::Failed(format!("{FIGURES}: {error}")),
    };
    let rows = recorded(&text, &compiler);
    let mut known = parse(rows.as_ref().unwrap_or(&""));
    if arguments.iter().any(|argument| argument == "--bless") {
        known.retain(|name, _| lacking(name));
        known.extend(counted);
        let lines = known
            .iter()
            .map(|(name, count)| format!("{name}\t{count}\n"));
        let text = format!("{}\n{}", heading(&compiler), lines.collect::<String>());
        let written = fs::write(path, text);
        return written.map_or_else(|e| Verdict::Failed(e.to_string()), |()| Verdict::Passed);
    }
    let complaints = compare(&known, &counted);
    // Negative control: a hundredth more or less has to be detected.
    for change in [0.99, 1.01] {
        let planted = counted
            .iter()
            .map(|(name, &count)| (name.clone(), count as f64 * change));
        let planted = planted.map(|(name, count)| (name, count as u64)).collect();
        if compare(&counted, &planted).len() != counted.len() {
            return Verdict::Failed("a planted change was not detected".into());
        }
    }
    println!("| operation | instructions | recorded |\n|---|--:|--:|");
    for (name, count) in &counted {
        let recorded = known.get(name).map_or("-".into(), u64::to_string);
        println!("| {name} | {count} | {recorded} |");
    }
    if let Err(reason) = rows {
        Verdict::NotRun(reason)
    } else if complaints.is_empty() {
        Verdict::Passed
    } else {
        Verdict::Failed(format!(
            "{}; if meant: -- counts --bless",
            complaints.join("; ")
        ))
    }
}

/// The differences. Operations of backends that this machine lacks are left out.
fn compare(known: &BTreeMap<String, u64>, counted: &BTreeMap<String, u64>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, &count) in counted {
        match known.get(name) {
            None => complaints.push(format!("{name}: not recorded")),
            Some(&was) if (count as f64 / was as f64 - 1.0).abs() > TOLERANCE => {
                complaints.push(format!("{name}: {was} became {count}"));
            }
            Some(_) => {}
        }
    }
    let gone = known.keys().filter(|name| !counted.contains_key(*name));
    for name in gone.filter(|name| !lacking(name)) {
        complaints.push(format!("{name}: recorded, but nothing ran under that name"));
    }
    complaints
}

/// Whether an operation is of a backend that this CPU has not.
fn lacking(name: &str) -> bool {
    let mut words = name.split(' ');
    words.any(|word| word == "avx2") && Backend::from_name("avx2").is_none()
}

fn parse(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (name, count) = line.split_once('\t')?;
            Some((name.into(), count.parse().ok()?))
        })
        .collect()
}

/// Runs the program and reads the dump that each operation left.
fn count() -> Result<BTreeMap<String, u64>, String> {
    let program = build("counts", "release", &[])?;
    let folder = target().join("callgrind");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let out = format!("--callgrind-out-file={}", folder.join("out").display());
    succeed(
        Command::new("valgrind")
            .args(["--quiet", "--tool=callgrind", "--log-file=/dev/null", &out])
            .arg(program),
    )?;
    let mut counted = BTreeMap::new();
    for entry in fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten() {
        let dump = fs::read_to_string(entry.path()).map_err(|e| e.to_string())?;
        let field = |key: &str| dump.lines().find_map(|line| line.strip_prefix(key));
        let name = field("desc: Trigger: Client Request: ");
        let count = field("summary: ").or_else(|| field("totals: "));
        if let (Some(name), Some(Ok(count))) = (name, count.map(|count| count.trim().parse())) {
            counted.insert(name.to_owned(), count);
        }
    }
    if counted.is_empty() {
        return Err("Callgrind left no counts".into());
    }
    Ok(counted)
}
