#!/bin/sh
# Cargo's runner: a board in QEMU, whose clock counts instructions. `demo` is for parts with 16 kB of RAM;
# other ARMv6-M code runs on the Cortex-M3 board.
case $1 in
*riscv32*) set -- riscv32 "$1" -M sifive_e ;;
*thumbv6m*/demo) set -- arm "$1" -M microbit ;;
*thumbv6m*) set -- arm "$1" -M mps2-an385 -cpu cortex-m3 ;;
*) set -- arm "$1" -M mps2-an386 -cpu cortex-m4 ;;
esac
system=$1 program=$2
shift 2
exec timeout "${QEMU_TIMEOUT:-1800}" "qemu-system-$system" "$@" -nographic -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native ${QEMU_EXTRA:-} -kernel "$program"
