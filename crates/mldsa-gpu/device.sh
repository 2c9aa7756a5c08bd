#!/bin/sh
# Checks and rates on a machine with a GPU, in 5 minutes at most. `device.sh build` compiles the
# program into target/gpu on any machine; `device.sh` runs it on the GPU's: the tests of the crate
# on the first CUDA device, with the sanitizers if they are there, then the table.
set -eu
cd "$(dirname "$0")/../.."
if [ "${1:-}" = build ]; then
    mkdir -p target/gpu
    newest() { sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1; }
    cp "$(cargo test --release --locked -p mldsa-gpu --lib --no-run --message-format=json | newest)" target/gpu/tests
    exit
fi
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,pcie.link.gen.current --format=csv,noheader
date -u +%Y-%m-%d
export MLDSA_GPU=cuda
timeout 90 target/gpu/tests --nocapture
for tool in memcheck racecheck; do
    if command -v compute-sanitizer >/dev/null; then
        timeout 60 compute-sanitizer --tool $tool --error-exitcode 9 target/gpu/tests reject_classes::ml_dsa_65
    else
        echo "$tool: NOT RUN: no compute-sanitizer"
    fi
done
MLDSA_GPU_RATES="cuda 8192 32 300" timeout 120 target/gpu/tests rates --nocapture
