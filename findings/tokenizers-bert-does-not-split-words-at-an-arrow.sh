#!/usr/bin/env bash
# tokenizers 0.23.3
# Expected: BertPreTokenizer splits at all symbols, so that "t1→t2" becomes three words, like "t1+t2".
# Behavior: outside ASCII, only punctuation splits. An arrow, a euro sign and a degree sign are symbols, and stay in the word.
# Output: ['t1', '+', 't2'] and ['t1→t2']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from tokenizers.pre_tokenizers import BertPreTokenizer

splitter = BertPreTokenizer()
seen = [[word for word, _ in splitter.pre_tokenize_str(text)] for text in ("t1+t2", "t1→t2", "€5", "$5")]
described = [["t1", "+", "t2"], ["t1→t2"], ["€5"], ["$", "5"]]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
