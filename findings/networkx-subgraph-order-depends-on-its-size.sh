#!/usr/bin/env bash
# networkx 3.6.1
# Expected: the nodes of a subgraph have the order of the graph.
# Behavior: true if more than half of the nodes are selected. Otherwise they have the order of a Python set, which for
# strings differs from process to process.
# Output: [1, 2, 3, 9] of four out of six nodes, and [9, 2, 3] of three out of 103
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import networkx

graph = networkx.Graph()
graph.add_nodes_from([1, 2, 3, 9, 10, 11])
seen = [list(graph.subgraph([9, 3, 2, 1]))]
graph.add_nodes_from(range(100, 197))
seen.append(list(graph.subgraph([9, 3, 2])) == list({9, 3, 2}) != [2, 3, 9])
described = [[1, 2, 3, 9], True]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
