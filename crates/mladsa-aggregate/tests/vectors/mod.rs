//! Known answers: every file of `tests/kat/ml-adsa`. The example `published_digests` has those of
//! the original description. A module of the library, because the vectors need a plain label and a
//! width above the bound, which the public interface does not admit.

use alloc::vec::Vec;
use std::path::Path;

use mldsa_core::Backend;
use mldsa_core::internals::Poly;
use mldsa_core::internals::vectors;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::keys::label::Label;
use crate::keys::matrix::{K, L, P, vector};
use crate::keys::one_time_key::{key_seed, pack_vec};
use crate::steps::*;
use crate::*;

mod aggregates;
mod primitives;

fn load(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kat/ml-adsa");
    serde_json::from_slice(&std::fs::read(path.join(name)).unwrap()).unwrap()
}

trait Fields {
    fn text(&self, name: &str) -> &str;
    fn bytes(&self, name: &str) -> Vec<u8>;
    fn number(&self, name: &str) -> u64;
    fn list(&self, name: &str) -> &[Value];
    fn is_digest_of(&self, name: &str, bytes: &[u8]);
}

impl Fields for Value {
    fn text(&self, name: &str) -> &str {
        self[name]
            .as_str()
            .unwrap_or_else(|| panic!("field {name}"))
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        hex::decode(self.text(name)).unwrap()
    }

    fn number(&self, name: &str) -> u64 {
        self[name]
            .as_u64()
            .unwrap_or_else(|| panic!("field {name}"))
    }

    fn list(&self, name: &str) -> &[Value] {
        self[name]
            .as_array()
            .unwrap_or_else(|| panic!("field {name}"))
    }

    fn is_digest_of(&self, name: &str, bytes: &[u8]) {
        assert_eq!(
            hex::encode(Sha256::digest(bytes)),
            self.text(name),
            "{name}"
        );
    }
}

fn array<const N: usize>(bytes: Vec<u8>) -> [u8; N] {
    bytes.try_into().unwrap()
}

/// The encoding `vec` of polynomials, which may be unreduced.
fn vec(polys: &[Poly]) -> Vec<u8> {
    let mut reduced = vector(polys.len());
    vectors::add(&mut reduced, polys);
    let mut bytes = alloc::vec![0; 768 * polys.len()];
    pack_vec(&reduced, &mut bytes);
    bytes
}

fn secrets(seed: &MasterSeed, content: &Label) -> alloc::boxed::Box<[Poly]> {
    let mut s = vector(L + K);
    let r = key_seed(seed, content);
    vectors::expand_s(Backend::detect(), P, r.expose(), &mut s);
    s
}

fn first8(value: &Value) -> Vec<i32> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_i64().unwrap() as i32)
        .collect()
}

/// The other tests use the fastest backend of the CPU, or the one that `MLDSA_BACKEND` names:
/// this one runs them again, in a process for each other backend.
#[test]
fn all_backends_reproduce_all_vectors() {
    if std::env::var_os("MLDSA_BACKEND").is_some() {
        return;
    }
    for backend in Backend::available().filter(|backend| *backend != Backend::detect()) {
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .arg("vectors::")
            .env("MLDSA_BACKEND", backend.name())
            .output()
            .unwrap();
        let text = alloc::string::String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{}: {text}", backend.name());
        assert!(!text.contains(" 0 passed"), "{}: {text}", backend.name());
    }
}
