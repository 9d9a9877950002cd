#!/usr/bin/env bash
# sqlite-vec 0.1.9 with SQLite 3.54.1 (apsw 3.54.1.0)
# Expected: INSERT OR REPLACE replaces the row with the same rowid, and UPDATE can change the rowid, as in FTS5 tables.
# Behavior: INSERT OR REPLACE fails like INSERT. UPDATE of the rowid succeeds, but changes nothing.
# Output: UNIQUE constraint failed on v primary key, [1]
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
connection.execute("INSERT INTO v(rowid, embedding) VALUES (1, '[1, 0]')")
try:
    connection.execute("INSERT OR REPLACE INTO v(rowid, embedding) VALUES (1, '[0, 1]')")
    seen = ["replaced"]
except apsw.SQLError as error:
    seen = [str(error)]
connection.execute("UPDATE v SET rowid = 5 WHERE rowid = 1")
seen += [row for (row,) in connection.execute("SELECT rowid FROM v")]
described = ["UNIQUE constraint failed on v primary key", 1]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
