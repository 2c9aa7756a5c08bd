//! Function bodies that occur twice.

use std::collections::BTreeMap;

use super::*;

/// No function body of 15 lines or more occurs twice in the crates, whatever its
/// indentation and its comments.
#[test]
fn no_long_body_occurs_twice() {
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

#[test]
fn a_body_that_occurs_twice_is_detected() {
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
