#!/bin/bash
# The second command of the README: all tests. The fast tier takes a choice of cases that are many and alike.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

export MAKEFLAGS="-j$((jobs + 1))" # some tests wait most of their time
case $tier in
fast) export CHECK_SHARE=1/5 EMULATED_SHARE=8 KERNELS_RUNS=10 FAULT_STEP=6 ;;
*) export STRESS_RUNS=1000 ;;
esac
./bootstrap && make check
