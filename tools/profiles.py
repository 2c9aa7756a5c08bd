#!/usr/bin/env python3
"""What the profile of a program does to the speed of ours: each call of a node, built in
cargo's default release profile, in one codegen unit, with thin and with fat LTO.

    tools/profiles.py [RUNS]      RUNS of each, in turns, of which the least counts; 5

Prints a table: nanoseconds in the default profile, and how many times that the others
take. Needs nothing but cargo.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROFILES = {
    "default": {},
    "one unit": {"CODEGEN_UNITS": "1"},
    "thin LTO": {"LTO": "thin"},
    "fat LTO": {"LTO": "fat"},
}


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    programs = {name: build(name, options) for name, options in PROFILES.items()}
    least = {}
    for _ in range(runs):
        for name, program in programs.items():
            out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
            for line in out.splitlines():
                call, time = line.rsplit(", ", 1)
                key = (call, name)
                least[key] = min(int(time), least.get(key, int(time)))
    print(f"| call | ns, {' | '.join(PROFILES)} |")
    print(f"|---|{'--:|' * len(PROFILES)}")
    for call in dict.fromkeys(call for call, _ in least):
        base = least[call, "default"]
        others = [f"{least[call, name] / base:.2f}" for name in list(PROFILES)[1:]]
        print(f"| {call} | {' | '.join([str(base), *others])} |")


def build(name, options):
    """The program, in a folder of its own."""
    folder = TARGET / "profiles" / name.replace(" ", "-")
    variables = {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in options.items()}
    command = ["cargo", "build", "--quiet", "--locked", "--release"]
    command += ["-p", "batch-verify", "--bench", "minima", "--target-dir", folder]
    command += ["--message-format", "json"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=True
    )
    [program] = filter(None, (json.loads(line).get("executable") for line in done.stdout.splitlines()))
    return program


if __name__ == "__main__":
    main()
