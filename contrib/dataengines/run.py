#!/usr/bin/env python3
"""Starts one engine and compares its counts by reason with those of `mldsa-archive verify`.

    run.py ENGINE [FILE]     polars, duckdb, ray or spark

Without a file, rows are made. Spark loses an executor in the middle. Status 77: a tool is missing, which is
named.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")).resolve()
PACKAGES = {"polars": "polars", "duckdb": "duckdb", "ray": "ray[data]", "spark": "pyspark[sql]>=4,<5"}
COLUMNS = ["--set-column", "set", "--context-column", "context"]


def missing(tool):
    print("not run:", tool, "is missing")
    sys.exit(77)


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def cargo(*options):
    """Builds programs of the workspace, and returns their folder."""
    target = TARGET / "archive"
    command = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "mldsa-arrow", "--features", "archive"]
    run(*command, "--target-dir", target, *options, cwd=HERE / "../..")
    return target / "release"


def python(*packages):
    """Returns the Python of an environment with the optimised wheel and the packages."""
    environment = TARGET / "venv"
    program = environment / "bin/python"
    if not program.exists():
        run(sys.executable, "-m", "venv", environment)
    pip = [str(program), "-m", "pip", "install", "--quiet"]
    if subprocess.run([*pip, "maturin>=1.9,<2", "pyarrow", *packages], check=False).returncode:
        missing(" ".join(packages))
    wheels = TARGET / "wheels"
    maturin = [environment / "bin/maturin", "build", "--quiet", "--release", "--locked"]
    folders = ["--target-dir", TARGET / "wheel", "--out", wheels]
    run(*maturin, "--interpreter", program, *folders, cwd=HERE / "../../python")
    run(*pip, "--force-reinstall", "--no-deps", *wheels.glob("mldsa_batch-*.whl"))
    return program


def counts(text):
    """Returns the counts of the lines of a reason and a count."""
    pairs = (line.split() for line in text.splitlines())
    others = ("rows", "keys", "unreadable")
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] not in others}


def main(engine, file, work):
    if engine == "spark" and not shutil.which("java"):
        missing("java")
    archive = cargo() / "mldsa-archive"
    program = python(PACKAGES[engine])
    if file is None:
        file = work / "rows.parquet"
        run(archive, "make", file, "--rows", 4000, "--group-rows", 500, "--bad", 100)
    verify = [str(archive), "verify", str(file), *COLUMNS]
    expected = counts(subprocess.run(verify, stdout=subprocess.PIPE, text=True, check=False).stdout)
    assert len(expected) > 2, "the rows have too few reasons"
    mark = work / "killed"
    options = [mark] if engine == "spark" else []
    found = run(program, HERE / f"engines/with_{engine}.py", file, *options, stdout=subprocess.PIPE, text=True)
    assert engine != "spark" or mark.exists(), "no executor was killed"
    if counts(found.stdout) != expected:
        print("expected:", expected, "found:", counts(found.stdout), sep="\n")
        sys.exit(1)
    print(engine, "has the counts of mldsa-archive:", sum(expected.values()), "rows,", len(expected) - 1, "reasons")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in PACKAGES:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1], Path(sys.argv[2]).resolve() if sys.argv[2:] else None, Path(folder))
