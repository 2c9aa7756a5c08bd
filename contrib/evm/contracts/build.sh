#!/usr/bin/env bash
# Writes the Yul of every contract to `yul` and the compiled code to `artifacts`, and compares both with
# hashes.txt. Needs cargo and node. `build.sh --bless` writes hashes.txt.
set -euo pipefail
cd "$(dirname "$0")"
rm -rf yul artifacts
mkdir yul
cargo run --quiet --locked --manifest-path ../Cargo.toml --bin emit yul
[ -d node_modules/solc ] || npm ci --silent --no-audit --no-fund
node build.mjs
if [ "${1-}" = --bless ]; then
    sha256sum yul/* artifacts/* >hashes.txt
fi
sha256sum --check --quiet hashes.txt
[ "$(ls yul artifacts | grep -c '\.')" = "$(wc -l <hashes.txt)" ] || {
    echo "hashes.txt does not list every file" >&2
    exit 1
}
