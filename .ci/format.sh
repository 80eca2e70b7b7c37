#!/bin/bash
# Layout: clang-format 14 has the last word.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

need clang-format
git ls-files '*.c' '*.h' '*.cu' | xargs -P "$jobs" -n 20 clang-format --dry-run --Werror
