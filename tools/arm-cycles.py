#!/usr/bin/env python3
"""Cycles that llvm-mca expects of Keccak on AArch64 cores: the models of LLVM, no clock.

    tools/arm-cycles.py        needs llvm-mca of LLVM 17 or newer, which Debian has
                               as llvm-19, and the target aarch64-unknown-linux-gnu

What `backend/neon/keccak.rs` chooses rests on this table. Exit status 0, or 77 if a
tool is missing.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TARGET = "aarch64-unknown-linux-gnu"
CORES = ["cortex-a72", "neoverse-n1", "neoverse-v1", "neoverse-n2", "neoverse-v2"]
ROUNDS = 24
# Functions with a loop over the rounds: what a row says, part of the name, and how
# many states they permute.
KERNELS = [
    ("one state, scalar", "keccak8portable", 1),
    ("two, NEON", "keccak10permute_x2", 2),
    ("two and one, NEON", "keccak18permute_x2_and_one", 3),
    ("two, SHA-3", "keccak15permute_x2_sha3", 2),
    ("two and one, SHA-3", "keccak23permute_x2_and_one_sha3", 3),
]


def main():
    root = Path(__file__).resolve().parent.parent
    mca = next(filter(None, map(shutil.which, [f"llvm-mca-{n}" for n in range(30, 16, -1)])), None)
    if mca is None:
        print("there is no llvm-mca of LLVM 17 or newer")
        return 77
    functions = compiled(root)
    print("| states, code | instructions a round | " + " | ".join(CORES) + " |")
    print("|---|--:|" + "--:|" * len(CORES))
    for label, name, states in KERNELS:
        body = loop(functions, name)
        if body is None:
            print(f"no loop in {name}")
            return 1
        cycles = [f"{expected(mca, core, body) / states:.0f}" for core in CORES]
        print(f"| {label} | {len(body)} | " + " | ".join(cycles) + " |")
    print("cycles for each state")
    return 0


def compiled(root):
    """The assembly of every function of the core, by its mangled name."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "arm-cycles"
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(folder),
        "RUSTFLAGS": "--emit=asm -Csymbol-mangling-version=v0 -Ccodegen-units=1",
    }
    command = ["cargo", "build", "--quiet", "--locked", "--release", "-p", "mldsa-core"]
    subprocess.run(
        [*command, "--features", "siblings", "--target", TARGET],
        cwd=root,
        env=environment,
        check=True,
    )
    files = (folder / TARGET / "release/deps").glob("mldsa_core-*.s")
    newest = max(files, key=lambda file: file.stat().st_mtime)
    text = newest.read_text()
    found = re.finditer(r"^(_R\w+):\n(.*?)^\.Lfunc_end", text, re.MULTILINE | re.DOTALL)
    return {function[1]: function[2].splitlines() for function in found}


def loop(functions, name):
    """The longest body of a loop in the functions of that name."""
    longest = None
    for function, lines in functions.items():
        if not function.endswith(name):
            continue
        labels = {line[:-1]: n for n, line in enumerate(lines) if re.match(r"\.L\w+:$", line)}
        for n, line in enumerate(lines):
            jump = re.match(r"\t(?:b\.\w+|cbn?z)\t(?:\w+, )?(\.L\w+)$", line)
            start = labels.get(jump[1], n) if jump else n
            code = [x for x in lines[start:n] if re.match(r"\t[a-z]", x)]
            if len(code) > len(longest or []):
                longest = code
    return longest


def expected(mca, core, body):
    """Cycles for all rounds."""
    command = [mca, "-mtriple=aarch64", f"-mcpu={core}", "-mattr=+sha3", f"-iterations={ROUNDS}"]
    code = "\n".join(body) + "\n"
    report = subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", report)[1])


if __name__ == "__main__":
    sys.exit(main())
