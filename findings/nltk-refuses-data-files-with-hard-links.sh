#!/usr/bin/env bash
# nltk 3.10.4
# Expected: a corpus can be read wherever it is installed.
# Behavior: nltk refuses a file that has more than one hard link. uv installs packages by linking files from its cache, so
# a package that ships nltk data (such as llama-index-core) works after pip, but not after uv on the same file system.
# Output: ['the', 'a'], then PermissionError about a multiply-linked file
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nltk==3.10.4
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import os

import nltk
from nltk.corpus import stopwords

corpus = os.path.join(sys.argv[1], "nltk_data", "corpora", "stopwords")
os.makedirs(corpus)
with open(os.path.join(corpus, "english"), "w") as file:
    file.write("the\na\n")
nltk.data.path[:] = [os.path.join(sys.argv[1], "nltk_data")]
seen = [stopwords.words("english")]
os.link(os.path.join(corpus, "english"), os.path.join(sys.argv[1], "cached"))
try:
    seen.append(stopwords.words("english"))
except PermissionError as error:
    seen.append("multiply-linked" in str(error))
described = [["the", "a"], True]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
