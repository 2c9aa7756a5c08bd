//! The tool from outside, in one program: `cargo test -p mldsa-cli --test suite files` runs the
//! tests of one file.

#![allow(clippy::unwrap_used, reason = "a test")]

mod aggregate;
mod backends;
mod batch_sign;
mod batch_verify;
mod files;
#[path = "../../examples/make_votes.rs"]
#[allow(dead_code, reason = "an example with its own main")]
mod make_votes;
#[cfg(unix)]
mod outputs;
mod tool;
mod votes;
mod waiting;

use make_votes::peer;
