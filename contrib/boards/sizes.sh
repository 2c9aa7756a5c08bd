#!/bin/sh
# Code size per target, parameter set and operation: bytes of .text and .rodata that
# a program with that operation alone has more than an empty one. JSON lines.
#
#   ./sizes.sh [TARGET...]      default: thumbv7em-none-eabi
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- thumbv7em-none-eabi

# Bytes of section $2 in program $1.
section() {
    readelf --sections --wide "$1" |
        sed 's/\[ */[/' | awk -v name="$2" '$2 == name { print $6; found = 1 } END { if (!found) print 0 }'
}

build() {
    cargo build --locked --quiet --release --bin size --no-default-features --features "$2" --target "$1"
    program=${CARGO_TARGET_DIR:-target}/$1/release/size
    text=$((0x$(section "$program" .text))) rodata=$((0x$(section "$program" .rodata)))
}

for target in "$@"; do
    for set in 44 65 87; do
        build "$target" "ml-dsa-$set"
        empty_text=$text empty_rodata=$rodata
        for operation in keygen verify minimal cache-w0 balanced cache-matrix; do
            build "$target" "ml-dsa-$set,$operation"
            case $operation in keygen | verify) op=$operation tier= ;; *) op=sign tier=$operation ;; esac
            printf '{"target":"%s","op":"%s","set":"ML-DSA-%s","tier":"%s","opt":"%s","text":%d,"rodata":%d}\n' \
                "$target" "$op" "$set" "$tier" "${CARGO_PROFILE_RELEASE_OPT_LEVEL:-3}" $((text - empty_text)) $((rodata - empty_rodata))
        done
    done
done
