//! Lists the public items of the library crates, all features on, and compares them with
//! `docs/api`. Started by `cargo xtask api`; `--bless` writes the lists again.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

const CRATES: [&str; 5] = [
    "batch-verify",
    "mladsa-aggregate",
    "mldsa-core",
    "mldsa-evm-precompile",
    "mldsa-lowmem",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let bless = arguments == ["--bless"];
    if !bless && !arguments.is_empty() {
        eprintln!("`api` takes --bless");
        return ExitCode::from(2);
    }
    match run(bless) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(bless: bool) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = root.parent().ok_or("no root")?;
    let nightly = nightly(root)?;
    println!("| crate | items | methods |\n|---|--:|--:|");
    let mut sum = [0, 0];
    let mut changed = Vec::new();
    for name in CRATES {
        let listed = list(root, &nightly, name)?;
        let methods = listed.iter().filter(|line| is_method(line)).count();
        let items = listed.iter().filter(|line| is_item(line)).count();
        println!("| {name} | {items} | {methods} |");
        sum = [sum[0] + items, sum[1] + methods];
        let path = root.join("docs/api").join(name).with_extension("txt");
        let text = listed.join("\n") + "\n";
        if bless {
            fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
            continue;
        }
        let known = fs::read_to_string(&path).unwrap_or_default();
        let (known, now): (Vec<&str>, Vec<&str>) =
            (known.lines().collect(), text.lines().collect());
        let gone = known.iter().filter(|line| !now.contains(line));
        let new = now.iter().filter(|line| !known.contains(line));
        changed.extend(gone.map(|line| format!("- {line}")));
        changed.extend(new.map(|line| format!("+ {line}")));
    }
    println!("| sum | {} | {} |", sum[0], sum[1]);
    if changed.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "{}\nif meant: cargo xtask api --bless, and an entry in CHANGELOG.md",
            changed.join("\n")
        ))
    }
}

/// The compiler whose rustdoc writes the JSON that the library reads.
fn nightly(root: &Path) -> Result<String, String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(|e| e.to_string())?;
    let value = manifest
        .lines()
        .find_map(|line| line.strip_prefix("nightly = \""));
    let value = value.ok_or("Cargo.toml names no nightly compiler")?;
    Ok(value.trim_end_matches('"').into())
}

/// One line an item, without implementations of derived, blanket and automatic traits.
fn list(root: &Path, nightly: &str, name: &str) -> Result<Vec<String>, String> {
    let target = root.join("target/api");
    // `cargo +TOOLCHAIN` is rustup's; the variable of this process names cargo itself.
    let status = Command::new("cargo")
        .args([
            &format!("+{nightly}"),
            "rustdoc",
            "--locked",
            "--quiet",
            "--lib",
        ])
        .args(["--all-features", "--package", name, "--"])
        .args([
            "-Zunstable-options",
            "--output-format=json",
            "--cap-lints=allow",
        ])
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("rustdoc of {name}: {status}"));
    }
    let json = target
        .join("doc")
        .join(name.replace('-', "_"))
        .with_extension("json");
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| error.to_string())?;
    Ok(api.items().map(ToString::to_string).collect())
}

/// Whether a line is of a type, a trait, a macro, a free function or a free constant.
fn is_item(line: &str) -> bool {
    [
        "struct", "enum", "union", "trait", "type", "macro", "static",
    ]
    .iter()
    .any(|kind| declares(line, kind) && !is_associated(line))
        || (["fn", "const"].iter().any(|kind| declares(line, kind)) && !is_associated(line))
}

fn is_method(line: &str) -> bool {
    declares(line, "fn") && is_associated(line)
}

/// Whether a line declares a public item of this kind: attributes, `pub`, words, the path.
fn declares(line: &str, kind: &str) -> bool {
    let words = line.split(' ').skip_while(|word| *word != "pub").skip(1);
    let mut words = words.take_while(|word| !word.contains("::"));
    !line.starts_with("impl") && words.any(|word| word.trim_end_matches('!') == kind)
}

/// Whether the declared item belongs to a type or a trait.
fn is_associated(line: &str) -> bool {
    let start = line
        .find("::")
        .map_or(0, |at| line[..at].rfind(' ').map_or(0, |at| at + 1));
    // The path without the parameters of types.
    let mut path = String::new();
    let mut depth = 0;
    let mut last = ' ';
    for c in line[start..].chars() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            '(' | ' ' | '=' if depth == 0 => break,
            _ if depth == 0 => path.push(c),
            _ => {}
        }
        last = c;
    }
    let path = path.trim_end_matches(':');
    let owner = path.rsplit_once("::").map_or("", |(owner, _)| owner);
    let mut names = owner.split("::");
    names.any(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::{is_item, is_method};

    #[test]
    fn lines_of_the_list_are_told_apart() {
        for line in [
            "pub struct a::B<'b, C: d::E>",
            "#[non_exhaustive] pub enum a::b::C",
            "pub fn a::b::c<D: a::E>(&D) -> a::F::G",
            "pub const a::B: usize",
            "pub macro a::b!",
        ] {
            assert!(is_item(line) && !is_method(line), "{line}");
        }
        for line in [
            "pub fn a::B<'b, C, D>::e<'f>(&mut self, &[u8]) -> u8",
            "pub const fn a::B::new() -> Self",
        ] {
            assert!(is_method(line) && !is_item(line), "{line}");
        }
        for line in [
            "pub mod a::b",
            "pub a::B::c: u8",
            "pub type a::B::C",
            "impl a::B for c::D",
        ] {
            assert!(!is_item(line) && !is_method(line), "{line}");
        }
    }
}
