#!/usr/bin/env bash
# fsspec 2026.9.0
# Expected: a file whose exists() is true can be read with cat() and copied with cp().
# Behavior: cat(), cp() and get() expand [, ? and * in the path, and don't find a file called "notes[1].md". exists(), open()
# and cat_file() take the name literally.
# Output: exists, b'lamp' from cat_file(), FileNotFoundError from cat() and cp()
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check fsspec==2026.9.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import fsspec

files = fsspec.filesystem("memory")
files.pipe_file("/notes[1].md", b"lamp")
seen = [files.exists("/notes[1].md"), files.cat_file("/notes[1].md")]
for call in (lambda: files.cat("/notes[1].md"), lambda: files.cp("/notes[1].md", "/copy.md")):
    try:
        seen.append(call())
    except FileNotFoundError:
        seen.append("FileNotFoundError")
described = [True, b"lamp", "FileNotFoundError", "FileNotFoundError"]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
