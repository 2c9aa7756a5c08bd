#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f() -> MemberId {
    MemberId { committee: [0; 32], index: 3 }
}

fn main() {}
