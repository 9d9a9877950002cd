#!/usr/bin/env bash
# langgraph-checkpoint 4.3.2, langgraph-checkpoint-sqlite 3.1.2
# Expected: BaseStore.batch() carries out its operations in the order of the list.
# Behavior: all reads come first. A GetOp after a PutOp of the same key returns the previous state, in both stores.
# Output: None for both stores, although the item is there after the batch
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph-checkpoint==4.3.2 langgraph-checkpoint-sqlite==3.1.2
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import sqlite3

from langgraph.store.base import GetOp, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

sqlite = SqliteStore(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
sqlite.setup()
seen = []
for store in (InMemoryStore(), sqlite):
    answers = store.batch([PutOp(("notes",), "lamp", {"lit": True}), GetOp(("notes",), "lamp")])
    seen.append([answers[1], store.get(("notes",), "lamp").value])
described = [[None, {"lit": True}]] * 2
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
