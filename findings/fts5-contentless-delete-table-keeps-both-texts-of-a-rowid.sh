#!/usr/bin/env bash
# SQLite 3.54.1 (apsw 3.54.1.0)
# Expected: in an FTS5 table with content='' and contentless_delete=1, a second INSERT with the same rowid is refused, as in
# a table with content, or replaces the first one.
# Behavior: both texts are found under the rowid. DELETE removes only the newer text. The older one is still found, in a
# table that has no rows.
# Output: lamp [1], sword [1]; after DELETE: lamp [1], sword [], 0 rows
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apsw==3.54.1.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import apsw

connection = apsw.Connection(":memory:")
connection.execute("CREATE VIRTUAL TABLE notes USING fts5(body, content='', contentless_delete=1)")


def found(word):
    return [row for (row,) in connection.execute("SELECT rowid FROM notes WHERE notes MATCH ?", (word,))]


connection.execute("INSERT INTO notes(rowid, body) VALUES (1, 'lamp')")
connection.execute("INSERT INTO notes(rowid, body) VALUES (1, 'sword')")
seen = [found("lamp"), found("sword")]
connection.execute("DELETE FROM notes WHERE rowid = 1")
seen += [found("lamp"), found("sword"), connection.execute("SELECT count(*) FROM notes").fetchone()[0]]
described = [[1], [1], [1], [], 0]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
