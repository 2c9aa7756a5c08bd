#!/usr/bin/env bash
# Replays the transactions of evm-bench's tests in go-ethereum: `run.sh --test interfaces --test hostile`.
# The arguments are those of `cargo test -p evm-bench`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
target=${CARGO_TARGET_DIR:-$PWD/target} log=$(mktemp)
trap 'rm -f "$log"' EXIT
# One thread: the log is that of one chain after the other.
MLDSA_TX_LOG=$log cargo test --locked --release --manifest-path contrib/evm/Cargo.toml -p evm-bench "$@" -- --test-threads=1
cargo build --locked --release -p mldsa-c
export CGO_CFLAGS="-I$PWD/crates/mldsa-c/include" CGO_LDFLAGS="$target/release/libmldsa_c.a -lm -ldl -lpthread"
cd contrib/evm/geth
go run . "$log"
