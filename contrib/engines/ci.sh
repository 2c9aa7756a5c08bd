#!/usr/bin/env bash
# The consensus engines with votes of this library: tests, and a run of each program.
# Reads: crates/mldsa-core/src crates/mldsa-core/Cargo.toml crates/batch-verify/src crates/batch-verify/Cargo.toml crates/mladsa-aggregate/src crates/mladsa-aggregate/Cargo.toml
source .ci/lib.sh
need cc=gcc cmake=cmake
cd contrib/engines
run cargo test --locked --release --workspace
run cargo run --locked --quiet --release --bin bft-simplex -- --net sim --validators 4 --views 20 --set 65
run cargo run --locked --quiet --release --bin bft-malachite -- --validators 4 --heights 10 --set 65
run cargo run --locked --quiet --release --bin bft-alephbft -- --validators 4
run cargo run --locked --quiet --release --bin bft-checkpoints
