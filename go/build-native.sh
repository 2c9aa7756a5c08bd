#!/usr/bin/env bash
# Builds the C library for the tags mldsa_cgo and mldsa_purego into go/native/GOOS_GOARCH.
#
#   go/build-native.sh [RUST-TARGET]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
target=${1:-$(rustc --version --verbose | sed -n 's/^host: //p')}
case $target in
x86_64-*-linux-*) platform=linux_amd64 ;;
aarch64-*-linux-*) platform=linux_arm64 ;;
*) echo "no Go platform for $target" >&2; exit 2 ;;
esac
../crates/mldsa-c/install.sh "../target/go-native/$platform" "$target" | grep -v '^ \|^A program\|^$'
# In the folder of a Go package, which `go mod vendor` copies.
for file in include/mldsa.h lib/libmldsa_c.a lib/libmldsa_c.so.2; do
    [ ! -e "../target/go-native/$platform/$file" ] || install -m 644 -t "native/$platform" "../target/go-native/$platform/$file"
done
