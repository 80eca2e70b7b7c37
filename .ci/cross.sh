#!/bin/bash
# Tests on other machines: cross.sh i686 | aarch64 | musl. Results have the same digits there. The default
# tier takes some tests, the long one all.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

tests=$(tagged ports) emulator=$(tagged emulator)
# Emulators are slow, and hang now and then when several threads run into SIGBUS.
slow=$emulator
case $tier in
long) tests='' slow='' ;;
*) export CHECK_SHARE=3/3 ;;
esac
case $1 in
i686)
    links i686-linux-gnu-gcc || skip 'there is no compiler, or it lacks libraries'
    export PKG_CONFIG_LIBDIR=/usr/lib/i386-linux-gnu/pkgconfig
    configured i686 --host=i686-linux-gnu --enable-werror "${quick[@]}" && check "$tests"
    ;;
aarch64)
    need qemu-aarch64-static
    links aarch64-linux-gnu-gcc || skip 'there is no compiler, or it lacks libraries'
    export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig
    configured aarch64 --host=aarch64-linux-gnu --enable-werror "${quick[@]}" || exit
    # The kernel calls the emulator by itself if binfmt_misc is set up. Otherwise only tests that run
    # nothing but our programs work.
    if src/gpureduce --version; then
        check "$slow"
    else
        check "$emulator" CHECK_UNDER=qemu-aarch64-static LOG_COMPILER="sh $CI_WORK/source/tests/lib/under.sh"
    fi
    ;;
musl)
    need musl-gcc
    # The libzstd of glibc: decoding and compressing call nothing that musl lacks. Its headers stand
    # apart from those of glibc.
    mkdir -p "$CI_WORK/zstd"
    cp "$(gcc -print-file-name=libzstd.a)" /usr/include/zstd.h /usr/include/zstd_errors.h "$CI_WORK/zstd" ||
        skip 'there is no libzstd that musl can link'
    configured musl --enable-werror CC=musl-gcc "${quick[@]}" ZSTD_CFLAGS="-I$CI_WORK/zstd" \
        ZSTD_LIBS="$CI_WORK/zstd/libzstd.a" && check "$tests"
    ;;
esac
