#!/bin/bash
# All tests under ASan and UBSan, in a build by clang if there is one; clang's warnings are errors.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

compiler=gcc
has clang && compiler=clang
export CHECK_SHARE=1/8 STRESS_RUNS=30 FAULT_STEP=6 EMULATED_SHARE=8
configured sanitized --enable-werror CC=$compiler \
    CFLAGS='-g1 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all' && check ''
