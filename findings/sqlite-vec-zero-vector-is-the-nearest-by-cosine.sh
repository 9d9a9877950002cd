#!/usr/bin/env bash
# sqlite-vec 0.1.9 with SQLite 3.54.1 (apsw 3.54.1.0)
# Expected: the cosine distance of a zero vector is undefined, and such a row comes last or not at all.
# Behavior: its distance is NULL, and it comes before a row with exactly the vector searched for.
# Output: [(1, None), (2, 0.0)]
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
connection.execute("CREATE VIRTUAL TABLE v USING vec0(embedding float[2] distance_metric=cosine)")
connection.execute("INSERT INTO v(rowid, embedding) VALUES (1, '[0, 0]'), (2, '[1, 0]')")
seen = list(connection.execute("SELECT rowid, distance FROM v WHERE embedding MATCH '[1, 0]' AND k = 2"))
described = [(1, None), (2, 0.0)]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
