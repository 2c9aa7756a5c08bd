"""Ray Data on this machine: with_ray.py FILE."""

import os
import sys
import time

import pyarrow as pa
import ray
from common import COLUMNS, reasons_of_table, report

os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"
here = {"env_vars": {"PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}}
ray.init(include_dashboard=False, log_to_driver=False, logging_level="error", runtime_env=here)
started = time.monotonic()


def counts(table):
    found = reasons_of_table(table).value_counts()
    return pa.table({"reason": found.field("values"), "count": found.field("counts")})


rows = ray.data.read_parquet(os.path.abspath(sys.argv[1]), columns=COLUMNS)
found = rows.map_batches(counts, batch_format="pyarrow", batch_size=8192).iter_rows()
report([(row["reason"], row["count"]) for row in found], started)
