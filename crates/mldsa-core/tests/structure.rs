//! Rules of layout that the compiler does not know.

use std::{
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

/// Each algorithm of FIPS 204 is at home in exactly one place: the doc comment
/// that carries its number together with its name, as in `Algorithm 41 NTT`.
/// Every other mention gives the number alone.
#[test]
fn every_algorithm_has_one_home() {
    let mut homes = vec![Vec::new(); ALGORITHMS.len()];
    for file in rust_files(&source()) {
        let relative = file.strip_prefix(source()).expect("below src");
        for comment in doc_comments(outside_tests(&read(&file))) {
            for (at, name) in ALGORITHMS.iter().enumerate() {
                let title = format!("{} {name}", at + 1);
                for _ in 0..mentions(&comment, &title) {
                    homes[at].push(relative.display().to_string());
                }
            }
        }
    }
    let astray: Vec<_> = (1..)
        .zip(ALGORITHMS)
        .zip(&homes)
        .filter(|(_, homes)| homes.len() != 1)
        .map(|((number, name), homes)| format!("{number} {name}: {homes:?}"))
        .collect();
    assert!(
        astray.is_empty(),
        "algorithms without one home: {astray:#?}"
    );
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

/// The doc comments, each joined to one line.
fn doc_comments(text: &str) -> Vec<String> {
    let mut comments = vec![String::new()];
    for line in text.lines().map(str::trim_start) {
        match line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
        {
            Some(doc) => {
                if let Some(comment) = comments.last_mut() {
                    comment.push_str(doc.trim_end());
                }
            }
            None => comments.push(String::new()),
        }
    }
    comments.retain(|comment| !comment.is_empty());
    comments
}

/// How often a text holds a title as whole words: `41 NTT` is not in `41 NTT^-1`.
fn mentions(text: &str, title: &str) -> usize {
    let part_of_a_name = |c: char| c.is_ascii_alphanumeric() || "_^".contains(c);
    text.match_indices(title)
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_ascii_digit()))
        .filter(|(at, _)| !text[at + title.len()..].starts_with(part_of_a_name))
        .count()
}

#[test]
fn the_readers_read() {
    let docs = "/// a 12\n/// b\nfn f() {}\n    //! c\n// d";
    assert_eq!(doc_comments(docs), [" a 12 b", " c"]);
    assert_eq!(mentions("9 A, 10 B; 10 B.x, 110 B", "10 B"), 2);
    assert_eq!(mentions("41 NTT. 42 NTT^-1", "42 NTT"), 0);
    let code = "use crate::{field, poly::{Poly, N}, ntt};\n// crate::no\nlet x = crate::hint::f();";
    assert_eq!(crate_paths(code), ["field", "poly", "ntt", "hint"]);
    assert_eq!(outside_tests("a\n#[cfg(test)]\nmod tests {}"), "a\n");
}
