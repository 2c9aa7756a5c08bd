"""What the programs share: the function, and an output of a reason and a count a line."""

import functools
import sys
import time
from collections import Counter

import pyarrow as pa
from mldsa_batch import Verifier

COLUMNS = ["set", "key", "message", "context", "signature"]


@functools.cache
def verifier():
    """One verifier for each process, which keeps keys from batch to batch; engines bring the threads."""
    return Verifier(threads=1)


def reasons(batch):
    """Returns the reason of each row, as a text; null for a valid one."""
    verdicts = verifier().verify_arrow(batch, set_column="set", context_column="context")
    return pa.record_batch(verdicts)["reason"].cast(pa.string())


def reasons_of_table(table):
    parts = [reasons(batch) for batch in table.combine_chunks().to_batches()]
    return pa.chunked_array(parts, pa.string())


def report(counts, started):
    """Prints pairs of a reason and a count, and the time since the start as an error line."""
    total = Counter()
    for reason, count in counts:
        total[reason or "valid"] += count
    for reason in sorted(total):
        print(reason, total[reason])
    print(f"seconds {time.monotonic() - started:.3f}", file=sys.stderr)
