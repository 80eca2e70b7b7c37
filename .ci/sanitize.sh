#!/bin/bash
# Tests under ASan and UBSan, in a build by clang if there is one; clang's warnings are errors. The long
# tier runs all; else those are left out that take the longest by far, compare numbers more than they
# read files, or run none of our programs, and most scripts look for no leaks: that takes a third of the time of
# a short run.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

compiler=gcc
has clang && compiler=clang
slow=(tests/cli/{unreadable,unsupported,bench,moments,rows,digest,meaning}.sh
    tests/cli/diff_{scaled,values,cast,types,layouts}.sh tests/cli/{words,layers,bootstrap,completions,pages,manual,abi}.sh tests/unit/{test_difference,test_missing,stress})
export CHECK_SHARE=1/5 FAULT_STEP=6 STRESS_RUNS=50
[ "$tier" = long ] && slow=() CHECK_SHARE=1/4 FAULT_STEP=1 STRESS_RUNS=150
# Undefined behaviour is an illegal instruction, whose stack ASan prints: messages would take a quarter of the
# compiler's time. A program that is loaded at a fixed address starts in two thirds of the time.
export ASAN_OPTIONS=handle_sigill=1
configured sanitized --enable-werror --disable-hardening CC=$compiler CPPFLAGS=-DINLINE_ALWAYS=0 LDFLAGS=-no-pie \
    CFLAGS='-g1 -O1 -fsanitize=address,undefined -fsanitize-undefined-trap-on-error' &&
    tests=$(tests_but "${slow[*]}") || exit
scripts=''
[ "$tier" = long ] || scripts=$(tr ' ' '\n' <<<"$tests" | grep '^tests/cli/' | grep -v faults | paste -sd ' ')
ASAN_OPTIONS+=:detect_leaks=0 make -j"$jobs" check TESTS="$scripts" &&
    make -j"$jobs" check TESTS="$(tests_but "${slow[*]} $scripts")"
