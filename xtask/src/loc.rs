//! Lines of Rust code: neither blank nor a comment alone.

use std::collections::BTreeMap;
use std::fs;

use crate::{files, part_of, root};

/// Prints a table: code of the product, code of tests, benchmarks and examples, files.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let Some(argument) = arguments.first() {
        return Err(format!("`loc` takes no argument `{argument}`"));
    }
    let mut parts = BTreeMap::<String, [usize; 3]>::new();
    let mut longest = Vec::new();
    for file in files(&["rs"]) {
        let text = fs::read_to_string(root().join(&file)).map_err(|error| error.to_string())?;
        let lines = text.lines().filter(|line| is_code(line)).count();
        let for_tests = file.components().any(|name| {
            ["tests", "benches", "examples", "fuzz"]
                .iter()
                .any(|folder| name.as_os_str() == *folder)
        });
        let part = parts.entry(part_of(&file)).or_default();
        part[usize::from(for_tests)] += lines;
        part[2] += 1;
        if text.lines().count() > MOST_LINES {
            longest.push((text.lines().count(), file));
        }
    }
    println!("| part | code | tests, benchmarks, examples | files |\n|---|--:|--:|--:|");
    let mut sums = [0; 3];
    for (part, counts) in &parts {
        println!("| {part} | {} | {} | {} |", counts[0], counts[1], counts[2]);
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    println!("| sum | {} | {} | {} |", sums[0], sums[1], sums[2]);
    println!("{} lines of code", sums[0] + sums[1]);
    longest.sort();
    for (lines, file) in longest.iter().rev() {
        println!("more than {MOST_LINES} lines: {} ({lines})", file.display());
    }
    Ok(())
}

/// The most lines, comments included, that a file should have.
const MOST_LINES: usize = 500;

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

#[cfg(test)]
mod tests {
    #[test]
    fn comments_and_blank_lines_are_no_code() {
        let code = |text: &str| text.lines().filter(|line| super::is_code(line)).count();
        assert_eq!(code("//! a\n\n  // b\nfn c() {} // d\n"), 1);
    }
}
