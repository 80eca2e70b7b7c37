#!/bin/bash
# cppcheck. Suppressions: cppcheck-suppress in the line.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

need cppcheck
cppcheck --quiet -j "$jobs" --std=c11 --enable=warning,performance,portability \
    --inline-suppr --error-exitcode=1 --suppress=missingIncludeSystem -I. -Iinclude -Isrc -DHAVE_CONFIG_H src tests
