#!/bin/bash
# clang-tidy: of the programs and the library, in the long tier of the tests, too, and with its analyzer,
# which takes three fifths of the time. Suppressions: .clang-tidy, and NOLINT in the line. One file at a time:
# clang-tidy 14 confuses va_lists of several. It reports nothing of headers, and src/cpu/kernels_*.c hold little
# else, for which it would take more than a minute each.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

need clang-tidy
checks='--checks=-clang-analyzer-*' files='^src/'
[ "$tier" = long ] && checks='' files=.
flags="-std=gnu11 -I. -Iinclude -Isrc -Itests -DHAVE_CONFIG_H $(preprocessor_flags)"
# shellcheck disable=SC2016 # for the inner shell
sources | grep "$files" | grep -v '^src/cpu/kernels_' | xargs -P "$jobs" -I{} sh -c 'clang-tidy --quiet $1 {} -- $2 2>/dev/null' sh "$checks" "$flags"
