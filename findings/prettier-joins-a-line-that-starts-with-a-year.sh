#!/usr/bin/env bash
# prettier 3.10.1
# Expected: proseWrap is "preserve" by default, so that no line break in a paragraph is changed.
# Behavior: a line that starts with a number and a period is joined to the line before. Other lines stay.
# Output: "Made in 1986. Still lit." in one line
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" prettier@3.10.1 >/dev/null
format() { printf '%s\n' "$@" | "$folder/node_modules/.bin/prettier" --parser markdown; }
seen=$(format 'Made in' '1986. Still lit.'; format 'Made in' 'the year 1986.')
described=$(printf '%s\n' 'Made in 1986. Still lit.' 'Made in' 'the year 1986.')
if [ "$seen" != "$described" ]; then
    echo "The behavior changed: prettier wrote: $seen" >&2
    exit 1
fi
echo "$seen"
