#!/usr/bin/env bash
# Machine code of the kernels for all inputs: the rows that take seconds, against LEDGER.md. The others
# are those of `-- all`.
# Reads: crates/mldsa-core/src crates/mldsa-core/Cargo.toml tests/kat/src tests/kat/Cargo.toml tools/install-targets.sh
source .ci/lib.sh
[ "$(uname -m)" = x86_64 ] || not_run "the kernels of this architecture have no rows"
run cargo clippy --locked --quiet --manifest-path contrib/proofs/Cargo.toml --all-targets -- -D warnings
run cargo test --locked --quiet --manifest-path contrib/proofs/Cargo.toml
run cargo run --locked --quiet --release --manifest-path contrib/proofs/Cargo.toml -- quick
install "${arm_tools[@]}" && tools/install-targets.sh aarch64-unknown-linux-gnu || true
gate cargo run --locked --quiet --release --manifest-path contrib/proofs/Cargo.toml -- aarch64 quick
finish
