#!/usr/bin/env bash
# sqlite-vec 0.1.9 with SQLite 3.54.1 (apsw 3.54.1.0)
# Expected: `rowid IN (...)` limits the search to these rows, for a list of any length.
# Behavior: SQLite turns a list with one element into `rowid = ...`, which sqlite-vec doesn't push into the search. The
# condition is then applied to the k nearest rows of the whole table, and drops them.
# Output: [2] for IN (2, 3), but [] for IN (2)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sqlite-vec==0.1.9 apsw==3.54.1.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import apsw
import sqlite_vec

connection = apsw.Connection(":memory:")
connection.enable_load_extension(True)
connection.load_extension(sqlite_vec.loadable_path())
connection.execute("CREATE VIRTUAL TABLE v USING vec0(embedding float[2])")
connection.execute("INSERT INTO v(rowid, embedding) VALUES (1, '[1, 0]'), (2, '[5, 0]'), (3, '[9, 0]')")


def nearest(rows):
    query = f"SELECT rowid FROM v WHERE embedding MATCH '[1, 0]' AND k = 1 AND rowid IN ({rows})"
    return [row for (row,) in connection.execute(query)]


seen = [nearest("2, 3"), nearest("2")]
described = [[2], []]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
