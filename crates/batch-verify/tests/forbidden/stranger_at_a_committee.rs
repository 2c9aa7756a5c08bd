#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(verifier: &CommitteeVerifier<mldsa_core::MlDsa44>, item: Item) -> Report {
    verifier.verify_batch([item])
}

fn main() {}
