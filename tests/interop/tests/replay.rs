//! Replays the committed corpora of the fuzz targets, on every backend of this CPU.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use mldsa_core::Backend;
use mldsa_interop::{aggregate, differential, encodings, lines, verify};

/// Held by who has chosen the backend of the process.
static BACKEND: Mutex<()> = Mutex::new(());

/// Runs every input of a target on every backend and returns the number of inputs.
fn replay(target: &str, run: fn(&[u8])) -> usize {
    let _chosen = BACKEND.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a corpus") {
        let path = entry.expect("readable").path();
        let input = fs::read(path).expect("readable");
        for backend in Backend::available() {
            mldsa_core::internals::set_default_backend(backend);
            run(&input);
        }
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
    aggregate: aggregate::aggregate, at least 16;
    decode: encodings::decode, at least 24;
    pkcs8: encodings::pkcs8, at least 12;
    pem: encodings::pem, at least 15;
    verify: verify::verify, at least 9;
    differential: differential::differential, at least 12;
    jsonl: lines::jsonl, at least 12;
}
