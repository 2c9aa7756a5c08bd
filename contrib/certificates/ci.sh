#!/usr/bin/env bash
# Certificates and logs beside others: TLS with Go, OpenSSL, Node and aws-lc-rs, logs with two Go modules, JWS,
# COSE and CMS, and a million changed inputs.
# Reads: crates/mldsa-rustls crates/mldsa-tlog crates/batch-verify/src crates/mldsa-core/src crates/mldsa-core/Cargo.toml
source .ci/lib.sh
need cc=gcc python3=python3 npm=npm
target=${CARGO_TARGET_DIR:-$PWD/contrib/certificates/target}
run cargo test --locked --release --manifest-path contrib/certificates/Cargo.toml --target-dir "$target"
run cargo run --locked --release --manifest-path contrib/certificates/Cargo.toml --target-dir "$target" -- mutate
gate contrib/certificates/peers.py
finish
