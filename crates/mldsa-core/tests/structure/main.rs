//! Rules of layout that the compiler does not know.

mod algorithms;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

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
        // The C interface reads pointers of its callers, the GPU host calls drivers.
        if ["mldsa-core", "mldsa-c", "mldsa-lowmem-c", "mldsa-gpu"]
            .map(|name| Some(OsStr::new(name)))
            .contains(&folder.file_name())
        {
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
            .map(|line| line.strip_prefix("pub(crate) ").unwrap_or(line))
            .is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let end = text
        .match_indices(MARK)
        .map(|(at, _)| at)
        .find(opens_module);
    &text[..end.unwrap_or(text.len())]
}
