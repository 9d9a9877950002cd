#!/usr/bin/env bash
# sqlite-vec 0.1.9 with SQLite 3.54.1 (apsw 3.54.1.0)
# Expected: a file with one vector of 384 floats (1.5 KB) is small, below 100 KB.
# Behavior: vectors are stored in chunks of 1024, and the first row allocates a whole chunk of 1.5 MB. With a partition
# key, each partition has chunks of its own.
# Output: more than 1500 KB for one row, and less than 20 KB more for 1000 rows
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sqlite-vec==0.1.9 apsw==3.54.1.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import os

import apsw
import sqlite_vec


def kilobytes(rows):
    path = os.path.join(sys.argv[1], f"{rows}.db")
    connection = apsw.Connection(path)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.execute("CREATE VIRTUAL TABLE v USING vec0(embedding float[384])")
    with connection:
        for row in range(1, rows + 1):
            connection.execute("INSERT INTO v(rowid, embedding) VALUES (?, zeroblob(1536))", (row,))
    connection.close()
    return os.path.getsize(path) // 1024


one, thousand = kilobytes(1), kilobytes(1000)
print(one, thousand)
seen = [one > 1500, thousand - one < 20]
described = [True, True]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
