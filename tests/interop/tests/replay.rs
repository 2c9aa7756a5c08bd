//! Replays the committed corpora of the fuzz targets, on every backend of this CPU.

use std::env;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;
use mldsa_core::Backend;
use mldsa_interop::{aggregate, encodings, lines, verify};

/// Runs every input of a target and returns the number of inputs.
fn replay(target: &str, run: fn(&[u8])) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus.tar.gz");
    let archive = GzDecoder::new(File::open(path).expect("the corpora"));
    let mut archive = tar::Archive::new(archive);
    let folder = Path::new("corpus").join(target);
    let mut count = 0;
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("readable");
        let is_input = entry.header().entry_type().is_file()
            && entry.path().expect("a name").starts_with(&folder);
        if is_input {
            let mut input = Vec::new();
            entry.read_to_end(&mut input).expect("readable");
            run(&input);
            count += 1;
        }
    }
    count
}

/// The other tests use the fastest backend of the CPU, or the one that `MLDSA_BACKEND` names:
/// this one runs them again, in a process for each other backend.
#[test]
fn other_backends() {
    if env::var_os("MLDSA_BACKEND").is_some() {
        return;
    }
    for backend in Backend::available().filter(|backend| *backend != Backend::detect()) {
        let run = Command::new(env::current_exe().expect("a path"))
            .env("MLDSA_BACKEND", backend.name())
            .output()
            .expect("starts");
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{}: {text}", backend.name());
    }
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
    jsonl: lines::jsonl, at least 12;
}
