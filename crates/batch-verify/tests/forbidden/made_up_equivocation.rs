#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(member: MemberId) -> Equivocation {
    Equivocation { member, committee: [0; 32], votes: Default::default() }
}

fn main() {}
