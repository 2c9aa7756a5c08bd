#!/usr/bin/env bash
# Builds the archive of each target: OUT/TARGET/libmldsa_lowmem.a.
#
#   crates/mldsa-lowmem-c/build.sh [OUT [TARGET...]]
#
# OUT is target/lowmem-c unless it is given, the targets are those of the list below and the host. The
# size of the code matters: opt-level s, unless CARGO_PROFILE_RELEASE_OPT_LEVEL says otherwise.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
host=$(rustc --version --verbose | sed -n 's/^host: //p')
out=${1:-${CARGO_TARGET_DIR:-$root/target}/lowmem-c}
shift || true
[ $# -gt 0 ] || set -- thumbv6m-none-eabi thumbv7em-none-eabi thumbv8m.main-none-eabi riscv32imc-unknown-none-elf "$host"
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root"
export CARGO_PROFILE_RELEASE_OPT_LEVEL=${CARGO_PROFILE_RELEASE_OPT_LEVEL:-s} CARGO_PROFILE_RELEASE_PANIC=abort
export CARGO_PROFILE_RELEASE_LTO=true CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1
for target; do
    cargo rustc --locked --quiet --release --target "$target" -p mldsa-lowmem-c --lib --crate-type staticlib \
        --target-dir "$out/build" -- --cfg mldsa_lowmem_archive
    mkdir -p "$out/$target"
    # The archiver of the machine's own binaries reads every ELF that it only packs.
    KEEP='mldsa_lowmem_*' crates/mldsa-c/localise.sh "$out/$target/libmldsa_lowmem.a" \
        "$out/build/$target/release/libmldsa_lowmem_c.a"
    echo "$out/$target/libmldsa_lowmem.a"
done
