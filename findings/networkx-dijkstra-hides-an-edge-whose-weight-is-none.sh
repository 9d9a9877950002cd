#!/usr/bin/env bash
# networkx 3.6.1
# Expected: an edge with the attribute weight=None (a cost that is unknown) counts as 1, like an edge without the attribute,
# or raises TypeError.
# Behavior: the edge is treated as if it weren't there.
# Output: [1, 3, 2] instead of [1, 2]; [1, 2] without the attribute
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import networkx

seen = []
for attributes in ({"weight": None}, {}):
    graph = networkx.DiGraph([(1, 3), (3, 2)])
    graph.add_edge(1, 2, **attributes)
    seen.append(networkx.dijkstra_path(graph, 1, 2))
described = [[1, 3, 2], [1, 2]]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
