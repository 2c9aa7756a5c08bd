#!/usr/bin/env python3
"""Starts one engine and compares its counts by reason with those of `mldsa-archive verify`.

    run.py ENGINE [FILE]     polars, duckdb, ray, spark, datafusion or ballista

Without a file, rows are made. Spark and Ballista lose an executor in the middle. Status 77: a tool is missing, which
is named.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")).resolve()
PACKAGES = {"polars": "polars", "duckdb": "duckdb", "ray": "ray[data]", "spark": "pyspark[sql]>=4,<5"}
ENGINES = [*PACKAGES, "datafusion", "ballista"]
COLUMNS = ["--set-column", "set", "--context-column", "context"]
ARGUMENTS = "set, key, message, context, signature"
REASONS = f"SELECT coalesce(mldsa_reason({ARGUMENTS}), 'valid') AS reason, count(*) FROM rows GROUP BY reason"
WEIGHTS = f"mldsa_weight(key, weight, mldsa_verify({ARGUMENTS}), message, context) AS weight"
WEIGHTS = f"SELECT block, {WEIGHTS} FROM rows GROUP BY block, message"
WEIGHTS = f"SELECT block, sum(weight) FROM ({WEIGHTS}) GROUP BY block"
# The same from the column that says what a row is to be.
PLANNED = "SELECT DISTINCT block, message, key, weight FROM rows WHERE expected IS NULL"
PLANNED = f"SELECT block, sum(weight) FROM ({PLANNED}) GROUP BY block"


def missing(tool):
    print("not run:", tool, "is missing")
    sys.exit(77)


def run(*command, **options):
    return subprocess.run([str(part) for part in command], **{"check": True, **options})


def cargo(folder, name, *options):
    """Builds programs of a workspace, and returns their folder."""
    target = TARGET / name
    run("cargo", "build", "--quiet", "--release", "--locked", *options, "--target-dir", target, cwd=folder)
    return target / "release"


def archive(*options):
    return cargo(HERE / "../..", "archive", "-p", "mldsa-archive", *options)


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


@contextlib.contextmanager
def cluster(program, folder, mark):
    """Starts a scheduler and two executors, and returns the port of the scheduler."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(5)]
    scheduler, *ports = (str(one.getsockname()[1]) for one in sockets)
    for one in sockets:
        one.close()
    executor = [program, "executor", scheduler]
    commands = [
        [program, "scheduler", scheduler],
        [*executor, *ports[:2], tempfile.mkdtemp(dir=folder), *mark],
        [*executor, *ports[2:], tempfile.mkdtemp(dir=folder), *mark],
    ]
    processes = []
    try:
        for command in commands:
            processes.append(subprocess.Popen(command))
        for process, port in zip(processes, (scheduler, ports[0], ports[2])):
            with socket.socket() as one:
                while one.connect_ex(("127.0.0.1", int(port))):
                    assert process.poll() is None, "the cluster does not start"
                    time.sleep(0.05)
        yield scheduler
    finally:
        for process in processes:
            process.kill()
            process.wait()


def kill_marked(mark, ended):
    """Kills the process whose id is in a file, as soon as it is."""
    while not ended.wait(0.01):
        if mark.exists() and (text := mark.read_text()).endswith("\n"):
            return os.kill(int(text), signal.SIGKILL)


@contextlib.contextmanager
def started(engine, folder, mark=None):
    """Starts an engine, and returns a command that awaits a file. The first executor to get there dies and
    leaves the file `mark` behind."""
    marks = [mark] if mark else []
    if engine in PACKAGES:
        if engine == "spark" and not shutil.which("java"):
            missing("java")
        program = [python(PACKAGES[engine]), HERE / f"engines/with_{engine}.py"]
        yield lambda file: [*program, file, *marks]
        return
    if not shutil.which("protoc"):
        missing("protoc")
    program = cargo(HERE, "engines") / "dataengines"
    if engine == "datafusion":
        yield lambda file, query=REASONS: [program, "sql", file, query]
        return
    with cluster(program, folder, marks) as scheduler:
        ended = threading.Event()
        killer = threading.Thread(target=kill_marked, args=[mark, ended])
        if mark:
            killer.start()
        try:
            yield lambda file, query=REASONS: [program, "remote", scheduler, file, query]
        finally:
            ended.set()
            if mark:
                killer.join()


def counts(text):
    """Returns the counts of the lines of a reason and a count."""
    pairs = (line.split() for line in text.splitlines())
    others = ("rows", "keys", "unreadable", "pages_without_checksum")
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] not in others}


def output(command, tries=1):
    """Returns what a command prints. One that ends with an error is run again: the results of a query lie on the
    executor that made them, and are lost with it."""
    for _ in range(1, tries):
        done = run(*command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        print("run again:", *command[:2], file=sys.stderr)
    return run(*command, stdout=subprocess.PIPE, text=True).stdout


def main(engine, file, folder):
    program = archive() / "mldsa-archive"
    if file is None:
        file = folder / "rows.parquet"
        run(program, "make", file, "--rows", 4000, "--group-rows", 500, "--bad", 100)
    verify = [str(program), "verify", str(file), *COLUMNS]
    expected = counts(subprocess.run(verify, stdout=subprocess.PIPE, text=True, check=False).stdout)
    assert len(expected) > 2, "the rows have too few reasons"
    mark = folder / "killed" if engine in ("spark", "ballista") else None
    with started(engine, folder, mark) as command:
        # One executor is killed, so that one query at most loses its results.
        found = counts(output(command(file), 2 if engine == "ballista" else 1))
        assert not mark or mark.exists(), "no executor was killed"
        if engine not in PACKAGES:
            weights, planned = (sorted(output(command(file, query)).splitlines()) for query in (WEIGHTS, PLANNED))
            assert weights == planned != [], "the weights by block differ"
    if found != expected:
        print("expected:", expected, "found:", found, sep="\n")
        sys.exit(1)
    print(engine, "has the counts of mldsa-archive:", sum(expected.values()), "rows,", len(expected) - 1, "reasons")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in ENGINES:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1], Path(sys.argv[2]).resolve() if sys.argv[2:] else None, Path(folder))
