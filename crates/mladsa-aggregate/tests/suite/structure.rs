//! Source checks: modules are declared in order of dependency, so that no two files depend on each
//! other, and every test named in the pages on the scheme exists.

use std::fs;
use std::path::{Path, PathBuf};

/// All modules in order of declaration, submodules first: path in the crate and file.
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
fn modules_depend_only_on_earlier_modules() {
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
                assert!(
                    other <= at,
                    "{path} uses {used}, which is declared after it"
                );
            }
        }
    }
}

#[test]
fn tests_named_in_the_documentation_exist() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["ml-adsa.md", "ml-adsa-security.md"].map(|page| {
        let page = own.join("../../docs").join(page);
        fs::read_to_string(page).unwrap()
    });
    let text = pages.concat();
    let mut sources = Vec::new();
    modules(&own.join("src/lib.rs"), "", &mut sources);
    let mut named = 0;
    for quoted in text.split('`').skip(1).step_by(2) {
        let Some((file, test)) = quoted.split_once("::") else {
            continue;
        };
        let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !file.chars().all(name) || !test.chars().all(name) {
            continue;
        }
        let source = sources.iter().find(|(path, _)| path.ends_with(file));
        let tests = own.join("tests/suite").join(file).with_extension("rs");
        let text = match (file, source) {
            ("vectors", _) => fs::read_to_string(own.join("tests/vectors/mod.rs")).unwrap(),
            (_, Some((_, file))) if !tests.exists() => fs::read_to_string(file).unwrap(),
            _ => fs::read_to_string(&tests).unwrap(),
        };
        let exists = text
            .split("#[test]")
            .any(|rest| rest.trim_start().starts_with(&format!("fn {test}()")));
        assert!(exists, "{quoted}");
        named += 1;
    }
    assert!(named > 8, "{named}");
}
