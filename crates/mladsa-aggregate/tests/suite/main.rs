//! The protocol, its guard and the attacks on them from outside, in one program: `cargo test
//! -p mladsa-aggregate --test suite guard` runs the tests of one file.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../algebra/mod.rs"]
mod algebra;
mod attacks;
#[path = "../committee/mod.rs"]
mod committee;
mod disk;
mod guard;
#[path = "../hostile/mod.rs"]
mod hostile;
#[path = "../peer/mod.rs"]
mod peer;
mod protocol;
mod session;
mod structure;
