//! The places of the algorithms of FIPS 204, in the code and in `docs/architecture.md`.

use super::*;

/// Each algorithm of FIPS 204 is at home in exactly one place: the doc comment
/// that carries its number together with its name, as in `Algorithm 41 NTT`.
/// Every other mention gives the number alone.
#[test]
fn every_algorithm_has_one_home() {
    let astray: Vec<_> = (1..)
        .zip(ALGORITHMS)
        .zip(homes())
        .filter(|(_, homes)| homes.len() != 1)
        .map(|((number, name), homes)| format!("{number} {name}: {homes:?}"))
        .collect();
    assert!(
        astray.is_empty(),
        "algorithms without one home: {astray:#?}"
    );
}

/// The files, below `src`, that each algorithm is at home in. Number and name stand
/// on one line, where `grep` finds them.
fn homes() -> Vec<Vec<String>> {
    let mut homes = vec![Vec::new(); ALGORITHMS.len()];
    for file in rust_files(&source()) {
        let relative = below_source(&file);
        let text = read(&file);
        let lines = outside_tests(&text).lines().map(str::trim_start);
        for comment in lines.filter(|line| line.starts_with("///") || line.starts_with("//!")) {
            for (at, name) in ALGORITHMS.iter().enumerate() {
                let title = format!("{} {name}", at + 1);
                for _ in 0..mentions(comment, &title) {
                    homes[at].push(relative.clone());
                }
            }
        }
    }
    homes
}

/// `docs/architecture.md` gives each algorithm the home that it has, in rows of a link to the
/// home and a list of numbers with names.
#[test]
fn the_table_of_algorithms_is_true() {
    let mut stated = vec![Vec::new(); ALGORITHMS.len()];
    for line in read(&architecture()).lines() {
        let Some((link, list)) = line
            .strip_prefix("| [")
            .and_then(|row| row.split_once(" | "))
        else {
            continue;
        };
        for (at, name) in ALGORITHMS.iter().enumerate() {
            if mentions(list, &format!("{} {name}", at + 1)) > 0 {
                let (file, target) = link.split_once("](").expect("a link to the home");
                assert_eq!(target, format!("../crates/mldsa-core/src/{file})"));
                stated[at].push(file.to_owned());
            }
        }
    }
    assert_eq!(stated, homes(), "docs/architecture.md");
}

/// Every file of this crate says at its head what it contains.
#[test]
fn every_file_has_a_head() {
    let bare: Vec<_> = rust_files(&source())
        .iter()
        .filter(|file| {
            let text = read(file);
            !text.starts_with("//! ") && !text.starts_with("#![doc = include_str!")
        })
        .map(|file| below_source(file))
        .collect();
    assert!(bare.is_empty(), "files without a head: {bare:#?}");
}

fn architecture() -> PathBuf {
    source().join("../../../docs/architecture.md")
}

fn below_source(file: &Path) -> String {
    let relative = file.strip_prefix(source()).expect("below src");
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
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

/// Number of occurrences of a title as whole words: `41 NTT` is not in `41 NTT^-1`.
fn mentions(text: &str, title: &str) -> usize {
    let part_of_a_name = |c: char| c.is_ascii_alphanumeric() || "_^".contains(c);
    text.match_indices(title)
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_ascii_digit()))
        .filter(|(at, _)| !text[at + title.len()..].starts_with(part_of_a_name))
        .count()
}

#[test]
fn titles_are_whole_words() {
    assert_eq!(mentions("9 A, 10 B; 10 B.x, 110 B", "10 B"), 2);
    assert_eq!(mentions("41 NTT. 42 NTT^-1", "42 NTT"), 0);
}
