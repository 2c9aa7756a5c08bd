//! Sizes of the tree, with limits, and dead links of its pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::root;

/// Limits of the tree without `contrib`. A change that needs more removes something first.
const MOST_TRACKED_FILES: usize = 1_000;
/// 14,000 of them are the interfaces for GPUs, Arrow, archives, Python and JavaScript, 4,000 certificates and logs,
/// 2,300 signing in slices and the C interface for firmware.
const MOST_LINES_OF_RUST: usize = 91_500;
const MOST_PAGES: usize = 19;
const MOST_WORDS: usize = 25_500;
/// The pages about the experiment ML-ADSA take at most this part of them.
const MOST_WORDS_OF_AGGREGATE: usize = 5_000;
const MOST_WORDS_OF_A_PAGE: usize = 2_500;
const MOST_LINES_OF_A_FILE: usize = 500;

/// Prints a table of each part of the tree, and its sums. `contrib` has no limits.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let Some(argument) = arguments.first() {
        return Err(format!("`tree` takes no argument `{argument}`"));
    }
    let files = tracked()?;
    let mut complaints = Vec::new();
    code(&files, &mut complaints);
    pages(&files, &mut complaints);
    mentions(&files, &mut complaints);
    mutants(&mut complaints);
    steps(&files, &mut complaints);
    features(&files, &mut complaints);
    let main = files.iter().filter(|file| !is_contrib(file)).count();
    println!("tracked files: {}, without contrib {main}", files.len());
    limit("tracked files", main, MOST_TRACKED_FILES, &mut complaints);
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(complaints.join("\n"))
    }
}

fn limit(what: &str, found: usize, most: usize, complaints: &mut Vec<String>) {
    if found > most {
        complaints.push(format!("{what}: {found}, more than {most}"));
    }
}

/// The files that git tracks and that are there, relative to the root.
fn tracked() -> Result<Vec<PathBuf>, String> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .map_err(|error| format!("git: {error}"))?;
    let names = String::from_utf8_lossy(&output.stdout);
    let names = names.split('\0').filter(|name| !name.is_empty());
    let files: Vec<PathBuf> = names
        .map(PathBuf::from)
        .filter(|file| root().join(file).is_file())
        .collect();
    if files.is_empty() {
        return Err("git lists no files here".into());
    }
    Ok(files)
}

fn is_contrib(file: &Path) -> bool {
    file.starts_with("contrib")
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}

fn text(file: &Path) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_default()
}

/// Lines of Rust that are neither blank nor a comment alone.
fn code(files: &[PathBuf], complaints: &mut Vec<String>) {
    let mut parts = BTreeMap::<String, [usize; 4]>::new();
    for file in files.iter().filter(|file| has_extension(file, "rs")) {
        let text = text(file);
        let of_tests = ["tests", "benches", "examples", "fuzz"];
        let is_test = file
            .iter()
            .any(|name| of_tests.iter().any(|of_tests| name == *of_tests));
        let part = parts.entry(part_of(file)).or_default();
        part[usize::from(is_test)] += lines_of_code(&text);
        part[2] += 1;
        part[3] += uses_of_unsafe(&text);
        let what = format!("lines of {}", file.display());
        limit(
            &what,
            text.lines().count(),
            MOST_LINES_OF_A_FILE,
            complaints,
        );
    }
    println!(
        "| part | code | tests, benchmarks, examples | files | unsafe |\n|---|--:|--:|--:|--:|"
    );
    for (part, [code, tests, files, uses]) in &parts {
        println!("| {part} | {code} | {tests} | {files} | {uses} |");
    }
    let lines = |contrib| -> usize {
        let parts = parts.iter();
        let parts = parts.filter(|(part, _)| part.starts_with("contrib") == contrib);
        parts.map(|(_, [code, tests, ..])| code + tests).sum()
    };
    println!("\nlines of Rust: {}, contrib {}", lines(false), lines(true));
    limit(
        "lines of Rust",
        lines(false),
        MOST_LINES_OF_RUST,
        complaints,
    );
}

/// The part of the tree that a file belongs to: `crates/mldsa-core`, `fuzz`.
fn part_of(file: &Path) -> String {
    let is_group = ["crates", "tests", "contrib", "examples"]
        .iter()
        .any(|group| file.starts_with(group));
    let names = file.iter().take(1 + usize::from(is_group));
    let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    names.join("/")
}

/// Blocks, functions, implementations and attributes with the word `unsafe`, outside of comments.
fn uses_of_unsafe(text: &str) -> usize {
    const FORMS: [&str; 6] = [
        "unsafe {",
        "unsafe fn ",
        "unsafe impl",
        "unsafe trait ",
        "unsafe extern ",
        "#[unsafe(",
    ];
    let lines = text.lines().map(str::trim_start);
    lines
        .filter(|line| !line.starts_with("//"))
        .map(|line| FORMS.iter().filter(|form| line.contains(**form)).count())
        .sum()
}

fn lines_of_code(text: &str) -> usize {
    let lines = text.lines().map(str::trim_start);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

/// Words of the pages, and their links to files and headings of the tree. A page is a file of
/// `docs` or of the root; the README of a crate counts as words only.
fn pages(files: &[PathBuf], complaints: &mut Vec<String>) {
    let all: Vec<_> = files
        .iter()
        .filter(|file| has_extension(file, "md"))
        .collect();
    let (mut pages, mut words, mut aggregate) = (0, 0, 0);
    println!("\n| page | words |\n|---|--:|");
    for file in &all {
        let text = text(file);
        dead_links(file, &text, complaints);
        if is_contrib(file) {
            continue;
        }
        let count = text.split_whitespace().count();
        println!("| {} | {count} |", file.display());
        let what = format!("words of {}", file.display());
        limit(&what, count, MOST_WORDS_OF_A_PAGE, complaints);
        let is_page = file.starts_with("docs") || file.iter().count() == 1;
        pages += usize::from(is_page);
        words += count;
        let name = file.to_string_lossy();
        if name.contains("ml-adsa") || name.contains("mladsa") {
            aggregate += count;
        }
    }
    println!("\npages: {pages}, words: {words}, of them about ML-ADSA: {aggregate}");
    let what = "words about ML-ADSA";
    limit(what, aggregate, MOST_WORDS_OF_AGGREGATE, complaints);
    limit("pages", pages, MOST_PAGES, complaints);
    limit("words", words, MOST_WORDS, complaints);
}

/// Links outside of quoted code that lead to no file or to no heading.
fn dead_links(file: &Path, text: &str, complaints: &mut Vec<String>) {
    for link in links(text) {
        if link.contains(':') {
            continue;
        }
        let (path, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = match path {
            "" => file.to_path_buf(),
            _ => normalised(&file.with_file_name("").join(path)),
        };
        let there = root().join(&target);
        let is_there = match there.is_file() && !heading.is_empty() {
            true => headings(&self::text(&target)).contains(heading),
            false => there.exists(),
        };
        if !is_there {
            complaints.push(format!("{}: dead link {link}", file.display()));
        }
    }
}

/// Pages that other files name, in comments, manifests and scripts, exist.
fn mentions(files: &[PathBuf], complaints: &mut Vec<String>) {
    let others = files.iter().filter(|file| !has_extension(file, "md"));
    for file in others.filter(|file| !file.starts_with("xtask")) {
        for page in pages_named(&text(file)) {
            // Paths of programs are relative to the folder of their package.
            let in_root = page.trim_start_matches("../");
            let beside = normalised(&file.with_file_name("").join(page));
            if !root().join(in_root).is_file() && !root().join(beside).is_file() {
                complaints.push(format!("{}: no page {page}", file.display()));
            }
        }
    }
}

/// The paths of pages in a text, relative to the root or to the file.
fn pages_named(text: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let words = text.split(move |c| !is_of_path(c));
    words.filter(|word| {
        let (folder, name) = word.rsplit_once('/').unwrap_or_default();
        name.ends_with(".md") && !folder.is_empty() && !folder.starts_with('/')
    })
}

/// The configuration of `cargo mutants` names test targets that exist.
fn mutants(complaints: &mut Vec<String>) {
    for name in test_targets(&text(Path::new(".cargo/mutants.toml"))) {
        let tests = root().join("crates/mldsa-core/tests").join(name);
        if !tests.with_extension("rs").is_file() && !tests.is_dir() {
            complaints.push(format!(".cargo/mutants.toml: no test target {name}"));
        }
    }
}

fn test_targets(settings: &str) -> impl Iterator<Item = &str> {
    let arguments = settings.split('"');
    arguments.filter_map(|argument| argument.strip_prefix("--test="))
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let (link, _) = rest.split_once(')')?;
        (!link.contains(char::is_whitespace)).then_some(link)
    })
}

/// The anchors of the headings of a page.
fn headings(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.replace(' ', "-");
            let is_kept = |c: &char| c.is_alphanumeric() || *c == '-' || *c == '_';
            kept.chars().filter(is_kept).collect()
        })
        .collect()
}

/// A path without `..`.
fn normalised(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            out.pop();
        } else {
            out.push(part);
        }
    }
    out
}

/// The README of a published crate names each of its features.
fn features(files: &[PathBuf], complaints: &mut Vec<String>) {
    for manifest in files.iter().filter(|file| file.ends_with("Cargo.toml")) {
        let settings = text(manifest);
        if !manifest.starts_with("crates") || settings.contains("\npublish = false") {
            continue;
        }
        let readme = manifest.with_file_name("README.md");
        let page = text(&readme);
        let (_, section) = settings.split_once("[features]\n").unwrap_or_default();
        let lines = section.lines().take_while(|line| !line.starts_with('['));
        let names = lines.filter_map(|line| line.split_once(" = ["));
        for (name, _) in names.filter(|(name, _)| *name != "default") {
            if !page.contains(&format!("`{name}`")) {
                complaints.push(format!("{}: no feature `{name}`", readme.display()));
            }
        }
    }
}

/// Every step that a list of `.ci/run` names exists and is in a workflow, and every step is in a list.
fn steps(files: &[PathBuf], complaints: &mut Vec<String>) {
    let workflows = [".github/workflows/ci.yml", ".github/workflows/weekly.yml"];
    let workflows = workflows.map(|file| text(Path::new(file))).concat();
    let named: BTreeSet<&str> = workflows.split_whitespace().collect();
    let script = text(Path::new(".ci/run"));
    let lists = script.lines().filter_map(|line| {
        let (name, list) = line.split_once("=\"")?;
        let is_list = ["default", "landing", "weekly", "contrib"].contains(&name);
        list.strip_suffix('"').filter(|_| is_list)
    });
    let listed: BTreeSet<&str> = lists.flat_map(str::split_whitespace).collect();
    let defined = steps_defined();
    let scripts = files.iter().filter_map(|file| {
        let folder = file.to_str()?.strip_prefix("contrib/")?;
        folder.strip_suffix("/ci.sh").map(str::to_owned)
    });
    for step in defined.iter().cloned().chain(scripts) {
        if !listed.contains(&step[..]) && step != "quick" {
            complaints.push(format!("no list of .ci/run names the step {step}"));
        }
    }
    for step in listed {
        let script = format!("contrib/{step}/ci.sh");
        if !defined.contains(step) && !root().join(script).is_file() {
            complaints.push(format!(".ci/run names a step {step} that does not exist"));
        }
        if !named.contains(step) {
            complaints.push(format!("no workflow runs the step {step}"));
        }
    }
}

/// The names of the functions `step_NAME` of `.ci/steps.sh`.
fn steps_defined() -> BTreeSet<String> {
    let script = text(Path::new(".ci/steps.sh"));
    let functions = script.lines().filter_map(|line| line.strip_prefix("step_"));
    let names = functions.filter_map(|line| line.split_once("()"));
    names.map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn comments_and_blank_lines_are_no_code() {
        assert_eq!(super::lines_of_code("//! a\n\n  // b\nfn c() {} // d\n"), 1);
    }

    #[test]
    fn uses_of_unsafe_are_counted() {
        let text = "// unsafe {\nunsafe fn a() {}\nlet b = unsafe { c() };\nlet not_unsafe = 1;\n";
        assert_eq!(super::uses_of_unsafe(text), 2);
    }

    #[test]
    fn pages_and_test_targets_that_files_name() {
        let named: Vec<_> =
            super::pages_named("// docs/a.md, b.md (/c/d.md) [x]: ../e.md#f").collect();
        assert_eq!(named, ["docs/a.md", "../e.md"]);
        let settings = r#"["--lib", "--test=api", "--test=scheme"]"#;
        let targets: Vec<_> = super::test_targets(settings).collect();
        assert_eq!(targets, ["api", "scheme"]);
    }

    #[test]
    fn a_long_file_is_a_complaint() {
        let mut complaints = Vec::new();
        super::limit(
            "lines of a.rs",
            501,
            super::MOST_LINES_OF_A_FILE,
            &mut complaints,
        );
        super::limit(
            "lines of b.rs",
            500,
            super::MOST_LINES_OF_A_FILE,
            &mut complaints,
        );
        assert_eq!(complaints, ["lines of a.rs: 501, more than 500"]);
    }

    #[test]
    fn links_and_headings_of_a_page() {
        let page = "[a](b.md#c) [`d`](../e) f](g h)";
        assert_eq!(super::links(page).collect::<Vec<_>>(), ["b.md#c", "../e"]);
        assert!(super::headings("## A `b`: c-d\n").contains("a-b-c-d"));
        let path = super::normalised(Path::new("docs/../crates/x"));
        assert_eq!(path, Path::new("crates/x"));
    }

    #[test]
    fn dead_links_are_detected() {
        let mut complaints = Vec::new();
        let page = "[a](Cargo.toml) [b](README.md#no-such-heading) [c](missing.md)";
        super::dead_links(Path::new("page.md"), page, &mut complaints);
        assert_eq!(complaints.len(), 2);
    }
}
