#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(verifier: &CommitteeVerifier<mldsa_core::MlDsa44>, votes: &[Vote]) {
    verifier.verify_batch(votes.iter().copied());
}

fn main() {}
