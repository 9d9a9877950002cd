#!/usr/bin/env bash
# langgraph-checkpoint 4.3.2, langgraph-checkpoint-sqlite 3.1.2
# Expected: the same filter finds the same items in InMemoryStore and SqliteStore.
# Behavior: an item without the field matches $ne in memory, but not in SQLite. $gt compares strings in SQLite, and raises
# ValueError in memory.
# Output: memory ['b', 'c'] and ValueError, SQLite ['b'] and ['b']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph-checkpoint==4.3.2 langgraph-checkpoint-sqlite==3.1.2
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import sqlite3

from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

sqlite = SqliteStore(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
sqlite.setup()
seen = []
for store in (InMemoryStore(), sqlite):
    for key, value in {"a": {"day": "Friday"}, "b": {"day": "Monday"}, "c": {}}.items():
        store.put(("notes",), key, value)
    seen.append(sorted(item.key for item in store.search(("notes",), filter={"day": {"$ne": "Friday"}})))
    try:
        seen.append([item.key for item in store.search(("notes",), filter={"day": {"$gt": "Friday"}})])
    except ValueError as error:
        seen.append(str(error))
described = [["b", "c"], "could not convert string to float: 'Friday'", ["b"], ["b"]]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
