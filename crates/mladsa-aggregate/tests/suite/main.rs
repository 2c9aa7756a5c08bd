//! Protocol, journal and attack tests in one program: `cargo test -p mladsa-aggregate --test
//! suite journal` runs the tests of one file.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../algebra/mod.rs"]
mod algebra;
mod attacks;
#[path = "../committee/mod.rs"]
mod committee;
mod collision;
mod contributions;
mod disk;
mod encodings;
#[path = "../hostile/mod.rs"]
mod hostile;
mod journal;
mod mark;
mod members;
#[path = "../peer/mod.rs"]
mod peer;
mod session;
mod signing;
#[path = "../simulation/mod.rs"]
mod simulation;
mod structure;
