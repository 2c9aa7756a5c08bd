#!/usr/bin/env python3
"""What the profile of a program does to the speed of ours: each call of a node, built in
cargo's default release profile, in one codegen unit, with thin and with fat LTO.

    tools/profiles.py [RUNS]          RUNS of each, in turns, of which the least counts; 5
    tools/profiles.py debug [RUNS]    debug builds: with the two lines of the README, and without

Prints a table: nanoseconds in the first profile, and how many times that the others
take. Needs nothing but cargo.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# The name of a profile, and changes of it.
RELEASE = {
    "default": ("release", {}),
    "one unit": ("release", {"CODEGEN_UNITS": "1"}),
    "thin LTO": ("release", {"LTO": "thin"}),
    "fat LTO": ("release", {"LTO": "fat"}),
}
DEBUG = {"two lines": ("debug-build", {}), "without": ("unoptimised", {})}


def main():
    arguments = sys.argv[1:]
    profiles = DEBUG if arguments[:1] == ["debug"] else RELEASE
    arguments = [argument for argument in arguments if argument != "debug"]
    runs = int(arguments[0]) if arguments else 5
    programs = {name: build(name, *profile) for name, profile in profiles.items()}
    first, *others = profiles
    least = {}
    for _ in range(runs):
        for name, program in programs.items():
            out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
            for line in out.splitlines():
                call, time = line.rsplit(", ", 1)
                key = (call, name)
                least[key] = min(int(time), least.get(key, int(time)))
    print(f"| call | ns, {' | '.join(profiles)} |")
    print(f"|---|{'--:|' * len(profiles)}")
    for call in dict.fromkeys(call for call, _ in least):
        base = least[call, first]
        ratios = [f"{least[call, name] / base:.2f}" for name in others]
        print(f"| {call} | {' | '.join([str(base), *ratios])} |")


def build(name, profile, options):
    """The program, in a folder of its own."""
    folder = TARGET / "profiles" / name.replace(" ", "-")
    variables = {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in options.items()}
    command = ["cargo", "build", "--quiet", "--locked", "--profile", profile]
    command += ["-p", "batch-verify", "--bench", "minima", "--target-dir", folder]
    command += ["--message-format", "json"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=True
    )
    [program] = filter(None, (json.loads(line).get("executable") for line in done.stdout.splitlines()))
    return program


if __name__ == "__main__":
    main()
