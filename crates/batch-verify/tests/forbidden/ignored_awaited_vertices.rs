#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

async fn f(verifier: &CommitteeVerifier<mldsa_core::MlDsa44>, vertices: Vec<Vec<u8>>, member: MemberId) {
    verifier
        .verify_vertex_signatures_batch_async(vertices, move |vertex| Vote::new(member, b"block", vertex))
        .await;
}

fn main() {}
