#!/usr/bin/env bash
# Builds the C library and installs header, archive, shared library, and files for pkg-config and CMake.
#
#   crates/mldsa-c/install.sh PREFIX [TARGET]
#
# TARGET is a Rust target; the host's by default. For musl there is the archive alone.
set -euo pipefail
prefix=$(realpath -m "${1:?usage: install.sh PREFIX [TARGET]}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
host=$(rustc --version --verbose | sed -n 's/^host: //p')
target=${2:-$host}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The smallest and fastest result by default; settings of the caller hold.
export CARGO_PROFILE_RELEASE_LTO=${CARGO_PROFILE_RELEASE_LTO:-fat}
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=${CARGO_PROFILE_RELEASE_CODEGEN_UNITS:-1}
export CARGO_PROFILE_RELEASE_STRIP=debuginfo CARGO_INCREMENTAL=0
kinds=cdylib,staticlib
unwinder=
case $target in
*-musl)
    kinds=staticlib
    # That of a glibc compiler does not fit.
    unwinder=$(rustc --print sysroot)/lib/rustlib/$target/lib/self-contained/libunwind.a
    ;;
aarch64-unknown-linux-gnu)
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=${CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER:-aarch64-linux-gnu-gcc}
    command -v "$CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER" >/dev/null || kinds=staticlib
    ! command -v aarch64-linux-gnu-ar >/dev/null || export AR=${AR:-aarch64-linux-gnu-ar}
    ;;
esac
echo "building $kinds for $target; this takes some minutes"
cargo rustc --locked --quiet --release --target-dir target/c --target "$target" -p mldsa-c --crate-type "$kinds"

built=target/c/$target/release
install_file() { # MODE FILE PLACE
    install -D -m "$1" "$2" "$prefix/$3"
    echo "installed $prefix/$3"
}
install_file 644 crates/mldsa-c/include/mldsa.h include/mldsa.h
libs="-lpthread -ldl -lm"
case $target in
*-linux-*)
    crates/mldsa-c/localise.sh "$scratch/libmldsa_c.a" "$built/libmldsa_c.a" $unwinder
    install_file 644 "$scratch/libmldsa_c.a" lib/libmldsa_c.a
    ;;
*) install_file 644 "$built/libmldsa_c.a" lib/libmldsa_c.a ;;
esac
case $kinds in *cdylib*)
    if [ -f "$built/libmldsa_c.so" ]; then
        # The name with the version of the interface is in programs, the other one is for compilers.
        install_file 755 "$built/libmldsa_c.so" lib/libmldsa_c.so.2
        ln -sf libmldsa_c.so.2 "$prefix/lib/libmldsa_c.so"
        echo "installed $prefix/lib/libmldsa_c.so"
    else
        install_file 755 "$built/libmldsa_c.dylib" lib/libmldsa_c.dylib
    fi
    ;;
esac
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
for file in mldsa.pc:lib/pkgconfig/mldsa.pc mldsa-config.cmake:lib/cmake/mldsa/mldsa-config.cmake \
    mldsa-config-version.cmake:lib/cmake/mldsa/mldsa-config-version.cmake; do
    sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" -e "s|@LIBS@|$libs|" \
        "crates/mldsa-c/${file%%:*}.in" >"$scratch/file"
    install_file 644 "$scratch/file" "${file#*:}"
done
cat <<TEXT

A program with the shared library:
  cc program.c \$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs mldsa) -Wl,-rpath,$prefix/lib
A program with the static library:
  cc program.c -I$prefix/include $prefix/lib/libmldsa_c.a $libs
TEXT
