#!/usr/bin/env bash
# Builds the C library and installs header, archive, shared library and pkg-config file.
#
#   crates/mldsa-c/install.sh PREFIX [TARGET]
#
# TARGET is a Rust target; the host's by default. For musl there is the archive alone, and Rust's
# unwinder (libunwind.a): that of a glibc compiler does not fit.
set -euo pipefail
prefix=$(realpath -m "${1:?usage: install.sh PREFIX [TARGET]}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
host=$(rustc --version --verbose | sed -n 's/^host: //p')
target=${2:-$host}

# The smallest and fastest result by default; settings of the caller hold.
export CARGO_PROFILE_RELEASE_LTO=${CARGO_PROFILE_RELEASE_LTO:-fat}
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=${CARGO_PROFILE_RELEASE_CODEGEN_UNITS:-1}
export CARGO_PROFILE_RELEASE_STRIP=debuginfo CARGO_INCREMENTAL=0
kinds=cdylib,staticlib
case $target in
*-musl)
    kinds=staticlib
    unwinder=$(rustc --print sysroot)/lib/rustlib/$target/lib/self-contained/libunwind.a
    ;;
aarch64-unknown-linux-gnu)
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=${CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER:-aarch64-linux-gnu-gcc}
    command -v "$CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER" >/dev/null || kinds=staticlib
    ;;
esac
cargo rustc --locked --quiet --release --target-dir target/c --target "$target" -p mldsa-c --crate-type "$kinds"

built=target/c/$target/release
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include"
install -m 644 "$built/libmldsa_c.a" "$prefix/lib/"
install -m 644 crates/mldsa-c/include/mldsa.h "$prefix/include/"
case $kinds in *cdylib*)
    if [ -f "$built/libmldsa_c.so" ]; then
        # The name with the version of the interface is in programs, the other one is for compilers.
        install -m 755 "$built/libmldsa_c.so" "$prefix/lib/libmldsa_c.so.1"
        ln -sf libmldsa_c.so.1 "$prefix/lib/libmldsa_c.so"
    else
        install -m 755 "$built/libmldsa_c.dylib" "$prefix/lib/"
    fi
    ;;
esac
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
libs="-lpthread -ldl -lm"
if [ -n "${unwinder:-}" ]; then
    install -m 644 "$unwinder" "$prefix/lib/"
    libs="-lunwind"
fi
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" -e "s|@LIBS@|$libs|" \
    crates/mldsa-c/mldsa.pc.in >"$prefix/lib/pkgconfig/mldsa.pc"
