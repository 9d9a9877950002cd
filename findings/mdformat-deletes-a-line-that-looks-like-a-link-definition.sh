#!/usr/bin/env bash
# mdformat 1.0.0
# Expected: a formatter keeps every word. A paragraph such as "[Todo]: lamp" stays, maybe with escaped brackets.
# Behavior: with one word after the colon, the line is the definition of a link. mdformat deletes it if no link uses it.
# With two words it is text and stays.
# Output: 'Take it.\n' and '\\[Todo\\]: brass lamp\n\nTake it.\n'
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mdformat==1.0.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import mdformat

seen = [mdformat.text("[Todo]: lamp\n\nTake it.\n"), mdformat.text("[Todo]: brass lamp\n\nTake it.\n")]
described = ["Take it.\n", "\\[Todo\\]: brass lamp\n\nTake it.\n"]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
