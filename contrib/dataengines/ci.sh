#!/usr/bin/env bash
# The functions of DataFusion; then each data engine: counts by reason are those of mldsa-archive, also when a worker dies.
# Reads: crates/mldsa-arrow/src crates/mldsa-arrow/Cargo.toml crates/mldsa-archive/src crates/mldsa-archive/Cargo.toml crates/batch-verify/src crates/batch-verify/Cargo.toml crates/mldsa-core/src crates/mldsa-core/Cargo.toml python
source .ci/lib.sh
need python3=python3
target=${CARGO_TARGET_DIR:-contrib/dataengines/target}
run cargo test --locked --release --manifest-path contrib/dataengines/Cargo.toml --target-dir "$target/engines"
for engine in datafusion ballista polars duckdb ray spark; do
    gate contrib/dataengines/run.py $engine
done
finish
