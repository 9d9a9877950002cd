#!/usr/bin/env bash
# SQLite 3.54.1 (apsw 3.54.1.0)
# Expected: a child process that opens a connection of its own after a fork, and never uses the inherited one, writes as any
# other process. The documentation says that a child needs its own connection.
# Behavior: if the parent had the database open in WAL mode at the fork, the child inherits the library's notes of the
# parent's lock, so its own connection takes no lock. When the parent closes its connection, it deletes the write-ahead log
# that the child writes to. The next commit of the child succeeds, the child reads it, and no other process ever sees it.
# If the parent had closed its connection before the fork, nothing is lost.
# Output: open at the fork: child sees 2 rows, others 1; closed before: 2 and 2
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apsw==3.54.1.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import os
import sys
import apsw

folder = sys.argv[1]


def count(connection):
    return connection.execute("SELECT count(*) FROM notes").fetchone()[0]


def rows_seen(name, open_at_fork):
    """Return the rows that the child and then another process see after two commits of the child."""
    path = os.path.join(folder, name)
    parent = apsw.Connection(path)
    parent.execute("PRAGMA journal_mode = WAL").fetchall()
    parent.execute("CREATE TABLE notes (text)")
    if not open_at_fork:
        parent.close()
    (committed, child_says), (parent_says, closed) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        own = apsw.Connection(path)
        own.execute("INSERT INTO notes VALUES ('first')")
        os.write(child_says, b".")
        os.read(parent_says, 1)
        own.execute("INSERT INTO notes VALUES ('second')")
        os.write(child_says, bytes([count(own)]))
        os._exit(0)
    os.close(child_says)
    os.read(committed, 1)
    # The last connection that is closed deletes the log. The child has the database still open.
    (parent if open_at_fork else apsw.Connection(path)).close()
    os.write(closed, b".")
    by_child = os.read(committed, 1)[0]
    os.waitpid(pid, 0)
    return [by_child, count(apsw.Connection(path))]


seen = [rows_seen("open.db", True), rows_seen("closed.db", False)]
described = [[2, 1], [2, 2]]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(f"open at the fork: child sees {seen[0][0]} rows, others {seen[0][1]}; closed before: {seen[1][0]} and {seen[1][1]}")
PYTHON
