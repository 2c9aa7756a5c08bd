//! Lists the public items of the library crates, all features on, and compares them with
//! `docs/api`. Started by `cargo xtask api`; `--bless` writes the lists again.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use public_api::tokens::Token;
use public_api::{PublicApi, PublicItem};

const CRATES: [&str; 6] = [
    "batch-verify",
    "mladsa-aggregate",
    "mldsa-core",
    "mldsa-evm-precompile",
    "mldsa-gpu",
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
        let api = list(root, &nightly, name)?;
        let (items, methods) = count(&api);
        println!("| {name} | {items} | {methods} |");
        sum = [sum[0] + items, sum[1] + methods];
        let listed: Vec<String> = api.items().map(ToString::to_string).collect();
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
