#!/usr/bin/env bash
# Builds the archives, and firmware.c with gcc and clang for emulated boards; each prints the digests
# that the host prints. Checks what an archive exports, and links it with another Rust archive.
#
#   crates/mldsa-lowmem-c/examples/run.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${CARGO_TARGET_DIR:-$here/../../../target}/lowmem-c
"$here/../build.sh" "$out"
out=$(cd "$out" && pwd)
host=$(rustc --version --verbose | sed -n 's/^host: //p')
flags="-std=c99 -Wall -Wextra -Werror -Os -I$here/../include"
bare="$flags -ffreestanding -fno-builtin -ffunction-sections -fdata-sections"

# exports TARGET: the functions of the header, and nothing else.
functions=$(echo '#include "mldsa_lowmem.h"' | cc -E -P -I"$here/../include" - | grep -o 'mldsa_lowmem_[a-z0-9_]*(' |
    tr -d '(' | sort -u)
for target in thumbv6m-none-eabi thumbv7em-none-eabi thumbv8m.main-none-eabi riscv32imc-unknown-none-elf "$host"; do
    archive=$out/$target/libmldsa_lowmem.a
    case $target in thumb*) nm=arm-none-eabi-nm ;; riscv*) nm=riscv64-unknown-elf-nm ;; *) nm=nm ;; esac
    found=$($nm --defined-only --extern-only "$archive" | awk 'NF == 3 { print $3 }' | sort -u)
    [ "$found" = "$functions" ] || { echo "$target exports:"; diff <(echo "$functions") <(echo "$found"); exit 1; }
    needed=$($nm --undefined-only "$archive" | awk '/ U / { print $2 }' | grep -vxE 'memcpy|memmove|memset|memcmp|bcmp|_GLOBAL_OFFSET_TABLE_' || true)
    [ -z "$needed" ] || { echo "$target needs: $needed"; exit 1; }
done
echo "$(wc -l <<<"$functions") functions are exported, nothing else"

all="-DWITH_44 -DWITH_65 -DWITH_87"
cc $flags $all "$here/firmware.c" "$here/host.c" "$out/$host/libmldsa_lowmem.a" -o "$out/host"
expected=$("$out/host")
echo "$expected"

# firmware NAME TARGET "COMPILER" "LINKER" "LAYOUT" "SETS" "QEMU" [ARCHIVE]...
firmware() {
    local name=$1 target=$2 compiler=$3 linker=$4 layout= sets=$6 emulator=$7 objects=() source word printed
    for word in $5; do layout+=" -Wl,--defsym,$word"; done
    shift 7
    for source in firmware board; do
        $compiler $bare $sets -c "$here/$source.c" -o "$out/$name-$source.o"
        objects+=("$out/$name-$source.o")
    done
    $linker -nostdlib -nostartfiles -Wl,--gc-sections -Wl,-z,noexecstack -Wl,-T"$here/board.ld" $layout "${objects[@]}" \
        "${@:-$out/$target/libmldsa_lowmem.a}" -lgcc -o "$out/$name.elf"
    printed=$(timeout 300 $emulator -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$out/$name.elf" 2>&1 </dev/null)
    [ "$(grep ML-DSA <<<"$printed")" = "$(head -n "$(grep -o WITH_ <<<"$sets" | wc -l)" <<<"$expected")" ] ||
        { echo "$name printed: $printed"; exit 1; }
    echo "$name: as the host"
}
m0="-mcpu=cortex-m0 -mthumb" m4="-mcpu=cortex-m4 -mthumb -mfloat-abi=soft" rv="-march=rv32imc -mabi=ilp32"
small="-DWITH_44 -DWITH_65"
microbit="FLASH_AT=0 RAM_AT=0x20000000 RAM_LEN=16K" mps2="FLASH_AT=0 RAM_AT=0x20000000 RAM_LEN=4M"
fe310="FLASH_AT=0x20400000 RAM_AT=0x80000000 RAM_LEN=16K"
arm=arm-none-eabi-gcc riscv=riscv64-unknown-elf-gcc
qemu_microbit="qemu-system-arm -M microbit" qemu_mps2="qemu-system-arm -M mps2-an386"
qemu_fe310="qemu-system-riscv32 -M sifive_e"
for compiler in gcc clang; do
    if [ $compiler = gcc ]; then a=$arm r=$riscv; else a="clang --target=thumb-none-eabi" r="clang --target=riscv32-unknown-elf"; fi
    firmware "microbit-$compiler" thumbv6m-none-eabi "$a $m0" "$arm $m0" "$microbit" "$small" "$qemu_microbit"
    firmware "mps2-$compiler" thumbv7em-none-eabi "$a $m4" "$arm $m4" "$mps2" "$all" "$qemu_mps2"
    firmware "fe310-$compiler" riscv32imc-unknown-none-elf "$r $rv" "$riscv $rv" "$fe310" "$small" "$qemu_fe310"
done

# Another Rust archive before and after ours.
rustc --edition=2024 --crate-type=staticlib -O -Cpanic=abort --target thumbv7em-none-eabi -o "$out/other.a" "$here/other.rs"
ours=$out/thumbv7em-none-eabi/libmldsa_lowmem.a
firmware two-archives x "$arm $m4" "$arm $m4" "$mps2" "$all -DOTHER" "$qemu_mps2" "$ours" "$out/other.a"
firmware two-archives-2 x "$arm $m4" "$arm $m4" "$mps2" "$all -DOTHER" "$qemu_mps2" "$out/other.a" "$ours"
