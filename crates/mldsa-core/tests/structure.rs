//! Rules of layout that the compiler does not know.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Modules are listed in `lib.rs`, and those of a folder in the file that opens it, in
/// dependency order: each uses only those above it, and a file inside a folder
/// never the one that opens the folder, which comes last.
#[test]
fn modules_use_only_modules_above_them() {
    let order = declared(&source(), &source().join("lib.rs"), &[]);
    assert!(order.len() > 40, "one module a line: {order:?}");
    let place = |path: &[String]| {
        (1..=path.len())
            .rev()
            .find_map(|len| order.iter().position(|known| *known == path[..len]))
    };
    let mut upward = Vec::new();
    for file in rust_files(&source()) {
        let relative = file.strip_prefix(source()).expect("below src");
        let module = module_of(relative);
        if module == ["lib"] {
            continue;
        }
        let own = order.iter().position(|known| *known == module);
        // A file that is compiled for tests only.
        let Some(own) = own else { continue };
        let text = read(&file);
        for used in used_paths(outside_tests(&text), &module) {
            let within = used.len() >= module.len() && used[..module.len()] == module;
            if !within && place(&used).is_some_and(|used| used > own) {
                upward.push(format!("{} uses {}", relative.display(), used.join("::")));
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

/// The modules that a file of the crate at `source` declares outside tests, those of
/// a folder before the module that opens it.
fn declared(source: &Path, file: &Path, parent: &[String]) -> Vec<Vec<String>> {
    let text = read(file);
    let mut order = Vec::new();
    let mut for_tests = false;
    for line in text.lines().map(str::trim) {
        let name = line
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ")
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(';'));
        if let Some(name) = name
            && !for_tests
        {
            let mut path = parent.to_vec();
            path.push(name.to_owned());
            order.extend(declared(source, &file_of(source, &path), &path));
            order.push(path);
        }
        let attribute = line.starts_with("#[");
        for_tests = attribute && (for_tests || line.starts_with("#[cfg(") && line.contains("test"));
    }
    order
}

/// The file of a module. Modules of `avx2` and `neon` without a file of their own are
/// compiled from `backend/eight` (attribute `path`).
fn file_of(source: &Path, module: &[String]) -> PathBuf {
    let file = source.join(module.iter().collect::<PathBuf>().with_extension("rs"));
    match (file.is_file(), module) {
        (false, [.., name]) => source.join("backend/eight").join(name).with_extension("rs"),
        _ => file,
    }
}

/// The `crate::` and `super::` paths in the file of `module` outside comments, as full
/// paths.
fn used_paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let code: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_$".contains(c)) {
            expand(&code[at + "crate::".len()..], &[], &mut paths);
        }
    }
    for (at, _) in code.match_indices("super::") {
        if !code[..at].ends_with("super::") {
            let rest = &code[at..];
            let ups = rest.split("super::").take_while(|piece| piece.is_empty());
            let ups = ups.count().min(module.len());
            expand(
                &rest[ups * "super::".len()..],
                &module[..module.len() - ups],
                &mut paths,
            );
        }
    }
    paths
}

/// The paths of a use tree below `prefix`, two segments deep at most.
fn expand(tree: &str, prefix: &[String], paths: &mut Vec<Vec<String>>) {
    if let Some(list) = tree.strip_prefix('{') {
        let mut depth = 0;
        let mut start = true;
        for (at, byte) in list.bytes().enumerate() {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 0 => break,
                b'}' => depth -= 1,
                b',' if depth == 0 => start = true,
                b' ' | b'\n' => {}
                _ if start => {
                    expand(&list[at..], prefix, paths);
                    start = false;
                }
                _ => {}
            }
        }
        return;
    }
    let name = word(tree);
    let mut path = prefix.to_vec();
    match tree[name.len()..].strip_prefix("::") {
        Some(below) if path.len() < 2 && name != "self" => {
            path.push(name);
            expand(below, &path, paths);
        }
        _ => {
            if name != "self" && !name.is_empty() {
                path.push(name);
            }
            paths.push(path);
        }
    }
}

fn module_of(file: &Path) -> Vec<String> {
    let parts = file.with_extension("");
    let parts = parts.iter().map(|part| part.to_str().expect("UTF-8"));
    parts.map(str::to_owned).collect()
}

/// In no crate do two files need each other, directly or through others, outside
/// tests. What a file takes from the one that opens its folder does not count.
#[test]
fn no_files_in_a_circle() {
    let crates = source().join("../..");
    for entry in fs::read_dir(&crates).expect("the folder of the crates") {
        let folder = entry.expect("an entry").path().join("src");
        let needs = needs(&folder);
        assert!(
            circle(&needs).is_none(),
            "{}: {:?}",
            folder.display(),
            circle(&needs)
        );
        // Planted: any file needs one that needs it.
        let uses = needs.iter().find(|(_, used)| !used.is_empty());
        if let Some((user, used)) = uses.map(|(user, used)| (user.clone(), used[0].clone())) {
            let mut needs = needs;
            needs.entry(used).or_default().push(user);
            assert!(circle(&needs).is_some(), "{}", folder.display());
        }
    }
}

type Needs = BTreeMap<Vec<String>, Vec<Vec<String>>>;

/// The modules of a crate, and of each those that it uses.
fn needs(folder: &Path) -> Needs {
    let roots = ["lib.rs", "main.rs"].map(|name| folder.join(name));
    let root = roots.iter().find(|root| root.is_file()).expect("a root");
    let modules = declared(folder, root, &[]);
    // Re-exports of the root, by their origin.
    let mut renamed = BTreeMap::new();
    let text = read(root);
    for line in outside_tests(&text).split("use ").skip(1) {
        let mut paths = Vec::new();
        expand(line.trim_start_matches("crate::"), &[], &mut paths);
        for mut path in paths.into_iter().filter(|path| path.len() > 1) {
            let name = path.pop().expect("two segments");
            renamed.insert(name, path);
        }
    }
    let module_with = |path: &[String]| {
        let path = match path.first().and_then(|name| renamed.get(name)) {
            Some(origin) => origin,
            None => path,
        };
        let mut prefixes = (1..=path.len()).rev().map(|len| path[..len].to_vec());
        prefixes.find(|prefix| modules.contains(prefix))
    };
    let mut needs = Needs::new();
    for module in &modules {
        let text = read(&file_of(folder, module));
        let used = used_paths(outside_tests(&text), module);
        let mut used: Vec<_> = used.iter().filter_map(|path| module_with(path)).collect();
        used.retain(|used| !module.starts_with(used));
        let below = |other: &&Vec<String>| other.len() == module.len() + 1;
        let children = modules.iter().filter(below);
        used.extend(children.filter(|other| other.starts_with(module)).cloned());
        needs.insert(module.clone(), used);
    }
    needs
}

/// Modules each of which uses the next, and the last the first.
fn circle(needs: &Needs) -> Option<Vec<Vec<String>>> {
    fn follow(needs: &Needs, way: &mut Vec<Vec<String>>, done: &mut Vec<Vec<String>>) -> bool {
        let here = way.last().expect("a beginning").clone();
        for next in &needs[&here] {
            if let Some(at) = way.iter().position(|module| module == next) {
                way.drain(..at);
                return true;
            }
            if !done.contains(next) {
                way.push(next.clone());
                if follow(needs, way, done) {
                    return true;
                }
                way.pop();
            }
        }
        done.push(here);
        false
    }
    let mut done = Vec::new();
    needs.keys().find_map(|start| {
        let mut way = vec![start.clone()];
        follow(needs, &mut way, &mut done).then_some(way)
    })
}

/// Each algorithm of FIPS 204 is at home in exactly one place: the doc comment
/// that carries its number together with its name, as in `Algorithm 41 NTT`.
/// Every other mention gives the number alone.
#[test]
fn every_algorithm_has_one_home() {
    let astray: Vec<_> = (1..)
        .zip(ALGORITHMS)
        .zip(homes())
        .filter(|(_, homes)| homes.len() != 1)
        .map(|((number, name), homes)| format!("{number} {name}: {homes:?}"))
        .collect();
    assert!(
        astray.is_empty(),
        "algorithms without one home: {astray:#?}"
    );
}

/// The files, below `src`, that each algorithm is at home in. Number and name stand
/// on one line, where `grep` finds them.
fn homes() -> Vec<Vec<String>> {
    let mut homes = vec![Vec::new(); ALGORITHMS.len()];
    for file in rust_files(&source()) {
        let relative = below_source(&file);
        let text = read(&file);
        let lines = outside_tests(&text).lines().map(str::trim_start);
        for comment in lines.filter(|line| line.starts_with("///") || line.starts_with("//!")) {
            for (at, name) in ALGORITHMS.iter().enumerate() {
                let title = format!("{} {name}", at + 1);
                for _ in 0..mentions(comment, &title) {
                    homes[at].push(relative.clone());
                }
            }
        }
    }
    homes
}

/// `docs/architecture.md` gives each algorithm the home that it has, in rows of
/// number, name, link to the home and other forms, and the other forms are files that exist.
#[test]
fn the_table_of_algorithms_is_true() {
    let page = read(&architecture());
    let mut rows = Vec::new();
    for line in page.lines() {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        if let ["", number, name, home, others, ""] = cells[..]
            && number.parse::<usize>().is_ok()
        {
            let (file, target) = home
                .strip_prefix('[')
                .and_then(|link| link.strip_suffix(')')?.split_once("]("))
                .expect("a link to the home");
            assert_eq!(target, format!("../crates/mldsa-core/src/{file}"));
            rows.push((number, name, file.to_owned()));
            for other in others.split(", ").filter(|other| !other.is_empty()) {
                let other = other.trim_matches('`');
                let file = match other.split_once('/') {
                    Some((upper @ "mldsa-lowmem", file)) => {
                        source().join("../..").join(upper).join("src").join(file)
                    }
                    _ => source().join(other),
                };
                assert!(file.is_file(), "algorithm {number}: no file {other}");
            }
        }
    }
    let numbers: Vec<_> = (1..=ALGORITHMS.len()).map(|n| n.to_string()).collect();
    let homes: Vec<_> = numbers
        .iter()
        .zip(ALGORITHMS)
        .zip(homes())
        .map(|((number, name), homes)| (number.as_str(), name, homes.join(" ")))
        .collect();
    assert_eq!(rows, homes, "docs/architecture.md");
}

/// Every file of this crate is named in `docs/architecture.md`, and every file
/// that the page's tables of modules name is there.
#[test]
fn the_page_of_modules_is_complete() {
    let page = read(&architecture());
    let files: Vec<_> = rust_files(&source())
        .iter()
        .map(|file| below_source(file))
        .filter(|file| file != "lib.rs")
        .collect();
    let unnamed: Vec<_> = files
        .iter()
        .filter(|file| !page.contains(&format!("`{file}`")))
        .collect();
    assert!(
        unnamed.is_empty(),
        "not in docs/architecture.md: {unnamed:#?}"
    );
    let gone: Vec<_> = page
        .lines()
        .filter(|line| line.starts_with("| `") && line.contains(".rs`"))
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.trim().split(", "))
        .map(|name| name.trim_matches('`'))
        .filter(|name| !files.iter().any(|file| file == name))
        .collect();
    assert!(gone.is_empty(), "no such files: {gone:#?}");
}

fn architecture() -> PathBuf {
    source().join("../../../docs/architecture.md")
}

fn below_source(file: &Path) -> String {
    let relative = file.strip_prefix(source()).expect("below src");
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// The algorithms of FIPS 204 in order, from number 1 on.
#[rustfmt::skip]
const ALGORITHMS: [&str; 49] = [
    "ML-DSA.KeyGen", "ML-DSA.Sign", "ML-DSA.Verify", "HashML-DSA.Sign", "HashML-DSA.Verify",
    "ML-DSA.KeyGen_internal", "ML-DSA.Sign_internal", "ML-DSA.Verify_internal",
    "IntegerToBits", "BitsToInteger", "IntegerToBytes", "BitsToBytes", "BytesToBits",
    "CoeffFromThreeBytes", "CoeffFromHalfByte",
    "SimpleBitPack", "BitPack", "SimpleBitUnpack", "BitUnpack", "HintBitPack", "HintBitUnpack",
    "pkEncode", "pkDecode", "skEncode", "skDecode", "sigEncode", "sigDecode", "w1Encode",
    "SampleInBall", "RejNTTPoly", "RejBoundedPoly", "ExpandA", "ExpandS", "ExpandMask",
    "Power2Round", "Decompose", "HighBits", "LowBits", "MakeHint", "UseHint",
    "NTT", "NTT^-1", "BitRev8",
    "AddNTT", "MultiplyNTT", "AddVectorNTT", "ScalarVectorNTT", "MatrixVectorNTT",
    "MontgomeryReduce",
];

/// `unsafe` is allowed in the backend files of this crate and in the value barrier,
/// which is one empty instruction.
#[test]
fn unsafe_stays_in_the_backends() {
    for file in rust_files(&source()) {
        let relative = file.strip_prefix(source()).expect("below src");
        if relative == Path::new("memory/barrier.rs") {
            let blocks = read(&file).matches("unsafe {").count();
            assert_eq!(blocks, 1, "the barrier grew");
        } else if !relative.starts_with("backend/") {
            assert!(
                !read(&file).contains("allow(unsafe_code)"),
                "{}",
                relative.display()
            );
        }
    }
    let crates = source().join("../..");
    for entry in fs::read_dir(&crates).expect("the folder of the crates") {
        let folder = entry.expect("an entry").path();
        if folder.file_name() == Some(OsStr::new("mldsa-core")) {
            continue;
        }
        for root in ["src/lib.rs", "src/main.rs"].map(|name| folder.join(name)) {
            if root.exists() {
                let forbids = read(&root)
                    .lines()
                    .any(|line| line == "#![forbid(unsafe_code)]");
                assert!(forbids, "{} does not forbid unsafe code", root.display());
            }
        }
    }
}

/// Cargo unites features: a crate that needs `hazmat` would open it in every program
/// that it is a part of. Tests may, and features that say so.
#[test]
fn no_crate_depends_on_the_expert_interface() {
    let crates = source().join("../..");
    for entry in fs::read_dir(&crates).expect("the folder of the crates") {
        let manifest = read(&entry.expect("an entry").path().join("Cargo.toml"));
        let (_, dependencies) = manifest.split_once("[dependencies]").expect("a section");
        let shipped = dependencies.split("\n[dev-dependencies]").next();
        let shipped = shipped.expect("a first piece");
        assert!(!shipped.contains("\"hazmat\""), "{manifest}");
    }
}

/// No function body of 15 lines or more occurs twice in the crates, whatever its
/// indentation and its comments.
#[test]
fn no_long_body_stands_twice() {
    let mut seen = BTreeMap::<String, Vec<String>>::new();
    let crates = source().join("../..");
    for file in rust_files(&crates) {
        let relative = file.strip_prefix(&crates).expect("below crates");
        for (line, body) in long_bodies(&read(&file)) {
            let place = format!("{}:{line}", relative.display());
            seen.entry(body).or_default().push(place);
        }
    }
    assert!(seen.len() > 300, "only {} bodies read", seen.len());
    let twice: Vec<_> = seen.values().filter(|places| places.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

/// The line number and the text of every function body of 15 lines or more, blank
/// lines and comments left out. The text is formatted, so that a body ends with a
/// brace as far to the right as its function begins.
fn long_bodies(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut bodies = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let before = code.split("fn ").next().unwrap_or(code);
        let qualifiers = ["const", "unsafe", "async", "extern"];
        let is_function = before.len() < code.len()
            && before
                .split_whitespace()
                .all(|word| word.starts_with("pub") || qualifiers.contains(&word));
        if !is_function {
            continue;
        }
        let Some(head) = lines[at..]
            .iter()
            .position(|line| line.ends_with(['{', ';', '}']))
        else {
            continue;
        };
        if !lines[at + head].ends_with('{') {
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        let body: Vec<&str> = lines[at + head + 1..]
            .iter()
            .take_while(|line| **line != end)
            .map(|line| line.trim())
            .filter(|line| !line.is_empty() && !line.starts_with("//"))
            .collect();
        if body.len() >= 15 {
            bodies.push((at + 1, body.join(" ")));
        }
    }
    bodies
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension() == Some(OsStr::new("rs")) {
            files.push(path);
        }
    }
    files
}

/// The text before the test module, which is last.
fn outside_tests(text: &str) -> &str {
    const MARK: &str = "#[cfg(test)]\n";
    let opens_module = |at: &usize| {
        let mut lines = text[at + MARK.len()..].lines();
        lines
            .find(|line| !line.starts_with("#["))
            .is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let end = text
        .match_indices(MARK)
        .map(|(at, _)| at)
        .find(opens_module);
    &text[..end.unwrap_or(text.len())]
}

/// The identifier that the text starts with.
fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect()
}

/// Number of occurrences of a title as whole words: `41 NTT` is not in `41 NTT^-1`.
fn mentions(text: &str, title: &str) -> usize {
    let part_of_a_name = |c: char| c.is_ascii_alphanumeric() || "_^".contains(c);
    text.match_indices(title)
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_ascii_digit()))
        .filter(|(at, _)| !text[at + title.len()..].starts_with(part_of_a_name))
        .count()
}

#[test]
fn a_body_that_stands_twice_is_noticed() {
    let lines: Vec<String> = (0..15).map(|n| format!("let a{n} = {n};")).collect();
    let first = format!("pub(crate) fn f() {{\n    {}\n}}\n", lines.join("\n    "));
    let second = format!(
        "mod m {{\n    const fn g(\n        a: u8,\n    ) {{\n        // why\n        {}\n    }}\n}}\n",
        lines.join("\n\n        ")
    );
    let found = long_bodies(&format!("trait T {{\n    fn h();\n}}\n{first}{second}"));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].1, found[1].1);
    assert_eq!((found[0].0, found[1].0), (4, 22));
    assert!(long_bodies(&first.replace("let a3 = 3;\n", "")).is_empty());
}

#[test]
fn the_readers_read() {
    assert_eq!(mentions("9 A, 10 B; 10 B.x, 110 B", "10 B"), 2);
    assert_eq!(mentions("41 NTT. 42 NTT^-1", "42 NTT"), 0);
    let code = "use crate::{field, poly::{Poly, N}, ntt};\n// crate::no\nlet x = crate::hint::f();";
    let paths = used_paths(code, &[]);
    let paths: Vec<_> = paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["field", "poly::Poly", "poly::N", "ntt", "hint::f"]);
    let module = ["ring", "ntt"].map(str::to_owned);
    assert_eq!(
        used_paths("use super::field::X;", &module)[0],
        ["ring", "field", "X"]
    );
    assert_eq!(
        outside_tests("a\n#[cfg(test)]\nuse b;\n#[cfg(test)]\n#[c]\nmod tests {\n}"),
        "a\n#[cfg(test)]\nuse b;\n"
    );
}
