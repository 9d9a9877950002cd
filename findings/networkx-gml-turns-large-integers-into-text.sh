#!/usr/bin/env bash
# networkx 3.6.1
# Expected: an integer attribute is still an integer after write_gml() and read_gml().
# Behavior: an integer beyond 32 bits, such as a time in milliseconds, comes back as a string.
# Output: {'turn': 7, 'time': '1700000000000'}
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import io

import networkx

graph = networkx.DiGraph()
graph.add_node("kitchen", turn=7, time=1_700_000_000_000)
file = io.BytesIO()
networkx.write_gml(graph, file)
file.seek(0)
seen = dict(networkx.read_gml(file).nodes["kitchen"])
described = {"turn": 7, "time": "1700000000000"}
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
