#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(verifier: &CommitteeVerifier<mldsa_core::MlDsa44>, votes: &[Vote], report: &mut Report) {
    verifier.verify_batch_into(votes.iter().copied(), report);
}

fn main() {}
