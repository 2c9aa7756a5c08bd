//! Conditional jumps of the functions that handle secrets, as the compiler made
//! them for targets that nothing here may be able to run: `docs/constant-time.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{Verdict, compiler, cross, installed, succeed, target, unknown};

mod list;
mod reader;

use reader::{Dialect, Found, Kind};

/// Target, its dialect, the features it has (the aggregate shares by `Arc`), and the
/// levels of optimisation that are read unless `--all` is said.
const TARGETS: [(&str, Dialect, &str, &[&str]); 6] = [
    ("thumbv6m-none-eabi", Dialect::Thumb, "", &["s", "z", "3"]),
    ("thumbv7em-none-eabi", Dialect::Thumb, "aggregate", &["s"]),
    (
        "riscv32imc-unknown-none-elf",
        Dialect::Riscv,
        "",
        &["s", "3"],
    ),
    (
        "aarch64-unknown-linux-gnu",
        Dialect::Arm64,
        "aggregate,simd",
        &["3"],
    ),
    ("i686-unknown-linux-gnu", Dialect::X86, "aggregate", &["2"]),
    (
        "x86_64-unknown-linux-gnu",
        Dialect::X86,
        "aggregate,simd",
        &["s"],
    ),
];

const ALL_LEVELS: &[&str] = &["s", "z", "2", "3"];

/// Codegen units: cargo's default profile, and this workspace's.
const ALL_UNITS: [&str; 2] = ["16", "1"];

/// Every file of a crate of this workspace, and of those that work on its secrets.
const CRATES: [&str; 6] = [
    "mladsa_aggregate-",
    "mldsa_core-",
    "mldsa_gate_roots-",
    "mldsa_lowmem-",
    "subtle-",
    "zeroize-",
];

/// In `tests/gates/roots/src/planted.rs`, with what each has to be found for.
const PLANTED: [(&str, Kind); 5] = [
    ("sign_of_a_sum", Kind::Sign),
    ("early_end", Kind::Sign),
    ("zero_or_not", Kind::Loaded),
    ("code_word_range", Kind::Loaded),
    ("equal_bytes", Kind::Compare),
];

/// `--all`: every level, and both numbers of codegen units. `--print`: every
/// function with its jumps. Names of targets: those alone.
pub(crate) fn run(arguments: &[String]) -> Verdict {
    let target = |name: &str| TARGETS.iter().any(|target| target.0 == name);
    if let Some(argument) = unknown(arguments, &["--all", "--print"], target) {
        return Verdict::Failed(format!("no option or target `{argument}`"));
    }
    let said = |word: &str| arguments.iter().any(|argument| argument == word);
    let all = said("--all");
    let some = TARGETS.iter().any(|target| said(target.0));
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => return Verdict::Failed(reason),
    };
    println!("rustc {compiler}");
    let mut complaints = Vec::new();
    let mut used = BTreeSet::new();
    let mut absent = Vec::new();
    for &(name, dialect, features, levels) in &TARGETS {
        if some && !said(name) {
            continue;
        }
        if let Err(reason) = installed(name) {
            absent.push(reason);
            continue;
        }
        for level in if all { ALL_LEVELS } else { levels } {
            for units in &ALL_UNITS[..if all { 2 } else { 1 }] {
                let what = format!("{name}, opt-level {level}, {units} codegen units");
                let found = match compile(name, dialect, features, level, units) {
                    Ok(found) => found,
                    Err(reason) => return Verdict::Failed(format!("{what}: {reason}")),
                };
                if said("--print") {
                    print(&found);
                }
                complaints.extend(judge(&what, &compiler, &found, &mut used));
            }
        }
    }
    // Only a complete run can show that an entry is of no use.
    if all && !some && absent.is_empty() {
        complaints.extend(list::unused(&compiler, &used));
    }
    let advice = "\nread each: it needs a barrier, or a row in tests/gates/figures/branches.tsv";
    Verdict::of(&complaints, advice, &absent)
}

/// Compiles everything anew, because what is fresh leaves no assembler, and reads it.
fn compile(
    name: &str,
    dialect: Dialect,
    features: &str,
    level: &str,
    units: &str,
) -> Result<Found, String> {
    let folder = target().join("branches");
    let _ = fs::remove_dir_all(folder.join(name));
    let mut cargo = cross(name, &folder);
    cargo
        .args(["-p", "mldsa-gate-roots", "--features", features])
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level)
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", units)
        // Names that distinguish instances of a generic function.
        .env("RUSTFLAGS", "--emit=asm -Csymbol-mangling-version=v0");
    succeed(&mut cargo)?;
    let mut found = Found::default();
    let files = fs::read_dir(folder.join(name).join("release/deps")).map_err(|e| e.to_string())?;
    for file in files.flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".s") && CRATES.iter().any(|ours| name.starts_with(ours)) {
            let text = fs::read_to_string(file.path()).map_err(|e| e.to_string())?;
            reader::read(dialect, &text, &mut found);
        }
    }
    Ok(found)
}

/// Comparisons in instances of the standard library's functions, counted in the functions
/// that call them: at opt-level z `==` of arrays is such an instance.
fn with_comparisons(found: &Found) -> BTreeMap<&str, BTreeMap<Kind, usize>> {
    let foreign = |name: &str| !list::is_ours(&plain(name));
    let compares: BTreeSet<&str> = found
        .jumps
        .iter()
        .filter(|(name, kinds)| kinds.contains_key(&Kind::Compare) && foreign(name))
        .map(|(name, _)| name.as_str())
        .collect();
    let mut all = BTreeMap::new();
    for (name, kinds) in &found.jumps {
        let calls = found.calls.get(name).into_iter().flatten();
        let more = calls.filter(|to| compares.contains(to.as_str())).count();
        let mut kinds = kinds.clone();
        if more > 0 {
            *kinds.entry(Kind::Compare).or_default() += more;
        }
        all.insert(name.as_str(), kinds);
    }
    all
}

/// The complaints about one build.
fn judge(what: &str, compiler: &str, found: &Found, used: &mut BTreeSet<list::Key>) -> Vec<String> {
    let found = with_comparisons(found);
    let mut complaints = BTreeSet::new();
    if found.len() < 200 {
        complaints.insert(format!("{what}: only {} functions", found.len()));
    }
    for (function, kind) in PLANTED {
        let noticed = found.iter().any(|(name, jumps)| {
            plain(name).ends_with(&format!("planted::{function}")) && jumps.contains_key(&kind)
        });
        if !noticed {
            complaints.insert(format!("{what}: planted `{function}` was not detected"));
        }
    }
    let mut jumps = 0;
    for (name, kinds) in &found {
        let name = plain(name);
        if name.contains("planted::") {
            continue;
        }
        jumps += kinds.values().sum::<usize>();
        for (&kind, &count) in kinds {
            let allowed = list::allowed(&name, kind, compiler, used);
            if count > allowed {
                complaints.insert(format!(
                    "{what}: {name}: {kind:?} {count}, listed {allowed}"
                ));
            }
        }
    }
    println!(
        "{what}: {} functions, {jumps} jumps that may hang on data",
        found.len()
    );
    complaints.into_iter().collect()
}

/// A name without hashes, without the types of a function's parameters, and of a
/// method of this workspace without those of its type: `mldsa_core::hash::xof::Sponge::absorb`.
fn plain(mangled: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(mangled));
    let name = name.split(" (.llvm").next().unwrap_or(&name);
    // `<Type>::method`, not `<Type as Trait>::method`.
    if let Some(rest) = name.strip_prefix('<')
        && let Some(end) = closing(rest)
        && !rest[..end].contains(" as ")
        && list::is_ours(rest)
    {
        return without_types(&rest[..end]) + &without_types(&rest[end + 1..]);
    }
    if list::is_ours(name) {
        without_types(name)
    } else {
        // Its types name the closures that it runs.
        name.into()
    }
}

/// The position at which the angle bracket before `text` is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if last == '-' => {}
            '>' if depth == 0 => return Some(at),
            '>' => depth -= 1,
            _ => {}
        }
        last = c;
    }
    None
}

fn without_types(name: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    while let Some((before, types)) = rest.split_once('<') {
        plain.push_str(before.trim_end_matches("::"));
        rest = closing(types).map_or("", |end| &types[end + 1..]);
    }
    plain + rest
}

fn print(found: &Found) {
    let mut merged = BTreeMap::<_, BTreeMap<Kind, usize>>::new();
    for (name, kinds) in &found.jumps {
        for (&kind, &count) in kinds {
            let kinds = merged.entry(plain(name)).or_default();
            let most = kinds.entry(kind).or_default();
            *most = (*most).max(count);
        }
    }
    for (name, kinds) in merged {
        println!("{name} {kinds:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::{closing, plain, without_types};

    #[test]
    fn names_lose_what_the_list_does_not_say() {
        assert_eq!(without_types("a::b::<c::D<e>, fn() -> f>::g"), "a::b::g");
        assert_eq!(without_types("a::Sponge<136>"), "a::Sponge");
        assert_eq!(closing("a<b -> c>>::d"), Some(9));
        assert_eq!(plain("_RNvNtC1a1b1c"), "a::b::c");
    }
}
