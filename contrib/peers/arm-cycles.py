#!/usr/bin/env python3
"""Cycles that llvm-mca expects of the hot kernels on AArch64 cores, ours and those of
AWS-LC's assembly: the models of LLVM, no clock.

    contrib/peers/arm-cycles.py        needs llvm-mca of LLVM 17 or newer, which Debian has
                               as llvm-19, the target aarch64-unknown-linux-gnu and a
                               C compiler for it

A kernel is what it executes: the counters of its loops are followed, data is not known.
Of the two Keccak tables the forms that `backend/neon/cores.rs` and AWS-LC's dispatch
choose for a core are compared. LLVM's model of Apple's cores is that of the Cyclone of
2013. Its models of N1 and V1 have no entry for multiplications by an element and take
them for the simplest of instructions; they are given as those by a vector, whose ports
they need. Exit status 0, or 77 if a tool is missing.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = "aarch64-unknown-linux-gnu"
COMPILER = "aarch64-linux-gnu-gcc"
CORES = ["cortex-a72", "neoverse-n1", "neoverse-v1", "neoverse-n2", "neoverse-v2", "apple-m1"]

# What a row says, the end of the name of our function with what its registers hold, and
# the file of theirs.
PAIRS = [
    ("transform", (r"neon4rows9transform", {}), "mldsa/mldsa_ntt.S"),
    ("inverse", (r"neon4rows17inverse_transform", {}), "mldsa/mldsa_intt.S"),
    *(
        (
            f"product of {terms}",
            (r"neon4NEONs1_0I\w+", {"x1": terms, "x3": terms}),
            f"mldsa/mldsa_pointwise_acc_l{terms}.S",
        )
        for terms in (4, 5, 7)
    ),
]
# The same for Keccak, with the states that are permuted.
OURS = [
    ("one, scalar", r"4hash6keccak8portable", 1),
    ("one, scalar, rotated late", r"keccak12permute_late", 1),
    ("one, SHA-3", r"keccak20permute_in_lane_sha3", 1),
    ("two, NEON", r"keccak10permute_x2", 2),
    ("two and two, NEON", r"keccak18permute_x2_and_two", 4),
    ("two, SHA-3", r"keccak15permute_x2_sha3", 2),
    ("two, SHA-3 for rotations", r"keccak27permute_x2_on_one_unit_sha3", 2),
    ("two and two, SHA-3 for rotations", r"keccak23permute_x2_and_two_sha3", 4),
]
THEIRS = [
    ("one, scalar", "sha3/sha3_keccak_f1600.S", 1),
    ("one, SHA-3", "sha3/sha3_keccak_f1600_alt.S", 1),
    ("two, SHA-3", "sha3/sha3_keccak2_f1600.S", 2),
    ("four, NEON and scalar", "sha3/sha3_keccak4_f1600_alt.S", 4),
    ("four, NEON, SHA-3 and scalar", "sha3/sha3_keccak4_f1600_alt2.S", 4),
]
# The forms chosen: one state alone, and many; of ours, then of theirs.
SHARED = ["one, scalar, rotated late", "two and two, SHA-3 for rotations"]
FAST = ["one, SHA-3", "two, SHA-3"]
CHOSEN = {
    "cortex-a72": (["one, scalar", "two, NEON"], ["one, scalar", "one, scalar"]),
    "neoverse-n1": (
        ["one, scalar, rotated late", "two and two, NEON"],
        ["one, scalar", "four, NEON and scalar"],
    ),
    "neoverse-v1": (SHARED, ["one, scalar", "four, NEON, SHA-3 and scalar"]),
    "neoverse-n2": (SHARED, FAST),
    "neoverse-v2": (SHARED, ["one, scalar", "four, NEON, SHA-3 and scalar"]),
    "apple-m1": (FAST, FAST),
}


def main():
    mca = next(filter(None, map(shutil.which, [f"llvm-mca-{n}" for n in range(30, 16, -1)])), None)
    if mca is None or shutil.which(COMPILER) is None:
        print(f"not run: there is no llvm-mca of LLVM 17 or newer, or no {COMPILER}")
        return 77
    functions = compiled()
    theirs = assembly()
    version = subprocess.run([mca, "--version"], capture_output=True, text=True, check=True)
    print(re.search(r"LLVM version \S+", version.stdout)[0])

    head("kernel, ours over theirs", 1)
    for label, (name, registers), file in PAIRS:
        pair = [executed(ours(functions, name), registers), executed(theirs(file), {})]
        cells = []
        for core in CORES:
            a, b = (cycles(mca, core, code) for code in pair)
            cells.append(f"{a} / {b} = {a / b:.2f}")
        print(row(label, f"{len(pair[0])} / {len(pair[1])}", cells))

    tables = []
    for whose, forms, source in (
        ("ours", OURS, lambda name: ours(functions, name)),
        ("AWS-LC", THEIRS, theirs),
    ):
        head(f"Keccak, {whose}, for each state", 1)
        expected = {}
        for label, name, states in forms:
            # Three states in memory, wherever.
            addresses = {"x0": 1 << 20, "x1": 2 << 20, "x2": 3 << 20}
            code = executed(source(name), addresses if whose == "ours" else {})
            expected[label] = [cycles(mca, core, code) / states for core in CORES]
            cells = [f"{cycles:.0f}" for cycles in expected[label]]
            print(row(label, f"{len(code) / states:.0f}", cells))
        tables.append(expected)

    head("Keccak as chosen, ours over theirs", 0)
    for n, label in enumerate(["one state", "many states, for each"]):
        cells = []
        for place, core in enumerate(CORES):
            a, b = (table[chosen[n]][place] for table, chosen in zip(tables, CHOSEN[core]))
            cells.append(f"{a:.0f} / {b:.0f} = {a / b:.2f}")
        print(row(label, None, cells))
    return 0


def head(title, counts):
    columns = ["instructions"] * counts + CORES
    print(f"\n| {title} | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))


def row(label, count, cells):
    return f"| {' | '.join([label] + [count] * (count is not None) + cells)} |"


def folder():
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")) / "arm-cycles"


def compiled():
    """The assembly of every function of the core, by its mangled name."""
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(folder()),
        "RUSTFLAGS": "--emit=asm -Csymbol-mangling-version=v0 -Ccodegen-units=1",
    }
    command = ["cargo", "build", "--quiet", "--locked", "--release", "-p", "mldsa-core"]
    subprocess.run(
        [*command, "--features", "unstable-internals", "--target", TARGET],
        cwd=HERE.parent.parent,
        env=environment,
        check=True,
    )
    files = (folder() / TARGET / "release/deps").glob("mldsa_core-*.s")
    newest = max(files, key=lambda file: file.stat().st_mtime)
    text = newest.read_text()
    found = re.finditer(r"^(_R\w+):\n(.*?)^\.Lfunc_end", text, re.MULTILINE | re.DOTALL)
    return {function[1]: function[2].splitlines() for function in found}


def ours(functions, name):
    """The function whose name ends so."""
    found = [code for function, code in functions.items() if re.search(name + "$", function)]
    if len(found) != 1:
        sys.exit(f"{len(found)} functions are called {name}")
    return found[0]


def assembly():
    """From the name of a file of AWS-LC's to its lines."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    text = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True).stdout
    manifest = next(p for p in json.loads(text)["packages"] if p["name"] == "aws-lc-sys")
    print(f"aws-lc-sys {manifest['version']}")
    source = Path(manifest["manifest_path"]).parent
    source = source / "aws-lc/third_party/s2n-bignum/s2n-bignum-imported"
    # Its build makes this header, which renames.
    empty = folder() / "include/openssl/boringssl_prefix_symbols_asm.h"
    empty.parent.mkdir(parents=True, exist_ok=True)
    empty.touch()

    def lines(name):
        include = [f"-I{source / 'include'}", f"-I{empty.parent.parent}"]
        command = [COMPILER, "-E", "-P", *include, source / "arm" / name]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return re.split(r"[;\n]", text.replace(":", ":\n"))

    return lines


def executed(lines, registers):
    """The instructions of a function in the order in which they are executed. Jumps
    depend on counters; one on data is not taken."""
    lines = [re.sub(r"//.*", "", line).strip() for line in lines]
    labels = {line[:-1]: n for n, line in enumerate(lines) if line.endswith(":")}
    machine, code, at = Machine(registers), [], 0
    # What comes before the first label may be data.
    while at < len(lines):
        line, at = lines[at], at + 1
        if not re.match(r"[a-z]", line) or line.endswith(":"):
            continue
        code.append(line)
        name, _, operands = re.sub(r"\s+", " ", line).partition(" ")
        target = operands.split(",")[-1].strip()
        if name == "ret" or name == "b" and target not in labels:
            break
        taken = name == "b" or machine.step(name, operands)
        if taken is None and labels.get(target, at) < at:
            sys.exit(f"a loop whose counter is not known: {line}")
        if taken and target in labels:
            at = labels[target]
        if len(code) > 100_000:
            sys.exit("a loop without end")
    return code


class Machine:
    """Of a CPU the constants, sums and comparisons of them, addresses relative to that of the
    tables, and words on the stack."""

    CONDITIONS = {
        "eq": lambda d: d == 0,
        "ne": lambda d: d != 0,
        "le": lambda d: d <= 0,
        "lt": lambda d: d < 0,
        "gt": lambda d: d > 0,
        "ge": lambda d: d >= 0,
        "lo": lambda d: d < 0,
        "hs": lambda d: d >= 0,
        "hi": lambda d: d > 0,
        "ls": lambda d: d <= 0,
    }
    SUMS = {"add": int.__add__, "sub": int.__sub__, "subs": int.__sub__, "and": int.__and__}

    def __init__(self, registers):
        self.values = dict(registers)
        self.difference = None

    def value(self, operand):
        operand = operand.strip()
        if operand.startswith(":lo12:"):
            return 0
        if re.fullmatch(r"#?-?(0x[0-9a-f]+|\d+)", operand):
            return int(operand.lstrip("#"), 0)
        if operand in ("xzr", "wzr"):
            return 0
        return self.values.get(self.place(operand))

    @staticmethod
    def place(operand):
        return re.sub(r"^w(\d+)$", r"x\1", operand.strip())

    def step(self, name, operands):
        """Whether it is a jump that is taken; `None` for a jump on what is not known."""
        parts = re.split(r",\s*(?![^\[]*\])", operands)
        jump = re.fullmatch(rf"b\.?({'|'.join(self.CONDITIONS)})|cb(n?z)", name)
        if jump:
            condition = jump[1] or {"z": "eq", "nz": "ne"}[jump[2]]
            number = self.difference if jump[1] else self.value(parts[0])
            return None if number is None else self.CONDITIONS[condition](number)
        to, result = self.place(parts[0]), None
        values = [self.value(part) for part in parts[1:]]
        slot = re.fullmatch(r"\[sp(?:, #(\w+))?\]", parts[-1])
        if slot and name in ("str", "ldr", "stp", "ldp"):
            at = int(slot[1] or "0", 0)
            for n, register in enumerate(map(self.place, parts[:-1])):
                if name.startswith("st"):
                    self.values[at + 8 * n] = self.value(register)
                else:
                    self.values[register] = self.values.get(at + 8 * n)
            return False
        if len(parts) > 2 and parts[-2].endswith("]"):
            base = parts[-2].strip("[] ")
            address, step = self.value(base), self.value(parts[-1])
            self.values[base] = None if address is None else address + step
        if name.startswith("st"):
            return False
        if name == "adrp":
            result = 0
        if name == "cmp":
            a, b = self.value(parts[0]), values[0]
            self.difference = None if a is None or b is None else a - b
            return False
        if name == "csel" and self.difference is not None:
            result = values[0] if self.CONDITIONS[parts[3]](self.difference) else values[1]
        elif name == "mov":
            result = values[0]
        elif name in self.SUMS and len(values) == 2 and None not in values:
            result = self.SUMS[name](*values)
        if name in ("subs", "adds", "ands", "tst"):
            self.difference = result
        self.values[to] = result
        if name == "ldp":
            self.values[self.place(parts[1])] = None
        return False


def cycles(mca, core, code):
    """Of one call."""
    command = [mca, "-mtriple=aarch64", f"-mcpu={core}", "-mattr=+sha3", "-iterations=1"]
    by_element = r"^(\w+\s+v\d+\.\w+,\s*v\d+\.(\ds),\s*v\d+)\.s\[\d\]$"
    text = "\n".join(re.sub(by_element, r"\1.\2", line) for line in code) + "\n"
    report = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", report)[1])


if __name__ == "__main__":
    sys.exit(main())
