#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(pending: PendingVerdict) {
    pending.wait();
}

fn main() {}
