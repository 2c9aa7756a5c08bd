//! The documentation of public functions begins with a verb in the third person, in this crate
//! and in `mldsa-lowmem`: prints the share.

use std::fs;
use std::path::Path;

/// Documented public functions, and those among them whose documentation begins with a verb.
#[derive(Default)]
struct Share {
    functions: usize,
    with_verb: usize,
}

impl Share {
    fn add_folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                self.add_folder(&path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.add_source(&fs::read_to_string(path).expect("a source"));
            }
        }
    }

    fn add_source(&mut self, source: &str) {
        let mut first_line = None;
        let mut in_attribute = false;
        for line in source.lines().map(str::trim) {
            if line.starts_with("mod tests") {
                break;
            }
            if let Some(text) = line.strip_prefix("///") {
                first_line.get_or_insert(text.trim());
            } else if in_attribute || line.starts_with("#[") {
                in_attribute = !line.ends_with(']');
            } else if let Some(text) = first_line.take()
                && is_public_function(line)
            {
                self.functions += 1;
                self.with_verb += usize::from(begins_with_verb(text));
            }
        }
    }
}

fn is_public_function(line: &str) -> bool {
    [
        "pub fn ",
        "pub const fn ",
        "pub unsafe fn ",
        "pub async fn ",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// Whether the first word is capitalised and ends in "s", and is no noun that is in use here.
fn begins_with_verb(text: &str) -> bool {
    let word = text
        .split(|letter: char| !letter.is_ascii_alphabetic())
        .next();
    let nouns = [
        "As",
        "Bits",
        "Bytes",
        "Coefficients",
        "Its",
        "Lines",
        "Rows",
        "This",
        "Zeros",
    ];
    word.is_some_and(|word| {
        word.len() > 2
            && word.starts_with(|letter: char| letter.is_ascii_uppercase())
            && word.ends_with('s')
            && !nouns.contains(&word)
    })
}

#[test]
fn functions_are_described_with_a_verb() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a folder");
    for name in ["mldsa-core", "mldsa-lowmem"] {
        let mut share = Share::default();
        share.add_folder(&crates.join(name).join("src"));
        let Share {
            functions,
            with_verb,
        } = share;
        println!(
            "{name}: {with_verb} of {functions} documented public functions begin with a verb"
        );
        assert!(functions > 10, "{name}: {functions} functions");
        assert!(
            10 * with_verb >= 9 * functions,
            "{name}: {with_verb} of {functions}"
        );
    }
}
