"""Compares what this reader and Arrow's C++ reader find in random files: second_reader.py DIGEST SEED FILES

DIGEST is the example `digest`. Needs `pyarrow`. All encodings, codecs, versions of pages and forms of dictionaries that
pyarrow writes.
"""

import hashlib
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CODECS = ["NONE", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD"]
ENCODINGS = ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "dictionary"]
FIXED = ["PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT", "dictionary"]


def values(draw, rows, width):
    nulls, changes, longest = draw.choice([0, 0.1, 0.5]), draw.randint(1, 4), draw.randint(1, 3000)
    last, found = b"", []
    for _ in range(rows):
        if draw.random() < nulls:
            found.append(None)
            continue
        if draw.randrange(changes) == 0 or (width and len(last) != width):
            length = width or draw.randrange(longest)
            last = last[: min(draw.randint(0, len(last)), length)]
            last += draw.randbytes(length - len(last))
        found.append(last)
    return found


def write(draw, path):
    rows = draw.randint(1, 300)
    encodings, arrays = {}, {}
    for name in "abc":
        width = draw.randint(1, 40) if name == "c" else None
        encodings[name] = draw.choice(FIXED if width else ENCODINGS)
        arrays[name] = pa.array(values(draw, rows, width), pa.binary(width or -1))
    pq.write_table(
        pa.table(arrays),
        path,
        compression={name: draw.choice(CODECS) for name in arrays},
        use_dictionary=[name for name, encoding in encodings.items() if encoding == "dictionary"],
        column_encoding={name: of for name, of in encodings.items() if of != "dictionary"},
        data_page_version=draw.choice(["1.0", "2.0"]),
        data_page_size=draw.choice([64, 1000, 100_000]),
        dictionary_pagesize_limit=draw.choice([64, 1000, 100_000]),
        row_group_size=draw.randint(1, rows),
        write_batch_size=draw.randint(1, 64),
        write_page_checksum=draw.random() < 0.5,
        write_statistics=draw.random() < 0.5,
    )


def digest(path):
    table, all_columns = pq.read_table(path), hashlib.sha256()
    for name in "abc":
        column = hashlib.sha256()
        for value in table[name].to_pylist():
            column.update(struct.pack("<q", -1 if value is None else len(value)))
            column.update(value or b"")
        all_columns.update(column.digest())
    return all_columns.hexdigest()


def main(program, seed, files):
    draw, differ = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, files, 500):
            paths = [Path(folder) / f"{n}.parquet" for n in range(min(500, files - start))]
            for path in paths:
                write(draw, path)
            found = subprocess.run([program, *paths], stdout=subprocess.PIPE, text=True, check=True)
            pairs = zip(paths, found.stdout.split(), strict=True)
            differ += sum(digest(path) != line for path, line in pairs)
    print(f"{files} files of seed {seed}, {differ} differ")
    return differ != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
