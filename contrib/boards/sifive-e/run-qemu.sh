#!/bin/sh
# Cargo's runner: the part in QEMU, whose clock counts instructions.
exec timeout "${QEMU_TIMEOUT:-600}" qemu-system-riscv32 -M sifive_e \
    -nographic -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native -kernel "$1"
