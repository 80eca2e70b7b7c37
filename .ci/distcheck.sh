#!/bin/bash
# make distcheck: a build from a tarball that cannot be written to, some tests, and no file left behind.
# distcheck.sh i686 | cuda: for 32-bit x86, if that can be built, or with CUDA.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

flags=(--enable-werror)
tests=$(tagged smoke)
case $1 in
i686)
    flags+=(--without-cuda "${quick[@]}")
    if links i686-linux-gnu-gcc; then
        flags+=(--host=i686-linux-gnu PKG_CONFIG_LIBDIR=/usr/lib/i386-linux-gnu/pkgconfig)
        tests=$(tagged ports)
    fi
    export CHECK_SHARE=2/3
    ;;
cuda)
    grep -q 'define HAVE_CUDA 1' config.h || skip 'there is no CUDA'
    flags+=("NVCC_GENCODE='-gencode arch=compute_90,code=sm_90'")
    ;;
esac
make -j"$jobs" distcheck DISTCHECK_CONFIGURE_FLAGS="${flags[*]}" TESTS="$tests"
