#!/usr/bin/env bash
# json-repair 0.64.6
# Expected: two JSON objects in a row become a list of two, whatever their keys.
# Behavior: if the objects have the same keys, the later one replaces the earlier one. The result is no list.
# Output: [{'a': 1}, {'b': 2}] for different keys, but {'a': 2} for the same key
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check json-repair==0.64.6
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import json_repair

seen = [json_repair.loads('{"a": 1}\n{"b": 2}'), json_repair.loads('{"a": 1}\n{"a": 2}')]
described = [[{"a": 1}, {"b": 2}], {"a": 2}]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
