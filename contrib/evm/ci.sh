#!/usr/bin/env bash
# ML-DSA inside the EVM: the generator's output and its compiled code have the committed hashes, the
# contracts agree with the core, and the figures can be printed.
# Reads: crates/mldsa-c/src crates/mldsa-c/include crates/mldsa-core/src crates/mldsa-core/Cargo.toml crates/mldsa-evm-precompile/src crates/mldsa-evm-precompile/Cargo.toml tests/kat/src tests/kat/Cargo.toml
source .ci/lib.sh
mkdir -p target
need node=nodejs npm=npm go=golang-go
(cd contrib/evm/contracts && npm ci --silent --no-audit --no-fund) || not_run "solc cannot be downloaded"
run contrib/evm/contracts/build.sh
run cargo test --locked --release --manifest-path contrib/evm/Cargo.toml -- --nocapture
# The same transactions in go-ethereum, the precompiles by the C library.
contrib/evm/geth/run.sh --test interfaces
run cargo run --locked --release --manifest-path contrib/evm/Cargo.toml --bin evm-bench -- --jsonl "$PWD/target/evm.jsonl"
[ -s target/evm.jsonl ] || { echo "evm-bench wrote no rows"; exit 1; }
