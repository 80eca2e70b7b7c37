#!/bin/bash
# configure takes flags that leave binary64 arithmetic as it is, and refuses others.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

unpack || exit
mkdir -p "$CI_WORK"/flags/{O3,math,finite} && cd "$CI_WORK/flags" || exit
# configured_with FOLDER FLAGS
configured_with() {
    cd "$CI_WORK/flags/$1" && "$CI_WORK/source/configure" --without-cuda --disable-dependency-tracking CC=gcc CFLAGS="$2" 2>messages
}
refused() {
    ! configured_with "$@" && grep 'does not do IEEE 754 arithmetic' messages
}
if gcc -march=sapphirerapids -E -x c /dev/null >/dev/null; then
    configured_with O3 '-O3 -march=sapphirerapids' || exit
fi
refused math '-O2 -ffast-math' && refused finite '-O2 -ffinite-math-only'
