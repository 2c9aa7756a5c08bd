#!/usr/bin/env python3
"""Prints what the archive program, the engines and the wheel reach of `batch-verify`.

    bench.py FILE [ENGINE]...     a file of `mldsa-archive make`, which is read into memory once

Each figure is the best of three. Those of engines are of the query, without their start. Peak memory is that of the
program on the file.
"""

import os
import subprocess
import sys
import tempfile
import time

from run import COLUMNS, ENGINES, archive, python, started

WHEEL = """
import sys, time
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA65PublicKey
from mldsa_batch import PrivateKey, Verifier

def best(call):
    times = []
    for _ in range(3):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times) * 1e6 / ROWS

ROWS = 2000
keys = [PrivateKey.from_seed("ML-DSA-65", n.to_bytes(32, "big")) for n in range(ROWS)]
def rows(of):
    signers = [keys[n % of] for n in range(ROWS)]
    messages = [n.to_bytes(122, "big") for n in range(ROWS)]
    signatures = [key.sign(message) for key, message in zip(signers, messages)]
    return [bytes(key.public_key()) for key in signers], messages, signatures

few, many = rows(20), rows(ROWS)
known, cold = Verifier(threads=1), Verifier(threads=1, key_cache_bytes=0)
assert known.verify_batch(*few) == cold.verify_batch(*many) == [None] * ROWS
objects = [MLDSA65PublicKey.from_public_bytes(key) for key in few[0]]
theirs = best(lambda: [key.verify(one, text) for key, text, one in zip(objects, *few[1:])])
fresh = best(lambda: [MLDSA65PublicKey.from_public_bytes(key).verify(one, text) for key, text, one in zip(*many)])
ours, ours_cold = best(lambda: known.verify_batch(*few)), best(lambda: cold.verify_batch(*many))
print(f"wheel, one thread, ML-DSA-65: known keys {ours:.1f} us, cryptography {theirs:.1f} us: {theirs / ours:.1f} x")
print(f"wheel, one thread, ML-DSA-65: cold {ours_cold:.1f} us, cryptography {fresh:.1f} us: {fresh / ours_cold:.1f} x")
"""


def seconds(text):
    """Returns the seconds that a program prints."""
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("seconds "))


def main(file, engines, folder):
    programs = archive("--bins", "--example", "slices")
    slices, program, peak = [], [], 0
    for _ in range(3):
        one = subprocess.run([programs / "examples/slices", file], stdout=subprocess.PIPE, text=True, check=True)
        rows = int(one.stdout.split()[1])
        slices.append(seconds(one.stdout))
        before = time.monotonic()
        process = subprocess.Popen([programs / "mldsa-archive", "verify", file, *COLUMNS], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) in (0, 1, 2)
        program.append(time.monotonic() - before)
        peak = max(peak, usage.ru_maxrss)
    best = min(slices)
    print(f"{rows} rows; batch-verify on slices: {best:.2f} s, {best / rows * 1e6:.2f} us a row")
    print(f"mldsa-archive: {min(program):.2f} s, {best / min(program):.2f} of it; peak memory {peak / 1024:.0f} MiB")
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    for engine in engines:
        with started(engine, folder) as command:
            times = [subprocess.run(command(file), text=True, check=True, **streams).stderr for _ in range(3)]
        time_of = min(map(seconds, times))
        print(f"{engine}: {time_of:.2f} s, {best / time_of:.2f} of it")
    subprocess.run([python("cryptography>=48"), "-c", WHEEL], check=True)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(ENGINES):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1], sys.argv[2:], folder)
