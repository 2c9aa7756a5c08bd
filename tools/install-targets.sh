#!/usr/bin/env bash
# Makes cross targets usable with the Rust toolchain that is in use.
#
#   tools/install-targets.sh [TARGET...]        default: thumbv7em-none-eabi
#
# A target that already compiles is left alone. Otherwise `rustup target add` is
# tried. Where it cannot download, and the machine is a Debian one, the standard
# library is built from Debian's `rust-src` package of the very same release and
# put where rustup would have put it; plain stable cargo then finds it.
#
# Environment: TARGETS_CACHE  folder for sources and builds (default: in ~/.cache)
#              TARGETS_OFFLINE=1  skip rustup
# Exit status: 0 every target compiles, 2 unusable machine or arguments,
#              3 no library sources for this compiler can be had.
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

readonly cache=${TARGETS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rust-targets}
readonly suites=(trixie-backports sid forky experimental trixie)

main() {
    local target
    [ $# -gt 0 ] || set -- thumbv7em-none-eabi
    command -v rustc cargo >/dev/null || fail 2 "no Rust toolchain"
    for target in "$@"; do
        rustc --print target-list | grep -qx -- "$target" || fail 2 "rustc knows no target $target"
    done
    for target in "$@"; do
        if compiles "$target"; then
            say "$target: already there"
            continue
        fi
        from_rustup "$target" || from_debian "$target"
        compiles "$target" || fail 3 "$target: installed, but a test crate does not compile"
        say "$target: installed"
    done
}

say() { printf 'install-targets: %s\n' "$*"; }
fail() { printf 'install-targets: %s\n' "$2" >&2; exit "$1"; }

bare_metal() { case $1 in *-none | *-none-*) ;; *) false ;; esac; }

# Asks the compiler itself: a library of another release fails here too.
compiles() {
    local crate='pub use std::vec::Vec;'
    bare_metal "$1" && crate='#![no_std] extern crate alloc; pub use alloc::vec::Vec;'
    printf '%s' "$crate" |
        rustc --target "$1" --crate-type lib --crate-name probe --edition 2024 \
            --emit metadata --out-dir "$scratch" - 2>/dev/null
}

from_rustup() {
    [ -z "${TARGETS_OFFLINE:-}" ] && command -v rustup >/dev/null || return 1
    say "$1: trying rustup"
    timeout 120 rustup target add "$1" >/dev/null 2>&1 && compiles "$1"
}

from_debian() {
    local release library
    release=$(rustc --version --verbose | sed -n 's/^release: //p')
    library=$cache/rust-src-$release/library
    [ -f "$library/core/src/lib.rs" ] || fetch_library "$release" "$library"
    build_library "$1" "$library"
}

# Unpacks the library tree of Debian's rust-src $1 to $2. Newer suites are read
# through package lists of their own, so the machine's apt stays as it is.
fetch_library() {
    local release=$1 library=$2 mirror suite view version package='' seen=()
    local tool
    for tool in apt-get apt-cache dpkg-deb; do
        command -v "$tool" >/dev/null || fail 3 "rustup cannot download, and there is no $tool"
    done
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p)
    [ -n "$mirror" ] || fail 3 "no Debian mirror known (has 'apt-get update' been run?)"
    for suite in "${suites[@]}"; do
        view=$cache/apt/$suite
        mkdir -p "$view/lists/partial" "$view/archives/partial"
        printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
            "$mirror" "$suite" >"$view/sources.list"
        local apt=(
            -o "Dir::Etc::SourceList=$view/sources.list" -o Dir::Etc::SourceParts=/dev/null
            -o Dir::Etc::PreferencesParts=/dev/null -o Dir::Etc::Preferences=/dev/null
            -o "Dir::State::Lists=$view/lists" -o "Dir::Cache=$view"
            -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=2
        )
        say "looking for rust-src $release in $suite"
        apt-get "${apt[@]}" update -qq || continue
        while read -r version; do
            seen+=("$version ($suite)")
            [ "${version%%[+-]*}" = "$release" ] && package=rust-src=$version
        done < <(apt-cache "${apt[@]}" madison rust-src | awk '{ print $3 }')
        [ -z "$package" ] || break
    done
    [ -n "$package" ] || fail 3 "no suite has rust-src $release; found: ${seen[*]:-none}"

    say "downloading $package"
    (cd "$view/archives" && rm -f rust-src_*.deb && apt-get "${apt[@]}" download -qq "$package")
    rm -rf "$library.partial" && mkdir -p "$library.partial"
    dpkg-deb --fsys-tarfile "$view"/archives/rust-src_*.deb |
        tar -x -C "$library.partial" --strip-components=5 --wildcards './usr/src/rustc-*/library/*'
    rm -rf "$library" && mv "$library.partial" "$library"
}

# Compiles core and alloc, or std for a hosted target, from the sources in $2.
build_library() {
    local target=$1 library=$2 crates features installed
    local crate=$cache/build/$target
    if bare_metal "$target"; then
        crates=core,alloc,panic_abort features=compiler-builtins-mem
    else
        crates=std,panic_unwind,test features=backtrace
    fi
    rm -rf "$crate" && mkdir -p "$crate/src"
    printf '#![no_std]\n' >"$crate/src/lib.rs"
    printf '[package]\nname = "empty"\nedition = "2024"\n[workspace]\n' >"$crate/Cargo.toml"
    say "$target: building $crates"
    # The bootstrap switch makes a stable compiler accept the library's own
    # features; it is set for this build only. Bitcode keeps LTO possible.
    (cd "$crate" && env -u CARGO_TARGET_DIR -u CARGO_BUILD_TARGET -u CARGO_ENCODED_RUSTFLAGS \
        RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT="$library" RUSTFLAGS=-Cembed-bitcode=yes \
        cargo build --quiet --release --target "$target" --target-dir "$crate/target" \
        "-Zbuild-std=$crates" "-Zbuild-std-features=$features") ||
        fail 3 "$target: the library does not build"
    installed=$(rustc --target "$target" --print target-libdir)
    mkdir -p "$installed"
    find "$installed" -name '*.rlib' -delete
    find "$crate/target/$target/release/deps" -name '*.rlib' ! -name 'libempty-*' \
        -exec cp {} "$installed" \;
    rm -rf "$crate"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
main "$@"
