#!/usr/bin/env python3
"""Instructions that AArch64 or RV64GC executes in one call of each operation, by class: ours,
those of the crates with assembly and of mldsa-native's portable C, in the same emulator. No clock.

    contrib/peers/instructions.py aarch64 [CPU ...]     QEMU's names; without any, `max`, which has
                                            the instructions for SHA-3, `cortex-a72` and
                                            `neoverse-n1`
    contrib/peers/instructions.py riscv64

Needs cc, cargo with the target ARCH-unknown-linux-gnu, the cross compiler of that target, its
binutils and QEMU's user mode. mldsa-native-rs, AArch64 only, also needs libclang. Exit status 0, or
77 if a tool is missing.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
# CPUs, and options of objdump, for each architecture.
ARCHITECTURES = {
    "aarch64": (["max", "cortex-a72", "neoverse-n1"], ["-m", "aarch64"]),
    "riscv64": (["rv64"], ["-m", "riscv:rv64"]),
}
# A peer that is a feature of `benches`.
PEER = "mldsa-native-rs"
# A peer that is a program made by peers/build.sh, and its name in rows.
PROGRAM, PORTABLE = "mldsa-native-portable", "mldsa-native portable"

CLASSES = ["loads", "stores", "vector multiply", "vector logic", "vector other", "scalar"]
LOADS = {"aarch64": r"ld|prfm", "riscv64": r"f?l[bhwd]u?\b|lr\."}
STORES = {"aarch64": r"st|swp|cas", "riscv64": r"f?s[bhwd]\b|sc\.|amo"}
VECTOR = re.compile(r"\bv\d+\.|\b[qdshb]\d+\b")
MULTIPLY = re.compile(r"(sq|uq|sqr|p|f)?(r?d)?(mul|mla|mls)|[su]m(ull|lal|lsl)|sqdm|sqrdm|fmadd")
LOGIC = re.compile(
    r"(and|orr|eor|bic|orn|mvn|not|bsl|bit|bif|eor3|bcax|rax1|xar"
    r"|shl|sri|sli|[su]?r?shrn?2?|[su]?r?s[hr][lr]a?|[su]shll?2?|[us]sra|shrn2?)$"
)

# The operation of theirs that one of ours is compared with.
THEIRS = {"sign_prepared": "sign", "verify_prepared": "verify_cold"}


def main():
    if sys.argv[1:2] not in [[name] for name in ARCHITECTURES]:
        sys.exit(__doc__)
    missing = [tool for tool in tools() if shutil.which(tool) is None]
    if missing:
        print(f"not run: there is no {', '.join(missing)}")
        return 77
    programs = [build(PEER) if ARCH == "aarch64" else None, build(None)]
    environment = os.environ | {"CC": f"{ARCH}-linux-gnu-gcc"}
    command = ["bash", HERE / "peers/build.sh", folder()]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    plugin = folder() / "instructions.so"
    source = HERE / "instructions.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-o", plugin, source], check=True)
    emulator = [f"qemu-{ARCH}", "-L", f"/usr/{ARCH}-linux-gnu", "-plugin", plugin]
    version = subprocess.run([emulator[0], "--version"], capture_output=True, text=True)
    print(version.stdout.splitlines()[0])
    if programs[0] is None:
        print(f"{PEER}: not run: it is for AArch64 and needs libclang")
        programs.pop(0)
    for cpu in sys.argv[2:] or ARCHITECTURES[ARCH][0]:
        emulated = [*emulator, "-cpu", cpu]
        measured = None
        for program in programs:
            measured = measured or measure([*emulated, program, folder()])
        if measured is None:
            return 1
        for inputs in sorted(folder().glob("ML-DSA-*")):
            program = folder() / f"{PROGRAM}-{inputs.name[7:]}"
            measured |= measure([*emulated, program, PORTABLE], inputs)
        report(cpu, measured)
    return 0


def tools():
    return ["cc", "cargo", f"{ARCH}-linux-gnu-gcc", f"{ARCH}-linux-gnu-objdump", f"qemu-{ARCH}"]


def folder():
    path = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")) / f"instructions-{ARCH}"
    path.mkdir(parents=True, exist_ok=True)
    return path


def build(peer):
    """The program, with one peer more; nothing if that does not build."""
    target = f"{ARCH}gc" if ARCH == "riscv64" else ARCH
    target += "-unknown-linux-gnu"
    environment = os.environ | {
        f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER": f"{ARCH}-linux-gnu-gcc",
        "BINDGEN_EXTRA_CLANG_ARGS_aarch64_unknown_linux_gnu": f"-I/usr/{ARCH}-linux-gnu/include",
    }
    command = ["cargo", "build", "--quiet", "--locked", "--release", "--target", target]
    command += ["--bin", "counted_calls"]
    if peer is not None:
        command += ["--features", peer]
    built = subprocess.run(command, cwd=HERE, env=environment, capture_output=peer is not None)
    if built.returncode != 0:
        if peer is None:
            sys.exit("the program does not build")
        return None
    copy = folder() / f"counted_calls-{peer}"
    shutil.copyfile(folder().parent / target / "release/counted_calls", copy)
    copy.chmod(0o755)
    return copy


def measure(command, inputs=os.devnull):
    """For (set, operation, implementation) the classes of every call; nothing if the program has
    instructions that the CPU has not."""
    calls = defaultdict(list)
    with (
        open(inputs, "rb") as read,
        subprocess.Popen(command, stdin=read, stdout=subprocess.PIPE, text=True) as emulator,
    ):
        for line in emulator.stdout:
            words = line.split()
            if words[0] == "#":
                counts = Counter()
                calls[words[1], words[2], " ".join(words[3:])].append(counts)
            elif words[0] != ".":
                counts[words[0]] += int(words[1])
    if emulator.returncode == -signal.SIGILL:
        print(f"\n{PEER}: not run on this CPU: built without asking for the CPU, it has")
        print("instructions for SHA-3 in its C code")
        return None
    if emulator.returncode != 0:
        sys.exit(f"{command} ended with {emulator.returncode}")
    kinds = classify({word for counters in calls.values() for c in counters for word in c})
    return {
        key: [by_class(counts, kinds) for counts in counters] for key, counters in calls.items()
    }


def by_class(counts, kinds):
    classes = Counter()
    for word, count in counts.items():
        classes[kinds[word]] += count
    return classes


def classify(encodings):
    """The class of each encoding, by its name and operands in assembly."""
    encodings = sorted(encodings)
    code = folder() / "instructions.bin"
    code.write_bytes(b"".join(int(word, 16).to_bytes(size(word), "little") for word in encodings))
    command = [f"{ARCH}-linux-gnu-objdump", "-D", "-z", "-b", "binary", *ARCHITECTURES[ARCH][1]]
    text = subprocess.run([*command, code], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^ *[0-9a-f]+:\t([0-9a-f]{4,8}) +\t(\S+)\t?([^\n]*)$", text, re.MULTILINE)
    if [encoding.zfill(8) for encoding, _, _ in lines] != encodings:
        sys.exit("objdump left out an instruction")
    return {encoding.zfill(8): kind(name, operands) for encoding, name, operands in lines}


def size(word):
    """Bytes of an instruction; RISC-V has some of two."""
    return 2 if ARCH == "riscv64" and int(word, 16) & 3 != 3 else 4


def kind(name, operands):
    if re.match(LOADS[ARCH], name):
        return "loads"
    if re.match(STORES[ARCH], name):
        return "stores"
    if ARCH == "riscv64" or not VECTOR.search(operands):
        return "scalar"
    if MULTIPLY.match(name):
        return "vector multiply"
    return "vector logic" if LOGIC.match(name) else "vector other"


def mean(calls):
    return Counter({name: sum(c[name] for c in calls) / len(calls) for name in CLASSES})


def rows_of(measured):
    """(operation, set) to {implementation: classes}: the mean of all calls; of signing
    also the call that needed one attempt, which is the shortest."""
    rows = defaultdict(dict)
    for (set_name, operation, label), calls in measured.items():
        if THEIRS.get(operation, operation) == "sign":
            first = min(calls, key=lambda classes: classes.total())
            rows[operation + ", one attempt", set_name][label] = first
            if label.endswith("hedged"):
                continue
            rows[f"{operation}, mean of {len(calls)}", set_name][label] = mean(calls)
        else:
            rows[operation, set_name][label] = mean(calls)
    return rows


def report(cpu, measured):
    """Portable code is compared with portable code."""
    rows = rows_of(measured)
    print(f"\nInstructions executed on an emulated {cpu}\n")
    print("| operation | set | implementation | all | " + " | ".join(CLASSES) + " | over theirs |")
    print("|---|---|---|--:|" + "--:|" * len(CLASSES) + "--:|")
    ratios = defaultdict(list)
    for (operation, set_name), row in rows.items():
        name, _, suffix = operation.partition(",")
        reference = THEIRS.get(name, name) + ("," + suffix if suffix else "")
        for label, classes in row.items():
            theirs = [
                other.total()
                for peer, other in rows.get((reference, set_name), {}).items()
                if not peer.startswith("mldsa-core") and ("portable" in peer) == ("portable" in label)
            ]
            ratio = ""
            if label.startswith("mldsa-core") and theirs:
                ratio = f"{classes.total() / min(theirs):.2f}"
                ratios[operation, label].append(ratio)
            figures = [classes.total(), *(classes[name] for name in CLASSES)]
            text = " | ".join(f"{figure:,.0f}" for figure in figures)
            print(f"| {operation} | {set_name[7:]} | {label} | {text} | {ratio} |")
    print(f"\nOver the better of theirs, {cpu}\n")
    print("| operation | implementation | 44 | 65 | 87 |\n|---|---|--:|--:|--:|")
    for (operation, label), row in ratios.items():
        print(f"| {operation} | {label} | {' | '.join(row)} |")


if __name__ == "__main__":
    ARCH = sys.argv[1] if sys.argv[1:] else None
    sys.exit(main())
