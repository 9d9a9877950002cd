#!/usr/bin/env bash
# filelock 4.3.1
# Expected: release() in a thread that doesn't hold the lock raises RuntimeError, as threading.RLock does.
# Behavior: state is kept per thread (thread_local=True). release() returns silently, even with force=True, and the lock stays.
# Output: no error; still locked in the first thread, never locked in the second
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check filelock==4.3.1
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import os
import threading

import filelock

lock = filelock.FileLock(os.path.join(sys.argv[1], "lock"))
lock.acquire()
seen = []


def release():
    seen.append(lock.is_locked)
    lock.release()
    lock.release(force=True)


thread = threading.Thread(target=release)
thread.start()
thread.join()
seen.append(lock.is_locked)
try:
    filelock.FileLock(lock.lock_file, timeout=0).acquire()
except filelock.Timeout:
    seen.append("held")
described = [False, True, "held"]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
