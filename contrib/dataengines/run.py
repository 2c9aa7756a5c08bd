#!/usr/bin/env python3
"""Starts one engine and compares its counts by reason with those of `mldsa-archive verify`.

    run.py ENGINE [FILE]     polars, duckdb, ray, spark, datafusion or ballista

Without a file, rows are made. Spark loses an executor in the middle. Ballista loses one at a random moment of each of
LOSSES queries (3), which SEED decides; both are environment variables. Status 77: a tool is missing, which is named.
"""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
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
# The verdict of each row, and how often it is there.
TABLE = f"SELECT block, weight, message, coalesce(mldsa_reason({ARGUMENTS}), 'valid') AS reason FROM rows"
TABLE = f"SELECT *, count(*) FROM ({TABLE}) GROUP BY block, weight, message, reason"
# How often a query is run again after a loss, and how many seconds it may take.
TRIES, PATIENCE = 3, 120


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


def ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


class Cluster(contextlib.ExitStack):
    """A scheduler and two executors of Ballista."""

    def __init__(self, program, folder):
        super().__init__()
        self.program, self.folder = program, folder
        (self.port,) = ports(1)

    def __enter__(self):
        with contextlib.ExitStack() as begun:
            begun.push(self)
            self.scheduler = self.start("scheduler", self.port)
            self.executors = [self.executor(), self.executor()]
            begun.pop_all()
        return self

    def start(self, command, port, *arguments):
        """Starts a process, and returns it when it listens."""
        arguments = (self.program, command, *arguments[:1], port, *arguments[1:])
        process = subprocess.Popen([str(part) for part in arguments])
        self.callback(process.wait)
        self.callback(process.kill)
        while True:
            with socket.socket() as one:
                if not one.connect_ex(("127.0.0.1", port)):
                    return process
            assert process.poll() is None, "the cluster does not start"
            time.sleep(0.05)

    def executor(self):
        port, other = ports(2)
        return self.start("executor", port, self.port, other, tempfile.mkdtemp(dir=self.folder))

    def query(self, file, query=REASONS):
        return [self.program, "remote", str(self.port), file, query]


@contextlib.contextmanager
def started(engine, folder, mark=None):
    """Starts an engine, and returns a command that awaits a file. The first executor of Spark to get there dies and
    leaves the file `mark` behind."""
    if engine in PACKAGES:
        if engine == "spark" and not shutil.which("java"):
            missing("java")
        program = [python(PACKAGES[engine]), HERE / f"engines/with_{engine}.py"]
        yield lambda file: [*program, file, *([mark] if mark else [])]
        return
    program = cargo(HERE, "engines") / "dataengines"
    if engine == "datafusion":
        yield lambda file, query=REASONS: [program, "sql", file, query]
        return
    with Cluster(program, folder) as cluster:
        yield cluster.query


def counts(text):
    """Returns the counts of the lines of a reason and a count."""
    pairs = (line.split() for line in text.splitlines())
    others = ("rows", "keys", "unreadable", "pages_without_checksum")
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] not in others}


def output(command, tries=1):
    """Returns what a command prints. One that ends with an error, or does not end, is run again: the results of a
    query lie on the executor that made them, and are lost with it."""
    for left in reversed(range(tries)):
        try:
            done = run(*command, stdout=subprocess.PIPE, text=True, check=not left, timeout=PATIENCE)
            if done.returncode == 0:
                return done.stdout, tries - left
        except subprocess.TimeoutExpired:
            if not left:
                raise
        print("run again:", *command[:2], file=sys.stderr)


def table(command, tries=1):
    """Returns the rows of an answer in order, and how often the query was run."""
    text, count = output(command, tries)
    return sorted(text.splitlines()), count


def losses(cluster, file, expected):
    """Compares the verdicts of queries, during each of which an executor is killed. Another one takes its place."""
    runs, seed = int(os.environ.get("LOSSES", 3)), int(os.environ.get("SEED", time.time_ns() % 10**9))
    print("ballista: seed", seed, flush=True)
    draw, tries = random.Random(seed), Counter()
    command = cluster.query(file, TABLE)
    begun = time.monotonic()
    assert table(command)[0] == expected, "the verdicts of Ballista differ"
    seconds, in_time, differ, number = time.monotonic() - begun, 0, 0, 0
    # Moments are drawn until so many executors were killed while the query was running.
    while in_time < runs:
        at, is_over = draw.randrange(2), threading.Event()
        victim, early = cluster.executors[at], []

        def kill():
            early.append(not is_over.is_set())
            victim.kill()

        timer = threading.Timer(draw.uniform(0, seconds), kill)
        timer.start()
        found, count = table(command, TRIES)
        is_over.set()
        timer.join()
        victim.wait()
        cluster.executors[at] = cluster.executor()
        if early[0]:
            # Ballista 55.0 may return other rows, without an error: what it returns after a loss is thrown away.
            if found != expected:
                missing, more = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
                print(f"query {number}: {missing.total()} rows are missing, {more.total()} are too many", flush=True)
                differ += 1
            found, again = table(command, TRIES)
            tries[count + again] += 1
        number += 1
        assert number <= 9 * runs, "the moments are too late"
        assert found == expected, f"query {number}: rows are lost, twice there or other ones"
        in_time += early[0]
    print(f"ballista: {runs} of {runs} queries that lost an executor have all {len(expected)} verdicts once,", end=" ")
    print(f"by runs of a query: {dict(sorted(tries.items()))};", end=" ")
    print(f"{differ} results with the loss had other rows; {number - runs} queries had ended before it", flush=True)


def main(engine, file, folder):
    program = archive() / "mldsa-archive"
    if file is None:
        file = folder / "rows.parquet"
        run(program, "make", file, "--rows", 4000, "--group-rows", 500, "--bad", 100)
    verify = [str(program), "verify", str(file), *COLUMNS]
    expected = counts(subprocess.run(verify, stdout=subprocess.PIPE, text=True, check=False).stdout)
    assert len(expected) > 2, "the rows have too few reasons"
    mark = folder / "killed" if engine == "spark" else None
    with started(engine, folder, mark) as command:
        found = counts(output(command(file))[0])
        assert not mark or mark.exists(), "no executor was killed"
        if engine not in PACKAGES:
            weights, planned = (table(command(file, query)) for query in (WEIGHTS, PLANNED))
            assert weights == planned and weights[0], "the weights by block differ"
        if engine == "ballista":
            with started("datafusion", folder) as local:
                rows, _ = table(local(file, TABLE))
            losses(command.__self__, file, rows)
    if found != expected:
        print("expected:", expected, "found:", found, sep="\n")
        sys.exit(1)
    print(engine, "has the counts of mldsa-archive:", sum(expected.values()), "rows,", len(expected) - 1, "reasons")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in ENGINES:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1], Path(sys.argv[2]).resolve() if sys.argv[2:] else None, Path(folder))
