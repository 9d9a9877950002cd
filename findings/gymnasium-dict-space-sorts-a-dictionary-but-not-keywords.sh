#!/usr/bin/env bash
# gymnasium 1.4.0
# Expected: spaces.Dict({"b": ..., "a": ...}) keeps the order of the dictionary, like spaces.Dict(b=..., a=...).
# Behavior: a dictionary is sorted by key, keywords are not. The same observation is flattened in two different orders.
# Output: [0, 1, 1, 0, 0] and [1, 0, 0, 0, 1]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check gymnasium==1.4.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from gymnasium import spaces

a, b = spaces.Discrete(2), spaces.Discrete(3)
sorted_space, unsorted_space = spaces.Dict({"b": b, "a": a}), spaces.Dict(b=b, a=a)
observation = {"a": 1, "b": 0}
seen = [spaces.flatten(space, observation).tolist() for space in (sorted_space, unsorted_space)]
described = [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
