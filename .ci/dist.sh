#!/bin/bash
# The tarball has every file that git has, except those whose names begin with a dot.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

unpack || exit
git ls-files | grep -v -E '^\.|/\.' | while read -r file; do
    [ -e "$CI_WORK/source/$file" ] || echo "not in the tarball: $file"
done >"$CI_WORK/not-in-tarball"
cat "$CI_WORK/not-in-tarball"
[ ! -s "$CI_WORK/not-in-tarball" ]
