#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(verifier: &CommitteeVerifier<mldsa_core::MlDsa44>, votes: &[(MemberId, &[u8])]) -> bool {
    let verifier = verifier.with_threshold(1_u128);
    verifier.verify_quorum(b"block", votes, QuorumRule::Certificate).is_ok()
}

fn main() {}
