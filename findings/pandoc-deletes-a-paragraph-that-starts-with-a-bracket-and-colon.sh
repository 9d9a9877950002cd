#!/usr/bin/env bash
# pandoc 3.9 (pypandoc_binary 1.17)
# Expected: "[Note]: the troll is here" is text, since CommonMark allows no spaces in the target of a link definition.
# Behavior: pandoc's own Markdown allows them. The whole line is an unused definition and is deleted. In gfm it is text.
# Output: '\n' for markdown, and '\\[Note\\]: the troll is here\n' for gfm
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pypandoc_binary==1.17
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import pypandoc

text = "[Note]: the troll is here\n"
seen = [pypandoc.convert_text(text, to, format=to) for to in ("markdown", "gfm")]
described = ["\n", "\\[Note\\]: the troll is here\n"]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
