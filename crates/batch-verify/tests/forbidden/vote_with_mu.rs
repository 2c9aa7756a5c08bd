#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f<'a>(member: MemberId, mu: &'a mldsa_core::Mu, signature: &'a [u8]) -> Vote<'a> {
    Vote::new(member, mu, signature)
}

fn main() {}
