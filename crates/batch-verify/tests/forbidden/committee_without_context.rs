#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f(key: &[u8]) -> bool {
    Committee::<mldsa_core::MlDsa44>::builder().build([(key, 1)]).is_ok()
}

fn main() {}
