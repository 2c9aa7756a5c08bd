#!/usr/bin/env bash
# Keys and batch verifier for CometBFT: tests against the released module, and a commit that a patched
# CometBFT verifies.
# Reads: go crates/mldsa-c crates/mldsa-core/src crates/mldsa-core/Cargo.toml crates/batch-verify/src crates/batch-verify/Cargo.toml
source .ci/lib.sh
has go || not_run "no Go"
need cc=gcc
mkdir -p target
(cd contrib/comet && go list -deps -test ./... >/dev/null) || not_run "the modules cannot be downloaded"
CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 run go/build-native.sh
cd contrib/comet
run go vet ./...
run go test -tags=mldsa_cgo ./...
rm -rf ../../target/cometbft
run go run ./cmd/patch ../../target/cometbft
run go run -mod=mod -modfile ../../target/cometbft.mod -tags mldsa_cgo,cometbft_patched ./cmd/verifycommit -rounds 1
