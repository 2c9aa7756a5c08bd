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

use crate::keys::label::Label;
use crate::keys::matrix::{K, L, P, vector};
use crate::keys::one_time_key::{key_seed, pack_vec};
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

/// The published digests of which the inputs are known. The list has the first 8 and the last 6 hex
/// digits of each.
#[cfg(feature = "insecure-open-commitments")]
#[test]
fn published_digests() {
    use crate::open_commitments::{OneParty, merkle_root, nonce, one_time_key};

    let file = load("kat-published.json");
    let expected = &file["reproduced"];
    let inputs = &file["inputs_n1_pk"];
    let rho = array(inputs.bytes("rho"));
    let seed = MasterSeed::from_bytes(b"ml-adsa-kat-master-seed-00000000");
    let (secrets, t) = one_time_key(&rho, &seed, b"kat/content/0");
    expected.is_digest_of("expand_s", &secrets);
    expected.is_digest_of("content_key_t", &t);
    expected.is_digest_of("derive_nonce", &nonce(&seed, b"kat/content/0"));
    let root = merkle_root(&[b"a", b"b", b"c"]).unwrap();
    assert_eq!(hex::encode(root), expected.text("merkle_root3"));

    let seed = MasterSeed::from_bytes(&array(inputs.bytes("member0_master_seed")));
    let one = OneParty::new(&rho, [seed].into()).unwrap();
    let pk = one.key(&inputs.bytes("content_with_attempt_hex")).unwrap();
    assert_eq!(pk.as_bytes().to_vec(), inputs.bytes("pk"));
    expected.is_digest_of("n1_pk", pk.as_bytes());

    let inputs = &file["inputs_rot_pk"];
    let seeds = inputs.list("member_master_seeds").iter();
    let seeds = seeds
        .map(|seed| MasterSeed::from_bytes(&array(hex::decode(seed.as_str().unwrap()).unwrap())));
    let eight = OneParty::new(&rho, seeds.collect()).unwrap();
    for (j, content) in inputs.list("contents").iter().enumerate() {
        let content = [content.as_str().unwrap().as_bytes(), &[0]].concat();
        let digests = match j {
            0 | 4 => expected,
            _ => &file["computed_but_not_listed_publicly"],
        };
        let key = eight.key(&content).unwrap();
        digests.is_digest_of(&alloc::format!("rot{j}_pk"), key.as_bytes());
    }
}
