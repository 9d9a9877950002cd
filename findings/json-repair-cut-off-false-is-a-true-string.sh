#!/usr/bin/env bash
# json-repair 0.64.6
# Expected: a literal at the end of a cut-off answer is completed (`fals` to False) or dropped, as cut-off strings are closed.
# Behavior: the letters become a string, which is true in a condition.
# Output: {'done': 'fals'}
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check json-repair==0.64.6
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import json_repair

answer = json_repair.loads('{"done": fals')
seen = [answer, bool(answer["done"])]
described = [{"done": "fals"}, True]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
