#!/bin/sh
# Cargo's runner: an MPS2 board in QEMU, whose clock counts instructions. ARMv6-M
# code runs on the Cortex-M3 board.
case $1 in
*thumbv6m*) machine=mps2-an385 cpu=cortex-m3 ;;
*) machine=mps2-an386 cpu=cortex-m4 ;;
esac
exec timeout "${QEMU_TIMEOUT:-1800}" qemu-system-arm -M "$machine" -cpu "$cpu" \
    -nographic -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native ${QEMU_EXTRA:-} -kernel "$1"
