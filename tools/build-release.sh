#!/usr/bin/env bash
# tools/build-release.sh [ARGUMENT]...: `cargo build --locked --release` whose programs hold no path of
# this machine, so that two folders and two users give equal bytes with one compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unit=$'\x1f'
flags="--remap-path-prefix=$PWD=."
flags+="${unit}--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
flags+="${unit}--remap-path-prefix=$(rustc --print sysroot)=rust"
CARGO_ENCODED_RUSTFLAGS=$flags exec cargo build --locked --release "$@"
