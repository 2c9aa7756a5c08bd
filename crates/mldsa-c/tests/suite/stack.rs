//! Stack of every function, on every backend of this CPU.

use core::fmt::Write;
use std::path::{Path, PathBuf};

use mldsa_c::{SIGN_STACK_BYTES, STACK_BYTES};
use mldsa_core::Backend;

use crate::programs::{C, compile};

/// What encloses the table in the page.
const MARKS: [&str; 2] = ["<!-- stack -->\n", "<!-- end of stack -->\n"];

/// The manual.
fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/c.md")
}

/// The table in the page: text before, table, text after.
fn parts(page: &str) -> [&str; 3] {
    let (before, rest) = page.split_once(MARKS[0]).expect("a table of stack");
    let (table, after) = rest.split_once(MARKS[1]).expect("its end");
    [before, table, after]
}

/// The rows of the page's table as lines of a comment in the header.
pub(crate) fn comment() -> String {
    let page = std::fs::read_to_string(page()).expect("docs/c.md");
    let mut lines = String::new();
    for row in parts(&page)[1].lines().skip(2) {
        let mut cells = row.trim_matches(['|', ' ']).split('|').map(str::trim);
        let mut cell = || cells.next().expect("four cells");
        let name = cell().replace('`', "");
        let (small, medium, large) = (cell(), cell(), cell());
        writeln!(lines, " * {name:<34}{small:>4}{medium:>4}{large:>4}").expect("a string");
    }
    lines
}

/// `MLDSA_BLESS=1` and `--release` write the table of `docs/c.md`: the largest of all backends of
/// this CPU in KiB.
#[cfg(target_os = "linux")]
#[test]
fn every_function_keeps_to_its_stack() {
    let program = compile(C, "tests/c/stack.c", "");
    let named = std::env::var_os("MLDSA_C_ARCHIVE").is_some();
    let mut most = std::collections::BTreeMap::<usize, (String, [usize; 3])>::new();
    for backend in Backend::available().map(|backend| backend.name()) {
        // Only the library of the tests reads the variable.
        let backend = if named { "the CPU's backend" } else { backend };
        let output = program.run_with(&[], "", &[("MLDSA_BACKEND", backend)]);
        println!("{backend}:\n{output}");
        for (n, line) in output.lines().enumerate() {
            let mut fields = line.split('\t');
            let name = fields.next().expect("a function");
            let row = most.entry(n).or_insert((name.to_owned(), [0; 3]));
            for most in &mut row.1 {
                let depth = fields.next().expect("a depth").parse().expect("a number");
                *most = (*most).max(depth);
            }
        }
        if named {
            break;
        }
    }
    assert_eq!(most.len(), 24, "functions");
    let mut table = String::from("| KiB | 44 | 65 | 87 |\n|---|--:|--:|--:|\n");
    for (name, depths) in most.values() {
        let limit = match name.starts_with("mldsa_sign") || name == "mldsa_self_test" {
            true => SIGN_STACK_BYTES,
            false => STACK_BYTES,
        };
        assert!(
            depths.iter().all(|depth| *depth <= limit),
            "{name}: {depths:?}"
        );
        let [small, medium, large] = depths.map(|depth| depth.div_ceil(1024));
        writeln!(table, "| `{name}` | {small} | {medium} | {large} |").expect("a string");
    }
    if std::env::var_os("MLDSA_BLESS").is_some() && !cfg!(debug_assertions) {
        let text = std::fs::read_to_string(page()).expect("docs/c.md");
        let [before, _, after] = parts(&text);
        let text = [before, MARKS[0], &table, MARKS[1], after].concat();
        std::fs::write(page(), text).expect("a writable page");
    }
}
