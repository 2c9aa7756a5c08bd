#!/usr/bin/env bash
# A whole program on an emulated micro:bit and a RISC-V FE310, both with 16 kB of RAM, as a user builds it. The programs for a
# Cortex-M4 are in the default step `device`.
# Reads: crates/mldsa-core/src crates/mldsa-core/Cargo.toml crates/mldsa-lowmem/src crates/mldsa-lowmem/Cargo.toml
source .ci/lib.sh
need "${board_tools[@]}"
targets $boards
export QEMU_TIMEOUT=600
cd contrib/boards
for target in thumbv6m-none-eabi riscv32imac-unknown-none-elf; do
    run cargo run --locked --quiet --release --bin demo --target $target
done
