#!/usr/bin/env bash
# Makes an archive in which only the functions of mldsa.h are visible, so that it can be linked with
# other Rust archives: each has the symbols of Rust's standard library, and some have no version in
# their names (rust_eh_personality).
#
#   crates/mldsa-c/localise.sh OUT ARCHIVE [LIBRARY...]
#
# Of the further libraries it takes what the archive needs. Linker and objcopy are those of the Rust
# compiler; AR is another archiver than ar. For ELF.
set -euo pipefail
out=${1:?usage: localise.sh OUT ARCHIVE [LIBRARY...]}
archive=$2
shift 2
host=$(rustc --version --verbose | sed -n 's/^host: //p')
sysroot=$(rustc --print sysroot)
tools=$sysroot/lib/rustlib/$host/bin
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Sections stay apart, so that a program with --gc-sections takes what it uses. Groups are dissolved:
# another archive's copy must not replace one whose symbols are no longer visible.
"$tools/rust-lld" -flavor gnu -r --force-group-allocation -o "$scratch/mldsa.o" \
    --whole-archive "$archive" --no-whole-archive "$@"
LD_LIBRARY_PATH=$sysroot/lib "$tools/rust-objcopy" --wildcard --keep-global-symbol="${KEEP:-mldsa_*}" --strip-debug \
    --remove-section=.llvmbc --remove-section=.llvmcmd "$scratch/mldsa.o"
rm -f "$out"
"${AR:-ar}" rcs "$out" "$scratch/mldsa.o"
