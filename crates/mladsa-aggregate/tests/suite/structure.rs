//! Every test named in the pages on the scheme exists.

use std::fs;
use std::path::Path;

/// The texts of the files of a module, in a folder and those below.
fn sources(folder: &Path, module: &str) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path, module);
        } else if path.ends_with(format!("{module}.rs"))
            || path.ends_with(format!("{module}/mod.rs"))
        {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}

#[test]
fn tests_named_in_the_documentation_exist() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["ml-adsa.md", "ml-adsa-security.md"].map(|page| {
        let page = own.join("../../docs").join(page);
        fs::read_to_string(page).unwrap()
    });
    let mut named = 0;
    for quoted in pages.concat().split('`').skip(1).step_by(2) {
        let Some((module, test)) = quoted.split_once("::") else {
            continue;
        };
        let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !module.chars().all(name) || !test.chars().all(name) {
            continue;
        }
        let text = ["src", "tests"].map(|folder| sources(&own.join(folder), module));
        let mut tests = text.iter().flat_map(|text| text.split("#[test]"));
        let start = format!("fn {test}()");
        assert!(
            tests.any(|test| test.trim_start().starts_with(&start)),
            "{quoted}"
        );
        named += 1;
    }
    assert!(named > 4, "{named}");
}
