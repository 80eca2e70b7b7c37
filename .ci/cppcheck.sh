#!/bin/bash
# cppcheck: of the programs and the library, in the long tier of the tests, too, which take more than half of the
# time. Suppressions: cppcheck-suppress in the line.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

need cppcheck
folders=(src)
[ "$tier" = long ] && folders+=(tests)
cppcheck --quiet -j "$jobs" --std=c11 --enable=warning,performance,portability \
    --inline-suppr --error-exitcode=1 --suppress=missingIncludeSystem -I. -Iinclude -Isrc -DHAVE_CONFIG_H "${folders[@]}"
