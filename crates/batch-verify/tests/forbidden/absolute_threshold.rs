#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(verifier: &CommitteeVerifier<mldsa_core::MlDsa44>, votes: &[(MemberId, &[u8])]) -> bool {
    verifier.verify_threshold(b"block", votes, QuorumRule::Certificate, 1_u128).is_ok()
}

fn main() {}
