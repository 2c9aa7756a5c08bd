#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

async fn f<V: SignedVertex + Send + Sync + 'static>(
    verifier: &CommitteeVerifier<mldsa_core::MlDsa44>,
    vertices: Vec<V>,
) {
    verify_vertex_signatures_batch_async(verifier, vertices).await;
}

fn main() {}
