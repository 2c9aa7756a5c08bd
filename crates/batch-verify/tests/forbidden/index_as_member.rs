#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(signature: &[u8]) -> Vote<'_> {
    Vote::new(3_u32, b"block", signature)
}

fn main() {}
