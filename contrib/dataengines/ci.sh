#!/usr/bin/env bash
# The data engines with the Python wheel: counts by reason are those of mldsa-archive, also when an executor dies.
# Reads: crates/mldsa-arrow/src crates/mldsa-arrow/Cargo.toml crates/batch-verify/src crates/mldsa-core/src python
source .ci/lib.sh
need python3=python3
for engine in polars duckdb ray spark; do
    gate contrib/dataengines/run.py $engine
done
finish
