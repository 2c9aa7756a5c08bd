#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

type Set = mldsa_core::MlDsa44;

fn f(service: &VerificationService<Set>, source: Source, votes: &[Vote]) {
    service.submit_all(votes.iter().map(|vote| (source, *vote)));
    for answer in service.submit_all(votes.iter().map(|vote| (source, *vote))) {
        answer.unwrap().wait();
    }
}

fn g(service: &VerificationService<Set>, committee: &Committee<Set>) -> Result<(), ServiceError> {
    let rule = QuorumRule::AnyValid;
    service.submit_quorum(Source::own(), committee, *b"block", Vec::new(), rule)?.wait();
    service.submit_quorum(Source::own(), committee, *b"block", Vec::new(), rule)?;
    Ok(())
}

fn main() {}
