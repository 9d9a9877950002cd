#!/usr/bin/env bash
# jericho 3.3.1 and frotz 2.54 (Debian 2.54+dfsg-3), with a story compiled by Inform 6.41 (Debian 6.41-1)
# Expected: the opcode save_undo works in jericho as in dfrotz, since jericho's interpreter is Frotz.
# Behavior: it returns -1, not available. A story answers UNDO with an excuse, although the same file can undo in dfrotz.
# Output: "undo 1" from dfrotz, "undo -1" from jericho
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q=2 download frotz=2.54+dfsg-3 inform6-compiler=6.41-1
for package in *.deb; do dpkg -x "$package" .; done
cat >story.inf <<'INFORM'
Array text buffer 60;
[ Main x;
  while (true) { print ">"; text->0 = 58; text->1 = 0; read text 0; @save_undo -> x; print "undo ", x, "^"; }
];
INFORM
./usr/bin/inform6 story.inf story.z5 >/dev/null
if ! ./usr/games/dfrotz -m story.z5 <<<look | grep "undo 1"; then
    echo "The behavior changed: dfrotz can't undo." >&2
    exit 1
fi
python3 -m venv venv
# Without spaCy, which only get_valid_actions() uses.
venv/bin/pip install --quiet --disable-pip-version-check numpy==2.4.6 termcolor==3.3.0
venv/bin/pip install --quiet --disable-pip-version-check --no-deps jericho==3.3.1
venv/bin/python -W ignore - <<'PYTHON'
import sys

import jericho

env = jericho.FrotzEnv("story.z5")
env.reset()
seen = env.step("look")[0].strip("> \n")
described = "undo -1"
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
