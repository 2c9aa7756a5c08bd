#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f<'a>(vote: Vote<'a>, context: mldsa_core::Context<'a>) -> Vote<'a> {
    vote.with_context(context)
}

fn main() {}
