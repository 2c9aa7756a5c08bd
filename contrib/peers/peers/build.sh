#!/usr/bin/env bash
# Builds the peers that are no dependencies of this workspace, each a program of its own:
# wolfSSL (GPL) and mldsa-native 2.0.0. Their sources are fetched from the crate registry into a
# scratch crate. The scorecard uses the programs that it finds. With a cross compiler as CC only
# mldsa-native's portable C is built, for instructions.py.
#
#   bash contrib/peers/peers/build.sh [FOLDER]      default: target/peers
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-$here/../../../target/peers}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$out/build
mkdir -p "$work/crate/src"

cat >"$work/crate/Cargo.toml" <<'TOML'
[package]
name = "peers"
version = "0.0.0"
edition = "2024"
[workspace]
[dependencies]
wolfssl-sys = "=5.3.0"
mysten-mldsa-native-rs = "=0.2.0"
TOML
: >"$work/crate/src/lib.rs"
folder() {
    cargo metadata --manifest-path "$work/crate/Cargo.toml" --format-version 1 |
        grep -o "\"[^\"]*/$1-[0-9.]*/Cargo.toml\"" | head -1 | tr -d '"' | xargs dirname
}
cc=${CC:-cc}
flags="-O3 -fomit-frame-pointer -I$here"

native=$(folder mysten-mldsa-native-rs)/deps/mldsa-native/mldsa
target=$($cc -dumpmachine)
target=${target%%-*}
# The backends of mldsa-native are chosen when it is compiled.
machine=
[ "$target" != x86_64 ] || machine=-march=x86-64-v3
backend="-DMLD_CONFIG_USE_NATIVE_BACKEND_ARITH -DMLD_CONFIG_USE_NATIVE_BACKEND_FIPS202"
for set in 44 65 87; do
    define="-DSET=$set -DMLD_CONFIG_PARAMETER_SET=$set -DMLD_CONFIG_NO_RANDOMIZED_API -I$native"
    [ "$target" != "$(uname -m)" ] || $cc $flags $machine $backend $define \
        "$here/driver.c" "$here/peer_mldsa_native.c" "$native"/mldsa_native{.c,_asm.S} \
        -o "$out/mldsa-native-$set"
    # Its portable C, for the compiler's default CPU.
    $cc $flags $define \
        "$here/driver.c" "$here/peer_mldsa_native.c" "$native/mldsa_native.c" \
        -o "$out/mldsa-native-portable-$set"
done

if [ "$target" != x86_64 ]; then
    echo "wolfssl: not built: settings are for x86-64"
    exit 0
fi
wolf=$(folder wolfssl-sys)/wolfssl-src
mkdir -p "$work/settings"
cp "$here/wolfssl_settings.h" "$work/settings/user_settings.h"
for form in avx512 avx2; do
    for cache in "" -cache; do
        objects=$work/wolfssl-$form$cache
        mkdir -p "$objects"
        define="-DWOLFSSL_USER_SETTINGS -I$work/settings -I$wolf"
        [ $form = avx512 ] || define="$define -DNO_AVX512_SUPPORT"
        [ -z "$cache" ] ||
            define="$define -DCACHE -DWC_MLDSA_CACHE_PRIV_VECTORS -DWC_MLDSA_CACHE_PUB_VECTORS"
        for file in wc_mldsa sha3 sha256 sha512 hash cpuid random memory wc_port error logging; do
            $cc $flags -w $define -c "$wolf/wolfcrypt/src/$file.c" -o "$objects/$file.o"
        done
        for file in wc_mldsa_asm sha3_asm sha256_asm sha512_asm; do
            $cc $define -c "$wolf/wolfcrypt/src/$file.S" -o "$objects/$file.o"
        done
        for set in 44 65 87; do
            $cc $flags $define -DSET=$set "$here/peer_wolfssl.c" "$here/driver.c" "$objects"/*.o \
                -o "$out/wolfssl-$form$cache-$set"
        done
    done
done
