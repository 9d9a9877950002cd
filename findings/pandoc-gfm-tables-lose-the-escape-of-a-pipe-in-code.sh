#!/usr/bin/env bash
# pandoc 3.9 (pypandoc_binary 1.17)
# Expected: in a gfm table, the cell `x\|y` is written as it was read, since a bare | ends the cell even in code.
# Behavior: the backslash is removed. If the output is read again, the cell ends after `x, and the rest is lost.
# Output: | `x|y` | for | `x\|y` |, and a cell with only `x the second time
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pypandoc_binary==1.17
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import pypandoc

once = pypandoc.convert_text("| code |\n|------|\n| `x\\|y` |\n", "gfm", format="gfm")
twice = pypandoc.convert_text(once, "gfm", format="gfm")
seen = ["`x|y`" in once, "y" in twice]
described = [True, False]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
