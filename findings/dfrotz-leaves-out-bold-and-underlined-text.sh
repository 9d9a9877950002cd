#!/usr/bin/env bash
# frotz 2.54 (Debian 2.54+dfsg-3), with a story compiled by Inform 6.41 (Debian 6.41-1)
# Expected: dfrotz without formatting codes prints bold text as plain text.
# Behavior: bold and underlined text is missing, also with -p. The name of each room, which the Inform library prints in
# bold, disappears. Reverse text is printed.
# Output: "You are in .", "A  book.", "Dark."
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q=2 download frotz=2.54+dfsg-3 inform6-compiler=6.41-1
for package in *.deb; do dpkg -x "$package" .; done

cat >story.inf <<'INFORM'
[ Main;
  print "You are in "; style bold; print "the Kitchen"; style roman; print ".^";
  print "A "; style underline; print "famous"; style roman; print " book.^";
  style reverse; print "Dark"; style roman; print ".^";
];
INFORM
./usr/bin/inform6 story.inf story.z5 >/dev/null
for option in -m -mp; do
    seen=$(./usr/games/dfrotz "$option" story.z5 </dev/null | tail -n 3)
    described=$(printf '%s\n' 'You are in .' 'A  book.' 'Dark.')
    if [ "$seen" != "$described" ]; then
        echo "The behavior changed: dfrotz $option printed: $seen" >&2
        exit 1
    fi
done
echo "$seen"
