#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(pending: Pending<Result<(), ServiceError>>) {
    pending.wait();
}

fn main() {}
