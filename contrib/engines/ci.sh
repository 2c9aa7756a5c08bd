#!/usr/bin/env bash
# The consensus engines with votes of this library: tests, and a run of each program.
# Reads: crates/mldsa-core/src crates/mldsa-core/Cargo.toml crates/batch-verify/src crates/batch-verify/Cargo.toml crates/mladsa-aggregate/src crates/mladsa-aggregate/Cargo.toml
source .ci/lib.sh
need cc=gcc cmake=cmake
cd contrib/engines
run cargo test --locked --release --workspace
# One build for all, since each `cargo run` would build the dependencies with the features of its program.
run cargo build --locked --release --workspace
programs=${CARGO_TARGET_DIR:-target}/release
run "$programs/bft-malachite"
run "$programs/bft-alephbft" --validators 4
run "$programs/bft-checkpoints"
