#!/usr/bin/env bash
# langchain-core 1.8.3
# Expected: JsonOutputParser.parse() raises OutputParserException for an answer that ends in the middle of a number.
# Partial answers are the purpose of its other method, parse_result(..., partial=True).
# Behavior: the answer is completed. A number that lost its last digits is returned as a smaller number.
# Output: {'title': 'Lamp', 'seen': 12} for an answer that was cut in "seen": 120
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langchain-core==1.8.3
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from langchain_core.output_parsers import JsonOutputParser

seen = JsonOutputParser().parse('{"title": "Lamp", "seen": 120}'[:-2])
described = {"title": "Lamp", "seen": 12}
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
