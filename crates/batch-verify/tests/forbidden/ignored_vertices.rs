#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(verifier: &CommitteeVerifier<mldsa_core::MlDsa44>, vertices: &[Vec<u8>], member: MemberId) {
    verifier.verify_vertex_signatures_batch(vertices, |vertex| Vote::new(member, b"block", vertex));
}

fn main() {}
