#![deny(unused_must_use)]
#![allow(dead_code)]

use batch_verify::*;

fn f<'a>(key: &'a [u8], signature: &'a [u8]) -> Item<'a> {
    Item::new(key, b"message", signature)
}

fn main() {}
