#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(verifier: &CommitteeVerifier<mldsa_core::MlDsa44>, votes: &[(MemberId, &[u8])]) {
    verifier.verify_quorum(b"block", votes, QuorumRule::AnyValid);
}

fn main() {}
