#!/usr/bin/env bash
# Inform 6.41 (Debian 6.41-1) and frotz 2.54 (Debian 2.54+dfsg-3)
# Expected: the compiler refuses the literal 70000, as it refuses the constant expression 32767 + 1.
# Behavior: the literal is reduced modulo 65536, without an error or a warning.
# Output: an error for 32767 + 1, and 4464 for 70000
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q=2 download frotz=2.54+dfsg-3 inform6-compiler=6.41-1
for package in *.deb; do dpkg -x "$package" .; done

echo '[ Main; print 32767 + 1, "^"; ];' >sum.inf
echo '[ Main; print 70000, "^"; ];' >literal.inf
if ./usr/bin/inform6 sum.inf sum.z5 >sum.txt; then
    echo "The behavior changed: 32767 + 1 is compiled." >&2
    exit 1
fi
grep overflowed sum.txt
./usr/bin/inform6 literal.inf literal.z5 >literal.txt
seen=$(./usr/games/dfrotz -m literal.z5 </dev/null | tail -n 1)
if [ "$seen" != 4464 ] || grep -qi "warning" literal.txt; then
    echo "The behavior changed: 70000 is $seen, and the compiler wrote: $(cat literal.txt)" >&2
    exit 1
fi
echo "$seen"
