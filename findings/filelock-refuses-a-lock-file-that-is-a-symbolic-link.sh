#!/usr/bin/env bash
# filelock 4.3.1
# Expected: a lock file can be a symbolic link, for example to a shared folder: the link is followed and its target locked.
# Behavior: the file is opened with O_NOFOLLOW, and acquire() raises OSError, also if the target exists. A link to the
# folder is followed.
# Output: ELOOP, locked
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check filelock==4.3.1
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import errno
import os

import filelock

shared = os.path.join(sys.argv[1], "shared")
os.mkdir(shared)
open(os.path.join(shared, "lock"), "w").close()
os.symlink(os.path.join(shared, "lock"), os.path.join(sys.argv[1], "lock"))
os.symlink(shared, os.path.join(sys.argv[1], "folder"))
try:
    filelock.FileLock(os.path.join(sys.argv[1], "lock")).acquire(timeout=1)
    seen = ["locked"]
except OSError as error:
    seen = [errno.errorcode[error.errno]]
lock = filelock.FileLock(os.path.join(sys.argv[1], "folder", "lock"))
with lock:
    seen.append("locked" if lock.is_locked else "not locked")
described = ["ELOOP", "locked"]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
