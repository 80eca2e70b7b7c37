#!/bin/bash
# The second command of the README: all tests. Of cases that are many and alike the long tier takes all,
# the others a choice.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

export MAKEFLAGS="-j$((jobs + 1))" # some tests wait most of their time
case $tier in
fast) export CHECK_SHARE=1/5 EMULATED_SHARE=8 KERNELS_RUNS=10 FAULT_STEP=6 ;;
default) export STRESS_RUNS=300 CHECK_SHARE=1/5 EMULATED_SHARE=8 KERNELS_RUNS=10 FAULT_STEP=3 ;;
*) export STRESS_RUNS=1000 ;;
esac
./bootstrap && make check
