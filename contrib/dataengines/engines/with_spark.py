"""PySpark with two executor processes: with_spark.py FILE [MARK].

The executors read the row groups by pyarrow: rows that Spark reads pass through the Java process, which takes longer
than their verification. With the name of a file that is not there, the first executor that has handed on a batch is
killed, and leaves the file behind.
"""

import os
import signal
import sys
import time
from pathlib import Path

import common
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

FILE, MARK = os.path.abspath(sys.argv[1]), "".join(sys.argv[2:3])
ROWS = 100 if MARK else 4096


def executor(pid):
    """Returns the Java process above a process."""
    while "java" not in os.readlink(f"/proc/{pid}/exe"):
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return pid


def die_once():
    try:
        Path(MARK).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(executor(os.getpid()), signal.SIGKILL)


def verify(groups):
    for group in (one for batch in groups for one in batch["id"].to_pylist()):
        for batch in pq.ParquetFile(FILE).iter_batches(ROWS, [group], common.COLUMNS):
            found = common.reasons(batch).value_counts()
            yield pa.record_batch({"reason": found.field("values"), "rows": found.field("counts")})
            if MARK:
                die_once()


def run(groups):
    """Returns pairs of a reason and a count, from tasks of one row group."""
    rows = spark.range(0, groups, 1, groups).mapInArrow(verify, "reason string, rows long")
    return [tuple(row) for row in rows.groupBy("reason").sum("rows").collect()]


os.environ["PYSPARK_PYTHON"] = sys.executable
spark = (
    SparkSession.builder.master(f"local-cluster[2,{max(os.cpu_count() // 2, 1)},1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
spark.sparkContext.addPyFile(common.__file__)
groups = pq.ParquetFile(FILE).num_row_groups
if not MARK:
    # The processes of Python start, and Java compiles what it runs.
    run(min(groups, 2))
started = time.monotonic()
common.report(run(groups), started)
spark.stop()
