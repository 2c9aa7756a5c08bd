"""Polars: with_polars.py FILE."""

import sys
import time

import polars as pl
import pyarrow as pa
from common import COLUMNS, report
from mldsa_batch import Verifier

started = time.monotonic()
# Batches come one after the other: the verifier has all cores.
verifier, counts = Verifier(), []
for frame in pl.scan_parquet(sys.argv[1]).select(COLUMNS).collect_batches(chunk_size=16384):
    for batch in frame.to_arrow().combine_chunks().to_batches():
        verdicts = pa.record_batch(verifier.verify_arrow(batch, set_column="set", context_column="context"))
        counts += pl.from_arrow(verdicts)["reason"].cast(str).value_counts().iter_rows()
report(counts, started)
