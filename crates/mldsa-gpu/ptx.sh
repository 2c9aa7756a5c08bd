#!/bin/sh
# PTX of the kernels: `ptx.sh` writes ptx/{44,65,87}.ptx.gz with Debian's clang-19, and
# `ptx.sh check` compares them with what the compiler makes now, byte for byte.
# PTX 7.0 for sm_70: drivers from 450 on and GPUs from Volta on. No CUDA toolkit takes part.
set -eu
cd "$(dirname "$0")"
version=$(clang-19 --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')
[ "$version" = 19.1.7 ] || { echo "ptx: NOT RUN: the PTX is of clang 19.1.7, and this is $version"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for set in 44 65 87; do
    cat kernels/*.h | clang-19 -x cuda --cuda-device-only -nocudainc -nocudalib -Wno-unknown-cuda-version \
        --cuda-gpu-arch=sm_70 --cuda-feature=+ptx70 -O3 -S -DSET=$set - -o "$work/$set.ptx"
    if [ "${1:-}" = check ]; then
        gzip -dc ptx/$set.ptx.gz | cmp - "$work/$set.ptx"
    else
        gzip -9nc "$work/$set.ptx" >ptx/$set.ptx.gz
    fi
done
