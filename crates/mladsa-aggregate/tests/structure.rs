//! Modules stand in order of dependency: a file uses only those declared before
//! it, so no two files use each other.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Every module in order of declaration, a folder before its users: its path
/// in the crate and its file.
fn modules(file: &Path, path: &str, out: &mut Vec<(String, PathBuf)>) {
    let text = fs::read_to_string(file).unwrap();
    let folder = if path.is_empty() {
        file.parent().unwrap().into()
    } else {
        file.with_extension("")
    };
    for line in text.lines() {
        let name = line
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub ");
        let Some(name) = name
            .strip_prefix("mod ")
            .and_then(|name| name.strip_suffix(';'))
        else {
            continue;
        };
        let below = folder.join(format!("{name}.rs"));
        let path = if path.is_empty() {
            name.into()
        } else {
            format!("{path}::{name}")
        };
        if below.exists() {
            modules(&below, &path, out);
        }
    }
    if !path.is_empty() {
        out.push((path.into(), file.into()));
    }
}

#[test]
fn no_file_uses_one_that_comes_after_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    modules(&source.join("lib.rs"), "", &mut all);
    assert!(all.len() > 20);
    let position = |used: &str| {
        // The longest module that the path starts with.
        let of = all.iter().enumerate();
        of.filter(|(_, (path, _))| used == path || used.starts_with(&format!("{path}::")))
            .max_by_key(|(_, (path, _))| path.len())
            .map(|(at, _)| at)
    };
    for (at, (path, file)) in all.iter().enumerate() {
        let text = fs::read_to_string(file).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for used in shipped.split("crate::").skip(1) {
            let used: String = used
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':')
                .collect();
            if let Some(other) = position(used.trim_end_matches(':')) {
                assert!(other <= at, "{path} uses {used}, which comes after it");
            }
        }
    }
}
