//! Tests of the built command, in one program: `cargo test -p mldsa-cli --test suite files` runs the
//! tests of one file.

#![allow(clippy::unwrap_used, reason = "a test")]

mod backends;
mod batch_sign;
mod batch_verify;
mod certificates;
mod encrypted;
mod files;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(target_os = "linux")]
mod memory;
mod notes;
#[cfg(unix)]
mod outputs;
#[path = "../peer/mod.rs"]
mod peer;
#[path = "../../../mldsa-core/tests/formats/pem_table.rs"]
mod pem_table;
#[cfg(target_os = "linux")]
mod threads;
mod tool;
mod votes;
mod waiting;
