//! Rules of layout that the compiler does not know.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Modules in the order of `lib.rs`: each may use those above it only. The
/// tables under `backend/` are leaves that point at the bodies of every room,
/// and nothing but `backend.rs` names them.
#[test]
fn modules_use_only_modules_above_them() {
    let lib = read(&source().join("lib.rs"));
    let order: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "))
        .filter_map(|rest| rest.strip_suffix(';'))
        .collect();
    assert!(
        order.len() > 10,
        "lib.rs declares its modules one a line: {order:?}"
    );

    let mut upward = Vec::new();
    for file in rust_files(&source()) {
        let relative = file.strip_prefix(source()).expect("below src");
        let module = relative.components().next().expect("a file").as_os_str();
        let module = Path::new(module).with_extension("");
        let module = module.to_str().expect("UTF-8");
        if module == "lib" || relative.starts_with("backend/") {
            continue;
        }
        let place = order
            .iter()
            .position(|name| *name == module)
            .expect("declared in lib.rs");
        for used in crate_paths(outside_tests(&read(&file))) {
            if order
                .iter()
                .position(|name| *name == used)
                .is_some_and(|used| used > place)
            {
                upward.push(format!("{} uses crate::{used}", relative.display()));
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

/// Each algorithm of FIPS 204 is at home in exactly one place: a doc comment that
/// opens with `Algorithm N` (or `Algorithms N to M`, `Algorithms N and M` where
/// one body does the work of several).
#[test]
fn every_algorithm_has_one_home() {
    let mut homes: BTreeMap<u32, Vec<String>> = (1..=49).map(|n| (n, Vec::new())).collect();
    for file in rust_files(&source()) {
        let relative = file.strip_prefix(source()).expect("below src");
        if relative.starts_with("backend/") {
            continue; // faster twins of what is documented at its home
        }
        let text = read(&file);
        let mut before = "";
        for line in outside_tests(&text).lines().map(str::trim_start) {
            let opens = !before.starts_with("//");
            before = line;
            let Some(doc) = line
                .strip_prefix("/// ")
                .or_else(|| line.strip_prefix("//! "))
            else {
                continue;
            };
            if let Some(list) = doc.strip_prefix("Algorithm").filter(|_| opens) {
                for number in numbers(list.trim_start_matches('s')) {
                    let home = homes.get_mut(&number).expect("FIPS 204 has 49 algorithms");
                    home.push(relative.display().to_string());
                }
            }
        }
    }
    homes.retain(|_, homes| homes.len() != 1);
    assert!(homes.is_empty(), "algorithms without one home: {homes:#?}");
}

/// `unsafe` is allowed in the backend files of this crate and nowhere else.
#[test]
fn unsafe_stays_in_the_backends() {
    for file in rust_files(&source()) {
        let relative = file.strip_prefix(source()).expect("below src");
        if !relative.starts_with("backend/") {
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

/// The text before the test module, which stands last.
fn outside_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

/// The first segment of every `crate::` path outside comments, brace lists
/// included.
fn crate_paths(text: &str) -> Vec<String> {
    let code: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let mut names = Vec::new();
    for path in code.split("crate::").skip(1) {
        match path.strip_prefix('{') {
            None => names.push(word(path)),
            Some(list) => {
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
                            names.push(word(&list[at..]));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    names
}

/// The identifier that the text starts with.
fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect()
}

/// The numbers that open a text: ` 9 to 13 (..)` gives 9..=13, ` 44 and 46:` two.
fn numbers(text: &str) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    let mut range = false;
    for token in text.split_whitespace() {
        let digits = token.trim_end_matches([',', '.', ':', ';']);
        match (digits.parse::<u32>(), token) {
            (Ok(number), _) if range => {
                let first = found.last().map_or(number, |last| last + 1);
                found.extend(first..=number);
                range = false;
            }
            (Ok(number), _) => found.push(number),
            (_, "to") => range = true,
            (_, "and") => {}
            _ => break,
        }
        if token.ends_with(['.', ':', ';']) {
            break;
        }
    }
    found
}

#[test]
fn the_readers_read() {
    assert_eq!(numbers(" 41 NTT."), [41]);
    assert_eq!(numbers(" 9 to 13 are fused."), [9, 10, 11, 12, 13]);
    assert_eq!(numbers(" 44, 46 and 47: rows"), [44, 46, 47]);
    assert_eq!(numbers("ic"), []);
    let code = "use crate::{field, poly::{Poly, N}, ntt};\n// crate::no\nlet x = crate::hint::f();";
    assert_eq!(crate_paths(code), ["field", "poly", "ntt", "hint"]);
    assert_eq!(outside_tests("a\n#[cfg(test)]\nmod tests {}"), "a\n");
}
