#!/usr/bin/env bash
# Inform 6.41 (Debian 6.41-1) and frotz 2.54 (Debian 2.54+dfsg-3)
# Expected: words in the dictionary of a version 5 story differ if one of their first nine characters does.
# Behavior: the limit is nine Z-characters, and digits and punctuation take two each. 'key1234a' and 'key1234b' are one word,
# 'keyabcda' and 'keyabcdb' are two. The compiler doesn't warn.
# Output: "digits: same" and "letters: different"
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q=2 download frotz=2.54+dfsg-3 inform6-compiler=6.41-1
for package in *.deb; do dpkg -x "$package" .; done

cat >story.inf <<'INFORM'
[ Main;
  print "digits: "; if ('key1234a' == 'key1234b') print "same^"; else print "different^";
  print "letters: "; if ('keyabcda' == 'keyabcdb') print "same^"; else print "different^";
];
INFORM
if ./usr/bin/inform6 story.inf story.z5 | grep -i warning; then
    echo "The behavior changed: the compiler warns." >&2
    exit 1
fi
seen=$(./usr/games/dfrotz -m story.z5 </dev/null | tail -n 2)
if [ "$seen" != "$(printf '%s\n' 'digits: same' 'letters: different')" ]; then
    echo "The behavior changed: the story printed: $seen" >&2
    exit 1
fi
echo "$seen"
