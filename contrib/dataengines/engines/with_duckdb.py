"""DuckDB: with_duckdb.py FILE."""

import sys
import time

import duckdb
import pyarrow as pa
from common import COLUMNS, reasons_of_table, report

started = time.monotonic()


def mldsa_reason(set, key, message, context, signature):
    return reasons_of_table(pa.table([set, key, message, context, signature], names=COLUMNS))


types = ["VARCHAR", "BLOB", "BLOB", "BLOB", "BLOB"]
duckdb.create_function("mldsa_reason", mldsa_reason, types, "VARCHAR", type="arrow", null_handling="special")
query = f"SELECT mldsa_reason({', '.join(COLUMNS)}) AS reason, count(*) FROM read_parquet($1) GROUP BY reason"
report(duckdb.execute(query, [sys.argv[1]]).fetchall(), started)
