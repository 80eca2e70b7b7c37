#!/bin/bash
# The first command of the README, on a fresh checkout.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

# Optimising the machine code of kernels takes nvcc most of its time, and without a GPU no test runs that
# code; kernels compiled for the host, which tests run in its place, are as before. The long tier optimises it.
if [ "$tier" != long ] && ! nvidia-smi -L >/dev/null 2>&1 &&
    (PATH+=:/usr/local/cuda/bin:/opt/cuda/bin && nvcc --help) 2>/dev/null | grep -q -e --Ofast-compile; then
    export NVCCFLAGS='-O3 -Ofc max'
fi
# Debugging information takes the compiler another tenth of its time.
CFLAGS=-O2 ./bootstrap && src/gpureduce data/waves.f32.zst
