#!/bin/bash
# Programs of several threads under TSan; the long tier runs all tests. Each run has another number of
# threads: make check CHECK_SEED=N draws the same numbers again.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

tests=$(tagged threads)
export CHECK_SEED=${STRESS_SEED:-1} CHECK_SHARE=1/5 STRESS_RUNS=25 ARRAYS_THREADS=3
[ "$tier" = long ] && tests='' CHECK_SHARE=1/1 STRESS_RUNS=150
echo "CHECK_SEED=$CHECK_SEED"
# gpureduce-bench takes too long in the tests: what has threads runs on few bytes.
configured tsan CFLAGS='-g1 -O1 -fsanitize=thread' && check "$tests" &&
    src/gpureduce-bench generate --bytes=4MiB --threads=3 --quiet >data &&
    src/gpureduce-bench limits --bytes=1MiB --repeat=1 --threads=3 data
