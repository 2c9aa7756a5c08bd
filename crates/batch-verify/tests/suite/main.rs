//! Batches, quorums and intakes from outside, in one program: `cargo test -p batch-verify
//! --test suite validity` runs the tests of one file.

#![allow(clippy::unwrap_used, reason = "a test")]

mod asked;
mod batch;
mod consensus;
mod duplicates;
mod executors;
mod front;
mod hooks;
mod hostile;
mod intake;
mod load;
mod memory;
mod serde;
mod sharing;
mod tokio;
mod validity;
mod votes;
mod waiting;
