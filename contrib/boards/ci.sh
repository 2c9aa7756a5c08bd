#!/usr/bin/env bash
# Whole programs on an emulated micro:bit and a RISC-V FE310, both with 16 kB of RAM: as a user builds
# them, then with every parameter set.
# Reads: crates/mldsa-core/src crates/mldsa-core/Cargo.toml crates/mldsa-lowmem/src crates/mldsa-lowmem/Cargo.toml examples/cortex-m/board-meter
source .ci/lib.sh
need "${board_tools[@]}"
targets $boards
export QEMU_TIMEOUT=600
for board in microbit sifive-e; do
    for features in "" --all-features; do
        (cd "contrib/boards/$board" && run cargo run --locked --quiet --release $features)
    done
done
