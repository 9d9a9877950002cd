#!/usr/bin/env bash
# prettier 3.10.1 and 3.5.3
# Expected: prettier writes every heading with #, also one that is underlined with === or ---.
# Behavior: true up to 3.5.3 at least. 3.10.1 keeps the underlines.
# Output: "# Title" from 3.5.3, "Title" and "===" from 3.10.1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 3.5.3 3.10.1; do
    npm install --silent --no-audit --no-fund --prefix "$folder/$version" "prettier@$version" >/dev/null
done
format() { printf '%s\n' Title === | "$folder/$1/node_modules/.bin/prettier" --parser markdown; }
seen="$(format 3.5.3) / $(format 3.10.1)"
described=$(printf '# Title / Title\n===')
if [ "$seen" != "$described" ]; then
    echo "The behavior changed: prettier wrote: $seen" >&2
    exit 1
fi
echo "$seen"
