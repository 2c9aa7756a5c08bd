#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

type Any = Result<(), Box<dyn std::error::Error>>;

async fn f(service: &VerificationService<mldsa_core::MlDsa44>, source: Source, vote: &Vote<'_>) -> Any {
    service.submit(source, vote)?.await;
    Ok(())
}

fn main() {}
