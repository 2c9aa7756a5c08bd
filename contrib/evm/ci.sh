#!/usr/bin/env bash
# ML-DSA inside the EVM: the generator's output is the committed one and compiles to the committed
# code, the contracts agree with the core, and the figures can be printed.
# Reads: crates/mldsa-core/src crates/mldsa-core/Cargo.toml crates/mldsa-evm-precompile tests/kat/src
source .ci/lib.sh
mkdir -p target
run cargo test --locked --release --manifest-path contrib/evm/Cargo.toml -- --nocapture
run cargo run --locked --release --manifest-path contrib/evm/Cargo.toml --bin evm-bench -- --jsonl "$PWD/target/evm.jsonl"
[ -s target/evm.jsonl ] || { echo "evm-bench wrote no rows"; exit 1; }
