"""Writes sample.parquet: 2,000 rows signed by OpenSSL (package `cryptography`), 1 % of each class bad.

Needs `cryptography` 48 or newer and `pyarrow`. Signatures are hedged: each run writes other bytes.
"""

import hashlib
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

ROWS, KEYS, CONTEXT = 2000, 10, b"archive/v1"

# The reason, and the change of set, key, message, context and signature.
CLASSES = [
    ("missing_set", lambda r: r | {"set": None}),
    ("unknown_set", lambda r: r | {"set": "ML-DSA-99"}),
    ("missing_key", lambda r: r | {"key": None}),
    ("missing_message", lambda r: r | {"message": None}),
    ("missing_signature", lambda r: r | {"signature": None}),
    ("context_too_long", lambda r: r | {"context": bytes(256)}),
    ("public_key_length", lambda r: r | {"key": r["key"][1:]}),
    ("signature_length", lambda r: r | {"signature": r["signature"] + b"\0"}),
    ("hint_encoding", lambda r: r | {"signature": r["signature"][:-1] + b"\xff"}),
    ("response_norm", lambda r: r | {"signature": r["signature"][:32] + bytes(3) + r["signature"][35:]}),
    ("challenge_mismatch", lambda r: r | {"message": r["message"] + b"\0"}),
]

keys = [MLDSA44PrivateKey.from_seed_bytes(hashlib.sha256(b"sample key %d" % n).digest()) for n in range(KEYS)]
rows = []
for n in range(ROWS):
    key, message = keys[n % KEYS], b"sample row %d" % n
    row = {
        "set": "ML-DSA-44",
        "key": key.public_key().public_bytes_raw(),
        "message": message,
        "context": CONTEXT,
        "signature": key.sign(message, CONTEXT),
        "expected": None,
    }
    # One row in a hundred for each class.
    if n % 100 % 9 == 0 and n % 100 // 9 < len(CLASSES):
        reason, change = CLASSES[n % 100 // 9]
        row = change(row) | {"expected": reason}
    rows.append(row)

types = {"set": pa.string(), "expected": pa.string()}
schema = pa.schema([(name, types.get(name, pa.binary())) for name in rows[0]])
pq.write_table(
    pa.Table.from_pylist(rows, schema),
    pathlib.Path(__file__).with_name("sample.parquet"),
    row_group_size=500,
    compression="none",
    use_dictionary=["set", "key", "context", "expected"],
    write_statistics=False,
)
