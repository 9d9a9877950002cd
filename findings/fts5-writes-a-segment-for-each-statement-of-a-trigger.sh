#!/usr/bin/env bash
# SQLite 3.54.1 (apsw 3.54.1.0)
# Expected: FTS5 collects the words of a transaction in memory and writes them at the commit, so 12 short texts that are
# inserted in one transaction become one segment of the index, however they are inserted.
# Behavior: this is true of statements that insert into the index itself. If a trigger keeps the index of a content table,
# as the documentation of external content tables recommends, every statement writes a segment of its own: a statement with
# a trigger opens a savepoint, and FTS5 flushes at each savepoint. A statement that inserts many rows flushes once.
# Output: segments of 12 texts: 1 without a trigger, 12 with a trigger, 1 with a trigger and one statement
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apsw==3.54.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import sys
import apsw

TEXTS = [f"word{number} lamp" for number in range(12)]


def opened(with_trigger):
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text)")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text, content='notes', content_rowid='id')")
    # So that segments stay as they were written.
    connection.execute("INSERT INTO words (words, rank) VALUES ('automerge', 0)")
    if with_trigger:
        connection.execute(
            "CREATE TRIGGER kept AFTER INSERT ON notes "
            "BEGIN INSERT INTO words (rowid, text) VALUES (new.id, new.text); END"
        )
    return connection


def segments(connection):
    """Return the number of segments, after checking that all texts are found."""
    found = connection.execute("SELECT count(*) FROM words WHERE words MATCH 'lamp'").fetchone()[0]
    if found != len(TEXTS):
        sys.exit(f"{found} texts are found")
    return connection.execute("SELECT count(DISTINCT segid) FROM words_idx").fetchone()[0]


direct, triggered, at_once = opened(False), opened(True), opened(True)
with direct:
    for number, text in enumerate(TEXTS, 1):
        direct.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, text))
with triggered:
    for text in TEXTS:
        triggered.execute("INSERT INTO notes (text) VALUES (?)", (text,))
with at_once:
    at_once.execute(f"INSERT INTO notes (text) VALUES {', '.join(['(?)'] * len(TEXTS))}", TEXTS)
seen = [segments(connection) for connection in (direct, triggered, at_once)]
if seen != [1, 12, 1]:
    sys.exit(f"The behavior changed: [1, 12, 1] became {seen!r}")
print(f"segments of 12 texts: {seen[0]} without a trigger, {seen[1]} with a trigger, {seen[2]} with a trigger and one statement")
PYTHON
