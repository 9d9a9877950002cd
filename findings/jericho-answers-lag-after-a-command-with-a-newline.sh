#!/usr/bin/env bash
# jericho 3.3.1, with a story compiled by Inform 6.41 (Debian 6.41-1)
# Expected: step("look\nbed") plays both commands, or is refused, or ignores the second line.
# Behavior: it returns the response to the first line. The second line stays in the input, and from then on each step returns
# the response to an earlier line.
# Output: "heard 4" for "look\nbed", then "heard 3" for "north"
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q=2 download inform6-compiler=6.41-1
for package in *.deb; do dpkg -x "$package" .; done
cat >story.inf <<'INFORM'
Array text buffer 60;
[ Main;
  while (true) { print ">"; text->0 = 58; text->1 = 0; read text 0; print "heard ", text->1, "^"; }
];
INFORM
./usr/bin/inform6 story.inf story.z5 >/dev/null
python3 -m venv venv
# Without spaCy, which only get_valid_actions() uses.
venv/bin/pip install --quiet --disable-pip-version-check numpy==2.4.6 termcolor==3.3.0
venv/bin/pip install --quiet --disable-pip-version-check --no-deps jericho==3.3.1
venv/bin/python -W ignore - <<'PYTHON'
import sys

import jericho

env = jericho.FrotzEnv("story.z5")
env.reset()
seen = [env.step(command)[0].strip("> \n") for command in ("north", "look\nbed", "north")]
described = ["heard 5", "heard 4", "heard 3"]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
