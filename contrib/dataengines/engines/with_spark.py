"""PySpark with two executor processes: with_spark.py FILE [MARK].

With the name of a file that is not there, the first executor that has handed on two batches of a partition
is killed, and leaves the file behind.
"""

import os
import signal
import sys
import time
from pathlib import Path

import common
import pyarrow as pa
from pyspark.sql import SparkSession

MARK = "".join(sys.argv[2:3])


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


def verify(batches):
    for n, batch in enumerate(batches):
        yield pa.record_batch({"reason": common.reasons(batch)})
        if MARK and n == 1:
            die_once()


os.environ["PYSPARK_PYTHON"] = sys.executable
spark = (
    SparkSession.builder.master(f"local-cluster[2,{max(os.cpu_count() // 2, 1)},1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.execution.arrow.maxRecordsPerBatch", 100 if MARK else 10000)
    .config("spark.sql.files.maxPartitionBytes", "1m" if MARK else "128m")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
spark.sparkContext.addPyFile(common.__file__)
started = time.monotonic()
rows = spark.read.parquet(os.path.abspath(sys.argv[1])).select(common.COLUMNS)
found = rows.mapInArrow(verify, "reason string").groupBy("reason").count().collect()
common.report([(row["reason"], row["count"]) for row in found], started)
spark.stop()
