#!/bin/sh
# Registers and bytes of spills of every kernel, as NVIDIA's assembler reports them for sm_90,
# against ptx/registers.tsv: neither may grow. `registers.sh record` writes the file. The assembler
# comes from the wheel nvidia-cuda-nvcc and needs no GPU. Status 77: it cannot be had.
set -eu
cd "$(dirname "$0")"
version=13.0.88
folder=${CARGO_TARGET_DIR:-../../target}/ptxas-$version
ptxas=$folder/nvidia/cu13/bin/ptxas
if [ ! -x "$ptxas" ]; then
    mkdir -p "$folder"
    python3 -m pip download --quiet --no-deps --dest "$folder" nvidia-cuda-nvcc==$version ||
        { echo "registers: NOT RUN: the wheel nvidia-cuda-nvcc $version cannot be downloaded"; exit 77; }
    python3 -m zipfile -e "$folder"/*.whl "$folder"
    rm "$folder"/*.whl
    chmod +x "$ptxas"
fi
now=$(mktemp)
trap 'rm -f "$now"' EXIT
for set in 44 65 87; do
    gzip -dc ptx/$set.ptx.gz | "$ptxas" -v -arch=sm_90 -o /dev/null /dev/stdin 2>&1 | awk -v set=$set -v OFS='\t' '
        /Compiling entry/ { gsub("\047", ""); kernel = $7 }
        /spill stores/ { spills = $5 + $9 }
        /Used/ { print set, kernel, $5, spills }'
done | sort >"$now"
[ "$(wc -l <"$now")" = 18 ] || { echo "registers: the assembler reports $(wc -l <"$now") kernels, not 18"; exit 1; }
if [ "${1:-}" = record ]; then
    { printf 'set\tkernel\tregisters\tbytes of spills\n'; cat "$now"; } >ptx/registers.tsv
    exit
fi
awk -F'\t' '
    NR == FNR { if (FNR > 1) { registers[$1 $2] = $3; spills[$1 $2] = $4 } next }
    !($1 $2 in registers) || $3 + 0 > registers[$1 $2] + 0 || $4 + 0 > spills[$1 $2] + 0 {
        print "registers: " $1 " " $2 ": " $3 " and " $4 ", recorded " registers[$1 $2] " and " spills[$1 $2]
        bad = 1
    }
    END { if (!bad) print "registers: 18 kernels within the recorded figures"; exit bad }' ptx/registers.tsv "$now"
