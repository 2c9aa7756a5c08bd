#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(service: &VerificationService<mldsa_core::MlDsa44>, votes: &[Vote]) {
    service.verify_batch(votes.iter().copied());
}

fn main() {}
