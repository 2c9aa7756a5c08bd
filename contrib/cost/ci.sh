#!/usr/bin/env bash
# The worst case of a verification: exact tails, and bounds that no executed count exceeds.
# Reads: crates/mldsa-core/src crates/mldsa-core/Cargo.toml
source .ci/lib.sh
need valgrind=valgrind
cd contrib/cost
run cargo test --locked --release
run cargo run --locked --release -- tails
run cargo run --locked --release -- search 20000
run cargo run --locked --release -- bounds 12
