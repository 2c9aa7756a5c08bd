#!/usr/bin/env bash
# The side of the host of the boot loader `boot`: makes a key and signs an image with the command `mldsa`, and starts the
# board with them. Then it starts the board with images that it has to refuse.
set -euo pipefail
cd "$(dirname "$0")"
(cd ../.. && cargo build --locked --quiet -p mldsa-cli)
mldsa=${CARGO_TARGET_DIR:-../../target}/debug/mldsa
cargo build --locked --quiet --release --bin app
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
objcopy -I elf32-little -O binary "${CARGO_TARGET_DIR:-target}/thumbv7em-none-eabi/release/app" "$out/app"

bytes() { printf "$(sed 's/../\\x&/g' <<<"$1")"; } # of hexadecimal digits
word() { bytes "$(printf '%08x' "$1" | sed 's/\(..\)\(..\)\(..\)\(..\)/\4\3\2\1/')"; }

# otp COUNTER: the hash of the key, and COUNTER bits.
otp() {
    bytes "$("$mldsa" inspect "$out/key" | sed -n 's/^tr: *//p')"
    for ((bit = 0; bit < 256; bit += 32)); do
        word $(($1 - bit >= 32 ? 0xffffffff : $1 > bit ? (1 << ($1 - bit)) - 1 : 0))
    done
}
# slot COUNTER [OPTION]...: an image, signed.
slot() {
    { printf MLDSAFW1; word "$1"; word "$(stat -c %s "$out/app")"; head -c 348 /dev/zero; cat "$out/app"; } >"$out/signed"
    "$mldsa" pubkey "$out/key" --format raw
    "$mldsa" sign --key "$out/key" "${@:2}" "$out/signed"
    cat "$out/signed"
}
# start STATUS [OPTION]...: the board ends with this status.
start() {
    local status=0 loader=loader,force-raw=on
    QEMU_EXTRA="-device $loader,file=$out/slot,addr=0x200000 -device $loader,file=$out/otp,addr=0x21000000" \
        cargo run --locked --quiet --release --bin boot "${@:2}" || status=$?
    [ $status = "$1" ] || { echo "status $status, expected $1"; exit 1; }
}

"$mldsa" keygen --set 44 --out "$out/key"
slot 3 --ctx secure-boot/1 >"$out/slot"
otp 2 >"$out/otp"
start 0 --features attacks
start 0
otp 4 >"$out/otp"
start 1 # An older image.
otp 3 >"$out/otp"
slot 3 >"$out/slot"
start 1 # A signature for another purpose.
"$mldsa" keygen --set 44 --force --out "$out/key"
slot 3 --ctx secure-boot/1 >"$out/slot"
start 1 # Another key.
