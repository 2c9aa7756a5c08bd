#!/usr/bin/env bash
# The comparisons with other implementations build and run. Figures are for quiet machines.
# Reads: crates/mldsa-core/src crates/mldsa-core/Cargo.toml crates/batch-verify/src crates/batch-verify/Cargo.toml docs/migration.md
source .ci/lib.sh
need cc=gcc c++=g++ cmake=cmake
cd contrib/peers
run cargo clippy --locked --workspace --all-targets -- -D warnings
# The shortest run: every contender is checked before its clock starts.
run cargo run --locked --profile bench --bin scorecard -- --only verify --seconds 0
run cargo test --locked --profile bench --workspace --lib --test aws_lc --test migration
