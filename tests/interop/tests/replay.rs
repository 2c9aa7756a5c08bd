//! Replays the committed corpora of the fuzz targets.

use std::fs;
use std::path::Path;

use mldsa_interop::{differential, encodings, lines, verify};

/// Runs every input of a target and returns their number.
fn replay(target: &str, run: fn(&[u8])) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a corpus") {
        let path = entry.expect("readable").path();
        run(&fs::read(path).expect("readable"));
        count += 1;
    }
    count
}

macro_rules! targets {
    ($($name:ident: $run:path, at least $least:literal;)+) => {$(
        #[test]
        fn $name() {
            assert!(replay(stringify!($name), $run) >= $least);
        }
    )+};
}
targets! {
    decode: encodings::decode, at least 24;
    pkcs8: encodings::pkcs8, at least 12;
    pem: encodings::pem, at least 15;
    verify: verify::verify, at least 9;
    differential: differential::differential, at least 12;
    jsonl: lines::jsonl, at least 12;
}
