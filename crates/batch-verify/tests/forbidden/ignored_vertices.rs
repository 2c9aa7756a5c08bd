#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f<V: SignedVertex>(verifier: &CommitteeVerifier<mldsa_core::MlDsa44>, vertices: &[V]) {
    verify_vertex_signatures_batch(verifier, vertices);
}

fn main() {}
