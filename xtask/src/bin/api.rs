//! Lists the public items of the library crates, all features on, and the declarations of the
//! interfaces for other languages, and compares them with `docs/api`. Started by
//! `cargo xtask api`; `--bless` writes the lists again.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use public_api::tokens::Token;
use public_api::{PublicApi, PublicItem};

const CRATES: [&str; 7] = [
    "batch-verify",
    "mladsa-aggregate",
    "mldsa-arrow",
    "mldsa-core",
    "mldsa-evm-precompile",
    "mldsa-gpu",
    "mldsa-lowmem",
];

/// Interfaces for other languages: the name of the list, and a command or files that declare it.
const OTHERS: [(&str, Source); 5] = [
    ("mldsa-c", Source::Files("crates/mldsa-c/include", ".h")),
    (
        "mldsa-lowmem-c",
        Source::Files("crates/mldsa-lowmem-c/include", ".h"),
    ),
    ("python", Source::Files("python/python/mldsa_batch", ".pyi")),
    ("js", Source::Files("js/src", ".d.ts")),
    ("go", Source::GoDoc("go")),
];

/// Where the declarations of an interface are.
enum Source {
    /// The files of a folder whose names have this ending.
    Files(&'static str, &'static str),
    /// What `go doc` prints of the package in a folder.
    GoDoc(&'static str),
}

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
        let api = list(root, &nightly, name)?;
        let (items, methods) = count(&api);
        println!("| {name} | {items} | {methods} |");
        sum = [sum[0] + items, sum[1] + methods];
        let listed: Vec<String> = api.items().map(ToString::to_string).collect();
        compare(root, name, &listed, bless, &mut changed)?;
    }
    for (name, source) in OTHERS {
        let listed = match source {
            Source::Files(folder, ending) => declared_in_files(&root.join(folder), ending)?,
            Source::GoDoc(folder) => declared_in_go(&root.join(folder))?,
        };
        println!("| {name} | {} lines | |", listed.len());
        compare(root, name, &listed, bless, &mut changed)?;
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

/// Compares a list with the file of its name in `docs/api`, or writes that file.
fn compare(
    root: &Path,
    name: &str,
    listed: &[String],
    bless: bool,
    changed: &mut Vec<String>,
) -> Result<(), String> {
    let path = root.join("docs/api").join(name).with_extension("txt");
    if bless {
        return fs::write(&path, listed.join("\n") + "\n")
            .map_err(|error| format!("{}: {error}", path.display()));
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let known: Vec<&str> = known.lines().collect();
    let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    if known != listed {
        let gone = known.iter().filter(|line| !listed.contains(line));
        changed.extend(gone.map(|line| format!("- {name}: {line}")));
        let new = listed.iter().filter(|line| !known.contains(line));
        changed.extend(new.map(|line| format!("+ {name}: {line}")));
        changed.push(format!("{name}: the list differs"));
    }
    Ok(())
}

/// The lines of declarations, without comments and blank lines.
fn declared_in_files(folder: &Path, ending: &str) -> Result<Vec<String>, String> {
    let name = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(name)?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(name)?.path();
        if path.to_string_lossy().ends_with(ending) {
            paths.push(path);
        }
    }
    paths.sort();
    let mut declared = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(name)?;
        declared.extend(path.file_name().map(|name| format!("[{}]", name.display())));
        declared.extend(without_comments(&text));
    }
    match declared.is_empty() {
        true => Err(format!("{}: no file *{ending}", folder.display())),
        false => Ok(declared),
    }
}

/// The lines of a text of C, TypeScript or Python that are neither blank nor of a comment alone.
fn without_comments(text: &str) -> Vec<String> {
    let mut end = None;
    let mut kept = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(mark) = end {
            end = (!trimmed.contains(mark)).then_some(mark);
            continue;
        }
        let opened = ["/*", "\"\"\""]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
        if let Some(mark) = opened {
            let close = if mark == "/*" { "*/" } else { mark };
            end = (!trimmed[mark.len()..].contains(close)).then_some(close);
            continue;
        }
        let is_comment = trimmed.starts_with("//") || trimmed.starts_with("# ");
        if !trimmed.is_empty() && !is_comment {
            kept.push(line.trim_end().to_owned());
        }
    }
    kept
}

/// The declarations that `go doc -all` prints. Its documentation is indented by spaces.
fn declared_in_go(folder: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("go")
        .args(["doc", "-all"])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("go: {error}"))?;
    if !output.status.success() {
        return Err(format!("go doc: {}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let declared = without_comments(&text).into_iter();
    let starts =
        declared.skip_while(|line| line != "CONSTANTS" && line != "FUNCTIONS" && line != "TYPES");
    Ok(starts.filter(|line| !line.starts_with("    ")).collect())
}

/// The compiler whose rustdoc writes the JSON that the library reads.
fn nightly(root: &Path) -> Result<String, String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(|e| e.to_string())?;
    let value = manifest
        .lines()
        .find_map(|line| line.strip_prefix("nightly = \""));
    let value = value.ok_or("Cargo.toml names no nightly compiler")?;
    let value = value.trim_end_matches('"');
    let version = Command::new("cargo")
        .args([&format!("+{value}"), "--version"])
        .output();
    match version.is_ok_and(|output| output.status.success()) {
        true => Ok(value.into()),
        false => Err(format!(
            "rustdoc of a nightly compiler is needed: rustup toolchain install {value}"
        )),
    }
}

/// The public items, without implementations of derived, blanket and automatic traits.
fn list(root: &Path, nightly: &str, name: &str) -> Result<PublicApi, String> {
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
    public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| error.to_string())
}

/// The numbers of items in modules and of functions of types and traits.
fn count(api: &PublicApi) -> (usize, usize) {
    const ITEMS: [&str; 9] = [
        "struct", "enum", "union", "trait", "type", "macro", "static", "fn", "const",
    ];
    let is_module = |item: &&PublicItem| kind(item) == Some("mod");
    let modules: HashSet<_> = api.items().filter(is_module).map(PublicItem::id).collect();
    let (mut items, mut methods) = (0, 0);
    for item in api.items() {
        let kind = kind(item).unwrap_or_default();
        if item.parent_id().is_none_or(|id| modules.contains(&id)) {
            items += usize::from(ITEMS.contains(&kind));
        } else {
            methods += usize::from(kind == "fn");
        }
    }
    (items, methods)
}

/// The word of the language for an item.
fn kind(item: &PublicItem) -> Option<&str> {
    item.tokens().find_map(|token| match token {
        Token::Kind(kind) => Some(&**kind),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn comments_are_no_declarations() {
        let text = "/** a\n b */\nint c(void); // d\n\n# e\n\"\"\"f\"\"\"\n    \"\"\"g\n    h\"\"\"\n#define i\n";
        assert_eq!(
            super::without_comments(text),
            ["int c(void); // d", "#define i"]
        );
    }
}
