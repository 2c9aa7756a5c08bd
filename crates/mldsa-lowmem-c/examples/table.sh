#!/usr/bin/env bash
# Prints, for a Cortex-M4 and ML-DSA-44, 65 and 87: bytes of RAM (stack, at most 40 bytes too much, with
# work area or signer), bytes of flash that a program has more with the operation alone, and millions of
# instructions.
#
#   crates/mldsa-lowmem-c/examples/table.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${CARGO_TARGET_DIR:-$here/../../../target}/lowmem-c
"$here/../build.sh" "$out" thumbv7em-none-eabi >/dev/null
compile() { # NAME FLAG...
    arm-none-eabi-gcc -std=c99 -Os -mcpu=cortex-m4 -mthumb -mfloat-abi=soft -ffreestanding -fno-builtin -ffunction-sections \
        -fdata-sections -I"$here/../include" "${@:2}" -nostdlib -nostartfiles -Wl,--gc-sections -Wl,-z,noexecstack -T"$here/board.ld" \
        -Wl,--defsym,FLASH_AT=0 -Wl,--defsym,RAM_AT=0x20000000 -Wl,--defsym,RAM_LEN=4M "$here/meter.c" "$here/board.c" \
        "$out/thumbv7em-none-eabi/libmldsa_lowmem.a" -lgcc -o "$out/$1.elf"
}
flash() { arm-none-eabi-size -A "$out/$1.elf" | awk '$1 == ".text" { print $2 }'; }
declare -A flash
operations="KEYGEN VERIFY SIGN SIGN_CACHED SLICES"
for set in 44 65 87; do
    compile empty -DSET=$set
    for operation in $operations; do
        compile one -DSET=$set -D"$operation"
        flash[$set]+=" $(($(flash one) - $(flash empty)))"
    done
    compile meter -DSET=$set -DNEEDS_KEYS $(printf -- "-D%s " $operations)
    qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none -icount shift=0 \
        -semihosting-config enable=on,target=native -kernel "$out/meter.elf" 2>&1 </dev/null | grep -v '^empty' |
        paste -d' ' - <(tr ' ' '\n' <<<"${flash[$set]# }") |
        awk -v set=$set '{ printf "ML-DSA-%s %s: RAM %d, flash %d, %.2f M\n", set, $1, $2, $4, $3 / 100 }'
done
