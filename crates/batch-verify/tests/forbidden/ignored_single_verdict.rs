#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(service: &VerificationService<mldsa_core::MlDsa44>, vote: &Vote) {
    service.verify(vote);
}

fn main() {}
