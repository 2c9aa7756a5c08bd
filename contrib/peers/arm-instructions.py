#!/usr/bin/env python3
"""Instructions that AArch64 executes in one call of each operation, by class: ours and
those of the crates with assembly, in the same emulator. No clock.

    contrib/peers/arm-instructions.py [CPU ...]     QEMU's names; without any, `max`, which has the
                                            instructions for SHA-3, `cortex-a72` and
                                            `neoverse-n1`

Needs cc, cargo with the target aarch64-unknown-linux-gnu, the cross compiler of that
target, its binutils and QEMU's user mode. mldsa-native-rs also needs libclang. Exit
status 0, or 77 if a tool is missing.
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
TARGET = "aarch64-unknown-linux-gnu"
PREFIX = "aarch64-linux-gnu-"
LIBRARIES = "/usr/aarch64-linux-gnu"
TOOLS = ["cc", "cargo", PREFIX + "gcc", PREFIX + "objdump", "qemu-aarch64"]
CPUS = ["max", "cortex-a72", "neoverse-n1"]
# A peer that is a feature of `benches`.
PEER = "mldsa-native-rs"

CLASSES = ["loads", "stores", "vector multiply", "vector logic", "vector other", "scalar"]
VECTOR = re.compile(r"\bv\d+\.|\b[qdshb]\d+\b")
MULTIPLY = re.compile(r"(sq|uq|sqr|p|f)?(r?d)?(mul|mla|mls)|[su]m(ull|lal|lsl)|sqdm|sqrdm|fmadd")
LOGIC = re.compile(
    r"(and|orr|eor|bic|orn|mvn|not|bsl|bit|bif|eor3|bcax|rax1|xar"
    r"|shl|sri|sli|[su]?r?shrn?2?|[su]?r?s[hr][lr]a?|[su]shll?2?|[us]sra|shrn2?)$"
)

# The operation of theirs that one of ours is compared with.
THEIRS = {"sign_prepared": "sign", "verify_prepared": "verify_cold"}
# Target: at most this many times the instructions of the peer.
TARGETS = {
    "keygen": 1,
    "sign": 1,
    "sign_prepared": 1 / 1.2,
    "verify_cold": 1,
    "verify_prepared": 1 / 3,
}


def main():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"not run: there is no {', '.join(missing)}")
        return 77
    programs = [build(PEER), build(None)]
    plugin = folder() / "arm-instructions.so"
    source = HERE / "arm-instructions.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-o", plugin, source], check=True)
    version = subprocess.run(["qemu-aarch64", "--version"], capture_output=True, text=True)
    print(version.stdout.splitlines()[0])
    if programs[0] is None:
        print(f"{PEER}: not run: it does not build, perhaps for want of libclang")
        programs.pop(0)
    for cpu in sys.argv[1:] or CPUS:
        measured = None
        for program in programs:
            measured = measured or measure(cpu, program, plugin)
        if measured is None:
            return 1
        report(cpu, measured)
    return 0


def folder():
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target"))


def build(peer):
    """The program, with one peer more; nothing if that does not build."""
    environment = os.environ | {
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": PREFIX + "gcc",
        "BINDGEN_EXTRA_CLANG_ARGS_aarch64_unknown_linux_gnu": f"-I{LIBRARIES}/include",
    }
    command = ["cargo", "build", "--quiet", "--locked", "--release", "--target", TARGET]
    command += ["--bin", "counted_calls"]
    if peer is not None:
        command += ["--features", peer]
    built = subprocess.run(command, cwd=HERE, env=environment, capture_output=peer is not None)
    if built.returncode != 0:
        if peer is None:
            sys.exit("the program does not build")
        return None
    copy = folder() / f"counted_calls-{peer}"
    shutil.copyfile(folder() / TARGET / "release/counted_calls", copy)
    copy.chmod(0o755)
    return copy


def measure(cpu, program, plugin):
    """For (set, operation, implementation, backend) the classes of every call; nothing if
    the program has instructions that the CPU has not."""
    command = ["qemu-aarch64", "-cpu", cpu, "-L", LIBRARIES, "-plugin", plugin, program]
    calls = defaultdict(list)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as emulator:
        for line in emulator.stdout:
            words = line.split()
            if words[0] == "#":
                counts = Counter()
                calls[tuple(words[1:5])].append(counts)
            elif words[0] != ".":
                counts[words[0]] += int(words[1])
    if emulator.returncode == -signal.SIGILL:
        print(f"\n{PEER}: not run on {cpu}: built without asking for the CPU, it has")
        print("instructions for SHA-3 in its C code")
        return None
    if emulator.returncode != 0:
        sys.exit(f"the program ended with {emulator.returncode} on {cpu}")
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
    code = folder() / "arm-instructions.bin"
    code.write_bytes(b"".join(int(word, 16).to_bytes(4, "little") for word in encodings))
    command = [PREFIX + "objdump", "-D", "-z", "-b", "binary", "-m", "aarch64", code]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^ *[0-9a-f]+:\t([0-9a-f]{8}) \t(\S+)\t?([^\n]*)$", text, re.MULTILINE)
    if [encoding for encoding, _, _ in lines] != encodings:
        sys.exit("objdump left out an instruction")
    return {encoding: kind(name, operands) for encoding, name, operands in lines}


def kind(name, operands):
    if re.match(r"ld|prfm", name):
        return "loads"
    if re.match(r"st|swp|cas", name):
        return "stores"
    if not VECTOR.search(operands):
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
    for (set_name, operation, peer, backend), calls in measured.items():
        label = f"{peer} {backend}" if peer == "ours" else peer
        if THEIRS.get(operation, operation) == "sign":
            first = min(calls, key=lambda classes: classes.total())
            rows[operation + ", one attempt", set_name][label] = first
            if backend == "hedged":
                continue
            rows[f"{operation}, mean of {len(calls)}", set_name][label] = mean(calls)
        else:
            rows[operation, set_name][label] = mean(calls)
    return rows


def report(cpu, measured):
    rows = rows_of(measured)
    print(f"\nInstructions executed on an emulated {cpu}\n")
    print("| operation | set | implementation | all | " + " | ".join(CLASSES) + " | over theirs |")
    print("|---|---|---|--:|" + "--:|" * len(CLASSES) + "--:|")
    verdicts = defaultdict(list)
    for (operation, set_name), row in rows.items():
        name, _, suffix = operation.partition(",")
        reference = THEIRS.get(name, name) + ("," + suffix if suffix else "")
        theirs = [
            classes.total()
            for label, classes in rows.get((reference, set_name), {}).items()
            if not label.startswith("ours")
        ]
        for label, classes in row.items():
            ratio = ""
            if label.startswith("ours") and theirs:
                over = classes.total() / min(theirs)
                ratio = f"{over:.2f}"
                verdicts[label, operation].append((over, TARGETS[name]))
            figures = [classes.total(), *(classes[name] for name in CLASSES)]
            text = " | ".join(f"{figure:,.0f}" for figure in figures)
            print(f"| {operation} | {set_name[7:]} | {label} | {text} | {ratio} |")
    print(f"\nOver the better of theirs, {cpu}\n")
    print("| operation | implementation | 44 | 65 | 87 | at most | |\n|---|---|--:|--:|--:|--:|---|")
    for (label, operation), sets in verdicts.items():
        met = "met" if all(over <= target for over, target in sets) else "missed"
        ratios = " | ".join(f"{over:.2f}" for over, _ in sets)
        print(f"| {operation} | {label} | {ratios} | {sets[0][1]:.2f} | {met} |")


if __name__ == "__main__":
    sys.exit(main())
