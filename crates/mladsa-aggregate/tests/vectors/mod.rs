//! Known answers: every file of `tests/kat/ml-adsa`, which are the published digests and vectors of
//! this project. A module of the library, because the vectors need a plain label and a width above
//! the bound, which the public interface does not admit.

use alloc::vec::Vec;
use std::path::Path;

use mldsa_core::Backend;
use mldsa_core::internals::Poly;
use mldsa_core::internals::vectors;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::keys::matrix::{K, L, Matrix, P, encode_key, vector};
use crate::keys::nonce::{SIGMA_BASE, derive_nonce};
use crate::keys::one_time_key::{OneTimePublicKey, key_seed, pack_vec};
use crate::keys::scope::{EpochLabel, Scope};
use crate::steps::*;
use crate::*;

mod aggregates;
#[path = "../peer/mod.rs"]
mod peer;
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

/// A label without its scope, as in the published digests.
fn published(label: &[u8]) -> EpochLabel {
    Scope::Published.label(label)
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

fn secrets(seed: &MasterSeed, content: &EpochLabel) -> alloc::boxed::Box<[Poly]> {
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

#[test]
fn published_digests() {
    let file = load("kat-published.json");
    let expected = &file["reproduced"];
    let inputs = &file["inputs_n1_pk"];
    let matrix = Matrix::expand(&array(inputs.bytes("rho")));
    let key_of = |seeds: &[MasterSeed], content: &[u8]| {
        let (mut sum, mut t) = (vector(K), vector(K));
        for seed in seeds {
            OneTimePublicKey::derive(&matrix, seed, &published(content)).unpack(&mut t);
            vectors::add(&mut sum, &t);
        }
        *encode_key(&matrix, &sum).unwrap().as_bytes()
    };

    let seed = MasterSeed::from_bytes(b"ml-adsa-kat-master-seed-00000000");
    let label = &published(b"kat/content/0");
    expected.is_digest_of("expand_s", &vec(&secrets(&seed, label)));
    let public_key = OneTimePublicKey::derive(&matrix, &seed, label);
    expected.is_digest_of("content_key_t", public_key.as_bytes());
    let y = derive_nonce(&seed, label, SIGMA_BASE);
    expected.is_digest_of("derive_nonce", &vec(y.expose()));
    // The digest of a Merkle root is a test of `merkle`.

    let seed = MasterSeed::from_bytes(&array(inputs.bytes("member0_master_seed")));
    let pk = key_of(&[seed], &inputs.bytes("content_with_attempt_hex"));
    assert_eq!(pk.to_vec(), inputs.bytes("pk"));
    expected.is_digest_of("n1_pk", &pk);

    let inputs = &file["inputs_rot_pk"];
    let seeds: Vec<MasterSeed> = inputs
        .list("member_master_seeds")
        .iter()
        .map(|seed| MasterSeed::from_bytes(&array(hex::decode(seed.as_str().unwrap()).unwrap())))
        .collect();
    for (j, content) in inputs.list("contents").iter().enumerate() {
        let content = [content.as_str().unwrap().as_bytes(), &[0]].concat();
        let digests = match j {
            0 | 4 => expected,
            _ => &file["computed_but_not_listed_publicly"],
        };
        digests.is_digest_of(&alloc::format!("rot{j}_pk"), &key_of(&seeds, &content));
    }
}
