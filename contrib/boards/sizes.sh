#!/bin/sh
# Flash of operations: bytes of .text and .rodata that a program with them alone has more than an empty
# one, in the profile for size of `crates/mldsa-lowmem/README.md`. Fails if one takes more than
# `flash.tsv` says.
#
#   ./sizes.sh [--bless] [TARGET...]      default: all of the table; --bless writes it again
set -eu
cd "$(dirname "$0")"
bless=
[ "${1:-}" != --bless ] || { bless=1 && shift; }
[ $# -gt 0 ] || set -- thumbv7em-none-eabi thumbv6m-none-eabi riscv32imac-unknown-none-elf
export CARGO_PROFILE_RELEASE_LTO=true CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 CARGO_PROFILE_RELEASE_PANIC=abort
compiler=$(rustc --version | cut -d' ' -f2)
recorded=$(sed -n 's/^# rustc //p' flash.tsv)
[ -n "$bless" ] || [ "$compiler" = "$recorded" ] || echo "not compared: rustc $compiler, the table is of $recorded"

# Bytes of the program on target $1 with features $2.
bytes() {
    cargo build --locked --quiet --release --bin size --no-default-features --features "$2" --target "$1"
    readelf --sections --wide "${CARGO_TARGET_DIR:-target}/$1/release/size" | sed 's/\[ */[/' |
        awk '$2 == ".text" || $2 == ".rodata" { print "0x" $6 }' | while read -r size; do echo $((size)); done |
        awk '{ sum += $1 } END { print sum }'
}

status=0
[ -z "$bless" ] || echo "# rustc $compiler" >flash.tsv
for target in "$@"; do
    for level in s z; do
        export CARGO_PROFILE_RELEASE_OPT_LEVEL=$level
        empty=$(bytes "$target" ml-dsa-44)
        for row in 44:verify 44:keygen 44:sign 44:sign,checks 44:keygen,sign,verify all:keygen,sign,verify; do
            set=ml-dsa-${row%%:*}
            [ "$set" != ml-dsa-all ] || set=ml-dsa-44,ml-dsa-65,ml-dsa-87
            size=$(($(bytes "$target" "$set,${row#*:}") - empty))
            line="$target	$level	$row"
            printf "$line\t%d\n" "$size" | tee ${bless:+-a flash.tsv}
            if [ -z "$bless" ] && [ "$compiler" = "$recorded" ]; then
                limit=$(awk -v line="$(printf "$line")" 'index($0, line "\t") == 1 { print $NF }' flash.tsv)
                [ "$size" -le "${limit:-0}" ] || { echo "more than ${limit:-none} bytes" && status=1; }
            fi
        done
    done
done
exit $status
